//! Agents with a directory for their results: what one measured and could not deliver, the next one delivers for it.
//! The disk's thread lives in real time, so these do too.

use super::*;
use crate::disk::{Job, PATIENCE};
use crate::testing::State;

impl Conversation {
    /// The next report; pings are answered.
    async fn any_report(&mut self) -> FromAgent {
        loop {
            match self.next().await {
                FromAgent::Ping { sent_ns, .. } => {
                    self.say(ToAgent::Pong { sent_ns, received_ns: 1, answered_ns: 1, lease: None }).await;
                }
                other => return other,
            }
        }
    }

    /// Answers pings until one shows that this order was taken.
    async fn taken(&mut self, number: u64) {
        while self.answer_ping(&mut vec![]).await.is_none_or(|progress| progress.acknowledged < number) {}
    }
}

#[tokio::test]
async fn results_of_a_killed_agent_are_delivered_by_the_next() {
    let (state, engines) = (State::new(), Engines::default());
    let agent = engines.agent_on(&state);
    let killed = agent.hello().incarnation;
    let mut conversation = Conversation::begin(agent).await;
    conversation.start(&engines).await;
    for second in 0..3 {
        engines.get(0).tell(Event::Window { window: window(second, &[1]), last: false });
        assert_eq!(conversation.any_report().await, told(u64::from(second) + 1, second, false));
    }
    conversation.acknowledge(1).await;
    drop(conversation.cut().await);

    let mut conversation = Conversation::begin(engines.agent_on(&state)).await;
    for sequence in 1..=3 {
        let second = u32::try_from(sequence).expect("few") - 1;
        let FromAgent::Report { run, of, report } = conversation.any_report().await else {
            panic!("no report")
        };
        let expected = Report::Window { sequence, window: sealed(&window(second, &[1])), last: false };
        assert_eq!((run.clone(), of, report), (run_id("r"), Some(killed), expected));
        conversation.say(ToAgent::Acknowledge { run, of, sequence }).await;
    }
    while !state.names().is_empty() {
        conversation.answer_ping(&mut vec![]).await;
    }
}

#[tokio::test]
async fn results_that_a_coordinator_does_not_know_are_removed() {
    let (state, engines) = (State::new(), Engines::default());
    let mut conversation = Conversation::begin(engines.agent_on(&state)).await;
    conversation.start(&engines).await;
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: false });
    conversation.any_report().await;
    drop(conversation.cut().await);
    let mut conversation = Conversation::begin(engines.agent_on(&state)).await;
    let FromAgent::Report { run, of, .. } = conversation.any_report().await else { panic!("no report") };
    conversation.say(ToAgent::Acknowledge { run, of, sequence: u64::MAX }).await;
    while !state.names().is_empty() {
        conversation.answer_ping(&mut vec![]).await;
    }
}

#[tokio::test]
async fn a_released_run_leaves_nothing_on_the_disk() {
    let (state, engines) = (State::new(), Engines::default());
    let mut conversation = Conversation::begin(engines.agent_on(&state)).await;
    conversation.start(&engines).await;
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: true });
    assert_eq!(conversation.any_report().await, told(1, 0, true));
    assert_eq!(state.names().len(), 1);
    conversation.acknowledge(1).await;
    conversation.order(3, Order::Release).await;
    while conversation.answer_ping(&mut vec![]).await.is_some() || !state.names().is_empty() {}
}

#[tokio::test]
async fn two_agents_in_one_directory_do_not_take_each_others_results() {
    let (state, engines) = (State::new(), Engines::default());
    let mut one = Conversation::begin(engines.agent_on(&state)).await;
    one.start(&engines).await;
    engines.get(0).tell(Event::Window { window: window(0, &[1]), last: false });
    assert_eq!(one.any_report().await, told(1, 0, false));
    let mut two = Conversation::begin(engines.agent_on(&state)).await;
    two.order(1, prepare()).await;
    two.taken(1).await;
    engines.get(1).tell(Event::Ready);
    let ready = FromAgent::Report { run: run_id("r"), of: None, report: Report::Ready };
    assert_eq!(two.any_report().await, ready, "and nothing of the other's");
    assert_eq!(state.names().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_holds_up_no_results() {
    let (engines, began) = (Engines::default(), Instant::now());
    let (disk, answers, asked) = Disk::silent();
    let mut agent = engines.agent();
    (agent.disk, agent.session.runs) = (Some(disk), engines.runs_on_disk());
    let mut conversation = Conversation::begin(agent).await;
    conversation.start(&engines).await;
    for second in 0..2 {
        engines.get(0).tell(Event::Window { window: window(second, &[1]), last: second == 1 });
        assert_eq!(conversation.any_report().await, told(u64::from(second) + 1, second, second == 1));
    }
    let waited = began.elapsed();
    assert!((PATIENCE..2 * PATIENCE).contains(&waited), "only the first waits: {waited:?}");
    conversation.acknowledge(2).await;
    conversation.order(3, Order::Release).await;
    while conversation.answer_ping(&mut vec![]).await.is_some() {}

    // Once it answers, the next run's results are kept again.
    while asked.try_recv().is_ok() {
        let reason = "late".to_owned();
        answers.send(Answer::Failed { run: run_id("r"), reason }).expect("the agent listens");
    }
    conversation.answer_ping(&mut vec![]).await;
    conversation.say(ToAgent::Order { run: run_id("s"), number: 1, order: prepare() }).await;
    while engines.count() < 2 {
        conversation.answer_ping(&mut vec![]).await;
    }
    conversation.say(ToAgent::Order { run: run_id("s"), number: 2, order: start(7) }).await;
    conversation.taken(2).await;
    engines.get(1).tell(Event::Window { window: window(0, &[1]), last: false });
    conversation.answer_ping(&mut vec![]).await;
    let kept = |job: Job| matches!(job, Job::Keep(window) if window.source.run == run_id("s"));
    assert!(asked.try_iter().any(kept));
}

#[tokio::test]
async fn a_directory_that_can_not_be_costs_the_run_nothing() {
    let (state, engines) = (State::new(), Engines::default());
    std::fs::write(state.path(), b"in the way").expect("there is room");
    let mut conversation = Conversation::begin(engines.agent_on(&state)).await;
    conversation.start(&engines).await;
    for second in 0..2 {
        engines.get(0).tell(Event::Window { window: window(second, &[1]), last: false });
        assert_eq!(conversation.any_report().await, told(u64::from(second) + 1, second, false));
    }
    std::fs::remove_file(state.path()).expect("it is there");
}
