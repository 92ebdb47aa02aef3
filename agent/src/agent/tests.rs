//! Whole conversations over in-memory channels, in paused time: a scripted coordinator on one end, an engine that does
//! what the test says on the other.

mod leaving;
mod real_engine;
mod state;

use tokio::task::JoinHandle;
use tokio::time::{advance, timeout};
use volley_engine::Command;
use volley_plan::link::{Order, Progress, Report};

use super::*;
use crate::sealed::sealed;
use crate::testing::{Engines, prepare, run_id, start, window};

/// The scripted coordinator's end of a conversation that goes on in a task.
struct Conversation {
    to_agent: mpsc::Sender<ToAgent>,
    from_agent: mpsc::Receiver<FromAgent>,
    task: JoinHandle<(Agent, LinkEnd)>,
}

impl Conversation {
    /// Takes `Join` and welcomes the agent.
    async fn begin(mut agent: Agent) -> Self {
        let (to, from_agent) = mpsc::channel(2);
        let (to_agent, from) = mpsc::channel(16);
        let task = tokio::spawn(async move {
            let end = agent.converse(to, from).await;
            (agent, end)
        });
        let mut conversation = Self { to_agent, from_agent, task };
        assert!(matches!(conversation.next().await, FromAgent::Join(_)));
        conversation.say(ToAgent::Welcome).await;
        conversation
    }

    async fn say(&self, message: ToAgent) {
        self.to_agent.send(message).await.expect("the agent listens");
    }

    async fn order(&self, number: u64, order: Order) {
        self.say(ToAgent::Order { run: run_id("r"), number, order }).await;
    }

    async fn acknowledge(&self, sequence: u64) {
        self.say(ToAgent::Acknowledge { run: run_id("r"), of: None, sequence }).await;
    }

    async fn next(&mut self) -> FromAgent {
        let message = timeout(Duration::from_secs(3600), self.from_agent.recv()).await;
        message.expect("the agent speaks in time").expect("the agent is there")
    }

    /// The next ping, which is answered; what else is said on the way goes to `others`.
    async fn answer_ping(&mut self, others: &mut Vec<FromAgent>) -> Option<Progress> {
        loop {
            match self.next().await {
                FromAgent::Ping { sent_ns, progress, .. } => {
                    self.say(ToAgent::Pong { sent_ns, received_ns: 1, answered_ns: 1, lease: None }).await;
                    return progress;
                }
                other => others.push(other),
            }
        }
    }

    /// Ends the connection and gives back the agent.
    async fn cut(self) -> Agent {
        let Self { to_agent, from_agent, task } = self;
        drop((to_agent, from_agent));
        let (agent, end) = task.await.expect("the conversation ends well");
        assert_eq!(end, LinkEnd::Closed);
        agent
    }

    /// Prepares and starts a run at the agent's time 0.
    async fn start(&mut self, engines: &Engines) {
        self.order(1, prepare()).await;
        while engines.count() == 0 {
            self.answer_ping(&mut vec![]).await;
        }
        engines.get(0).tell(Event::Ready);
        let mut others = vec![];
        while others.is_empty() {
            others.push(self.next().await);
            others.retain(|message| !matches!(message, FromAgent::Ping { .. }));
        }
        assert_eq!(others, [FromAgent::Report { run: run_id("r"), of: None, report: Report::Ready }]);
        self.order(2, start(7)).await;
        while self.answer_ping(&mut vec![]).await.is_none_or(|progress| progress.acknowledged < 2) {}
    }
}

#[tokio::test(start_paused = true)]
async fn three_pings_at_once_then_one_each_half_second() {
    let mut conversation = Conversation::begin(Engines::default().agent()).await;
    let began = Instant::now();
    let mut pinged_ms = vec![];
    for _ in 0..6 {
        conversation.answer_ping(&mut vec![]).await;
        pinged_ms.push(began.elapsed().as_millis());
    }
    assert_eq!(pinged_ms, [0, 0, 0, 500, 1000, 1500]);
}

#[tokio::test(start_paused = true)]
async fn silence_of_the_coordinator_ends_the_conversation() {
    let mut conversation = Conversation::begin(Engines::default().agent()).await;
    let began = Instant::now();
    let mut last_ping = began;
    while let Some(message) = conversation.from_agent.recv().await {
        assert!(matches!(message, FromAgent::Ping { .. }));
        last_ping = Instant::now();
    }
    assert_eq!((began.elapsed().as_millis(), (last_ping - began).as_millis()), (5000, 4500));
    assert_eq!(conversation.task.await.expect("the conversation ends well").1, LinkEnd::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_the_conversation_with_its_reason() {
    let mut agent = Engines::default().agent();
    let (to, mut from_agent) = mpsc::channel(2);
    let (to_agent, from) = mpsc::channel(2);
    let reason = "agent speaks protocol 1 (volley 0.1.0), this coordinator 2 (volley 0.2.0)".to_owned();
    to_agent.send(ToAgent::Refused { reason: reason.clone() }).await.expect("there is room");
    drop(to_agent);
    assert_eq!(agent.converse(to, from).await, LinkEnd::Refused(reason));
    assert_eq!(from_agent.recv().await, None, "a refused agent says nothing more");
}

#[tokio::test(start_paused = true)]
async fn a_slow_link_keeps_windows_waiting_and_pings_on_time() {
    let engines = Engines::default();
    let mut conversation = Conversation::begin(engines.agent()).await;
    conversation.start(&engines).await;
    for second in 0..50 {
        engines.get(0).tell(Event::Window { window: window(second, &[1]), last: false });
    }
    let mut others = vec![];
    for _ in 0..3 {
        conversation.answer_ping(&mut others).await;
    }
    assert!((1..=4).contains(&others.len()), "{} windows came with three pings", others.len());
    conversation.acknowledge(4).await;
    others.clear();
    while others.len() < 4 {
        others.push(conversation.next().await);
        others.retain(|message| !matches!(message, FromAgent::Ping { .. }));
    }
    let sequences: Vec<u64> = others
        .iter()
        .map(|message| match message {
            FromAgent::Report { report: Report::Window { sequence, .. }, .. } => *sequence,
            other => panic!("{other:?} is no window"),
        })
        .collect();
    assert_eq!(sequences, [5, 6, 7, 8]);
}

#[tokio::test(start_paused = true)]
async fn windows_of_the_time_between_are_delivered_after_it() {
    let engines = Engines::default();
    let mut conversation = Conversation::begin(engines.agent()).await;
    conversation.start(&engines).await;
    let mut agent = conversation.cut().await;
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: true });
    let between = timeout(Duration::from_secs(2), agent.alone()).await;
    assert!(between.is_err(), "an agent alone never ends by itself");
    engines.get(0).events.closed().await;

    let mut conversation = Conversation::begin(agent).await;
    let mut others = vec![];
    let progress = conversation.answer_ping(&mut others).await;
    assert_eq!(progress, Some(Progress { run: run_id("r"), acknowledged: 2, start_ns: Some(7) }));
    while others.is_empty() {
        conversation.answer_ping(&mut others).await;
    }
    assert_eq!(others, [told(1, 0, true)]);
}

/// A window of this second, as it is told.
fn told(sequence: u64, second: u32, last: bool) -> FromAgent {
    let report = Report::Window { sequence, window: sealed(&window(second, &[1])), last };
    FromAgent::Report { run: run_id("r"), of: None, report }
}

#[tokio::test(start_paused = true)]
async fn a_run_without_contact_is_stopped_after_a_minute() {
    let engines = Engines::default();
    let mut conversation = Conversation::begin(engines.agent()).await;
    conversation.start(&engines).await;
    let mut agent = conversation.cut().await;
    let stops = || {
        let commands = engines.get(0).commands();
        commands.iter().filter(|command| matches!(command, Command::Stop { drain_ns: 0, .. })).count()
    };
    assert!(timeout(ORPHAN - Duration::from_secs(1), agent.alone()).await.is_err());
    assert_eq!(stops(), 0);
    assert!(timeout(Duration::from_secs(2), agent.alone()).await.is_err());
    assert_eq!(stops(), 1);
    advance(ORPHAN * 3).await;
    assert!(timeout(Duration::from_secs(1), agent.alone()).await.is_err());
    assert_eq!(stops(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_in_contact_goes_on_and_each_word_counts() {
    let engines = Engines::default();
    let mut conversation = Conversation::begin(engines.agent()).await;
    conversation.start(&engines).await;
    let began = Instant::now();
    while began.elapsed() < ORPHAN * 2 {
        conversation.answer_ping(&mut vec![]).await;
    }
    let mut agent = conversation.cut().await;
    assert!(timeout(ORPHAN - Duration::from_secs(1), agent.alone()).await.is_err());
    let commands = engines.get(0).commands();
    assert!(matches!(commands.as_slice(), [Command::Start { .. }]), "{commands:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_never_began_is_dropped_after_a_minute_without_contact() {
    let engines = Engines::default();
    let mut conversation = Conversation::begin(engines.agent()).await;
    conversation.order(1, prepare()).await;
    while conversation.answer_ping(&mut vec![]).await.is_none() {}
    let mut agent = conversation.cut().await;
    assert!(timeout(ORPHAN + Duration::from_secs(1), agent.alone()).await.is_err());
    engines.get(0).events.closed().await;
    let mut conversation = Conversation::begin(agent).await;
    assert_eq!(conversation.answer_ping(&mut vec![]).await, None);
}

#[tokio::test]
async fn dropping_an_agent_ends_its_engine() {
    let engines = Engines::default();
    let mut conversation = Conversation::begin(engines.agent()).await;
    conversation.start(&engines).await;
    let agent = conversation.cut().await;
    assert!(!engines.get(0).events.is_closed());
    drop(agent);
    assert!(engines.get(0).events.is_closed());
}

#[test]
fn a_conversation_may_move_between_threads() {
    fn check<T: Send>(_: &T) {}
    let mut agent = Engines::default().agent();
    let ((to, _), (_, from)) = (mpsc::channel(1), mpsc::channel(1));
    check(&agent.converse(to, from));
}
