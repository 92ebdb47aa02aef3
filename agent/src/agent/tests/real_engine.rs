//! An agent with a real engine, which loads a target on loopback.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use volley_stats::Counters;

use super::leaving::words;
use super::*;
use crate::leaving::AT_ONCE;
use crate::testing::prepare_to;

/// A target that answers each request, one connection after the other, until the test ends.
async fn target() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            while stream.read(&mut request).await.is_ok_and(|n| n > 0) {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
                stream.write_all(answer).await.expect("the agent reads the answer");
            }
        }
    });
    address
}

/// A conversation with an agent that was ordered to prepare this load of a target, and has an engine that does it.
async fn prepared(agent: Agent, load: &str) -> Conversation {
    let text = format!("target: http://{}/\n{load}", target().await);
    let plan = volley_plan::parse(&text).expect("a good plan");
    let conversation = Conversation::begin(agent).await;
    conversation.order(1, prepare_to(&plan)).await;
    conversation
}

/// An order to start now, with a lease that never ends.
fn start_now(clock: Clock) -> Order {
    Order::Start { at_ns: clock.now_ns(), from_ns: 0, lease_until_ns: u64::MAX }
}

impl Conversation {
    /// Takes and acknowledges one window. Gives back its counts and whether it was the last.
    async fn window(&mut self) -> (Counters, bool) {
        loop {
            let FromAgent::Report { report: Report::Window { sequence, window, last }, .. } =
                self.next().await
            else {
                continue;
            };
            self.acknowledge(sequence).await;
            let mut counters = Counters::default();
            window.rows.values().for_each(|row| counters.merge(&row.counters));
            return (counters, last);
        }
    }

    /// The same of all windows up to the last.
    async fn rest(&mut self) -> Counters {
        let mut sum = Counters::default();
        loop {
            let (counters, last) = self.window().await;
            sum.merge(&counters);
            if last {
                return sum;
            }
        }
    }
}

#[tokio::test]
async fn a_real_engine_does_what_is_granted_and_says_so() {
    let agent = Agent::new(AgentOptions::default());
    let clock = agent.clock;
    let mut conversation = prepared(agent, "users: 1\nrequests: 10\n").await;
    conversation.order(2, Order::Grant { from: 0, to: 10, last: true }).await;
    conversation.order(3, start_now(clock)).await;
    assert_eq!(conversation.rest().await.ok, 10);
}

#[tokio::test]
async fn a_real_engine_is_stopped_and_its_results_delivered_when_the_agent_must_end() {
    let (words, shutdown) = words();
    let agent = Agent::new(AgentOptions::default()).until(shutdown);
    let clock = agent.clock;
    let mut conversation = prepared(agent, "users: 1\nduration: 1h\n").await;
    conversation.order(2, start_now(clock)).await;
    let (mut sum, last) = conversation.window().await;
    assert!(!last, "there is an hour to go");
    (0..2).for_each(|_| words.send(()).expect("the agent waits for this"));
    sum.merge(&conversation.rest().await);
    assert_eq!(sum.started, sum.completed() + sum.cancelled);
    assert!(conversation.left().await < AT_ONCE, "what is acknowledged isn't waited for");
}
