//! An agent that is asked to end finishes what it has; one that is told to ends soon; and neither waits for ever.

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use volley_plan::AgentsWanted;
use volley_stats::Part;

use super::*;
use crate::leaving::{AT_ONCE, POLITELY};

/// The words that bring an agent to its end.
pub(super) fn words() -> (UnboundedSender<()>, Shutdown) {
    let (words, said) = unbounded_channel();
    (words, Shutdown::on(UnboundedReceiverStream::new(said)))
}

/// A run that goes on when its agent is asked to end, by the sender.
async fn running(engines: &Engines) -> (UnboundedSender<()>, Conversation) {
    let (words, shutdown) = words();
    let mut conversation = Conversation::begin(engines.agent().until(shutdown)).await;
    conversation.start(engines).await;
    (words, conversation)
}

impl Conversation {
    /// Waits until the agent has left; pings are left unanswered. Gives back how long that took.
    pub(super) async fn left(mut self) -> Duration {
        let began = Instant::now();
        while self.from_agent.recv().await.is_some() {}
        assert_eq!(self.task.await.expect("the conversation ends well").1, LinkEnd::Left);
        began.elapsed()
    }

    /// Answers pings until the agent asks to be relieved.
    async fn asked_for_relief(&mut self) {
        loop {
            let FromAgent::Ping { sent_ns, leaving, .. } = self.next().await else { continue };
            self.say(ToAgent::Pong { sent_ns, received_ns: 1, answered_ns: 1, lease: None }).await;
            if leaving {
                return;
            }
        }
    }

    /// The next report that is not a ping; pings are answered.
    async fn report(&mut self) -> FromAgent {
        let mut others = vec![];
        while others.is_empty() {
            self.answer_ping(&mut others).await;
        }
        others.remove(0)
    }
}

fn stops(engines: &Engines) -> Vec<Command> {
    let commands = engines.get(0).commands();
    commands.into_iter().filter(|command| matches!(command, Command::Stop { .. })).collect()
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_asked_goes_on_until_it_is_relieved_and_delivers() {
    let engines = Engines::default();
    let (words, mut conversation) = running(&engines).await;
    words.send(()).expect("the agent waits for this");
    conversation.asked_for_relief().await;
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: false });
    assert_eq!(conversation.report().await, told(1, 0, false));
    assert_eq!(stops(&engines), [], "it goes on until it is told where its part ends");
    conversation.order(3, Order::Stop { at_ns: 9, drain_ns: 5 }).await;
    while stops(&engines).is_empty() {
        conversation.answer_ping(&mut vec![]).await;
    }
    assert_eq!(stops(&engines), [Command::Stop { at_ns: 9, drain_ns: 5 }]);
    engines.get(0).tell(Event::Window { window: window(1, &[1]), last: true });
    assert_eq!(conversation.report().await, told(2, 1, true));
    assert!(!conversation.task.is_finished(), "it waits until all is acknowledged");
    conversation.acknowledge(2).await;
    assert!(conversation.left().await < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_stands_by_waits_to_be_released() {
    let engines = Engines::default();
    let (words, shutdown) = words();
    let mut conversation = Conversation::begin(engines.agent().until(shutdown)).await;
    conversation.order(1, prepare()).await;
    while conversation.answer_ping(&mut vec![]).await.is_none() {}
    words.send(()).expect("the agent waits for this");
    conversation.asked_for_relief().await;
    assert!(!conversation.task.is_finished());
    conversation.order(2, Order::Release).await;
    assert!(conversation.left().await < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn a_second_word_stops_the_run_at_once() {
    let engines = Engines::default();
    let (words, mut conversation) = running(&engines).await;
    words.send(()).expect("the agent waits for this");
    conversation.asked_for_relief().await;
    words.send(()).expect("the agent waits for this");
    while stops(&engines).is_empty() {
        conversation.answer_ping(&mut vec![]).await;
    }
    assert!(matches!(stops(&engines).as_slice(), [Command::Stop { drain_ns: 0, .. }]));
    let said = conversation.report().await;
    assert!(
        matches!(said, FromAgent::Report { report: Report::Refused { .. }, .. }),
        "it says why: {said:?}"
    );
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: true });
    assert_eq!(conversation.report().await, told(1, 0, true));
    conversation.acknowledge(1).await;
    assert!(conversation.left().await < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn neither_politeness_nor_silence_lasts_for_ever() {
    let engines = Engines::default();
    let (words, mut conversation) = running(&engines).await;
    let began = Instant::now();
    words.send(()).expect("the agent waits for this");
    // The drain of a plan that says nothing is 10 s.
    let patience = AgentsWanted::DEFAULT_LEASE + Duration::from_secs(10) + POLITELY;
    while stops(&engines).is_empty() {
        conversation.answer_ping(&mut vec![]).await;
    }
    let stopped = began.elapsed();
    assert!(stopped >= patience && stopped < patience + Duration::from_secs(1), "{stopped:?}");
    let left = conversation.left().await;
    assert!(left <= AT_ONCE && left > AT_ONCE - Duration::from_secs(1), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_falls_silent_is_not_waited_for() {
    let engines = Engines::default();
    let (words, mut conversation) = running(&engines).await;
    words.send(()).expect("the agent waits for this");
    conversation.asked_for_relief().await;
    let left = conversation.left().await;
    let most = AT_ONCE * 2 + Duration::from_secs(1);
    assert!(left > AT_ONCE && left < most, "{left:?}");
    assert_eq!(stops(&engines).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_alone_leaves_too() {
    let engines = Engines::default();
    let (words, conversation) = running(&engines).await;
    let mut agent = conversation.cut().await;
    advance(Duration::from_secs(3)).await;
    words.send(()).expect("the agent waits for this");
    let began = Instant::now();
    timeout(AT_ONCE * 2, agent.alone()).await.expect("it leaves");
    assert_eq!(began.elapsed().as_secs(), AT_ONCE.as_secs());
    assert_eq!(stops(&engines).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_agent_leaves_at_once() {
    for contact in [None, Some(Instant::now())] {
        let mut agent = Engines::default().agent().until(Shutdown::on(tokio_stream::once(())));
        agent.contact = contact;
        let (to, _from_agent) = mpsc::channel(2);
        let (_to_agent, from) = mpsc::channel(2);
        assert_eq!(agent.converse(to, from).await, LinkEnd::Left);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_all_words_is_none() {
    let engines = Engines::default();
    let (words, conversation) = running(&engines).await;
    drop(words);
    let mut agent = conversation.cut().await;
    assert!(timeout(Duration::from_secs(30), agent.alone()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_agent_tells_how_it_is() {
    let engines = Engines::default();
    let (words, shutdown) = words();
    let (sender, mut status) = watch::channel(Status::default());
    let agent = engines.agent().until(shutdown).telling(sender);
    assert_eq!(status.borrow_and_update().readiness(), Err("not joined"));
    let mut conversation = Conversation::begin(agent).await;
    let joined = Status { is_joined: true, ..Status::default() };
    assert_eq!(*status.wait_for(|status| status.is_joined).await.expect("the agent tells"), joined);
    assert_eq!(joined.readiness(), Ok(()));
    conversation.start(&engines).await;
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: false });
    let owing = status.wait_for(|status| status.owed_windows > 0).await.expect("the agent tells").clone();
    let (sent, latest) = (owing.sent.clone(), owing.latest);
    assert_eq!((sent.of(Part::Measured).counters.started, latest.connections), (2, 1), "those of the window");
    assert_eq!(owing, Status { run: Some(run_id("r")), owed_windows: 1, sent, latest, ..joined });
    words.send(()).expect("the agent waits for this");
    let leaving = Status { is_leaving: true, ..owing.clone() };
    assert_eq!(*status.wait_for(|status| status.is_leaving).await.expect("the agent tells"), leaving);
    assert_eq!(leaving.readiness(), Err("leaving"));
    let _agent = conversation.cut().await;
    assert!(!status.borrow().is_joined);
}
