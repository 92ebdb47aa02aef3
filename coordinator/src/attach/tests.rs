//! Runs from their start to their end, over connections that are pairs of channels, in paused time.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use volley_plan::Verdict;
use volley_plan::link::{FromAgent, Incarnation, Order, Progress, Report, RoundTrip, RunId, ToAgent};
use volley_stats::SECOND_NS;

mod fleet;
mod open;
mod thresholds;

use crate::testing::{
    FakeAgent, connection, coordinator, hello, idle_and_busy, new_run, outcome, window, working_agent,
};
use crate::{Coordinator, RunDocument, StartError};

#[tokio::test(start_paused = true)]
async fn orders_and_reports_of_a_run_in_their_order() {
    let coordinator = coordinator();
    let (mut a, mut b) =
        (FakeAgent::join(&coordinator, 1, "a").await, FakeAgent::join(&coordinator, 2, "b").await);
    let begun = Instant::now();
    let run = coordinator.start_run(new_run("users: 2\nrequests: 100")).await.unwrap();
    for agent in [&mut a, &mut b] {
        agent.prepare(&run).await;
    }
    for agent in [&mut a, &mut b] {
        let Order::Grant { from, to, last } = agent.order().await else { panic!("a grant comes first") };
        assert!(to > from && !last);
        let Order::Start { at_ns, from_ns: 0, lease_until_ns } = agent.order().await else {
            panic!("then the start")
        };
        let lead = Duration::from_millis(200);
        assert_eq!((at_ns, lease_until_ns), (agent.clock_at(begun + lead), 3 * SECOND_NS));
    }
    sleep(Duration::from_secs(1)).await;
    b.deliver(&run, 1, window(0, 12, 0), false).await;
    b.acknowledgement(1).await;
    coordinator.stop_run(&run).unwrap();
    for (agent, sequence, window) in [(&mut a, 1, window(0, 12, 0)), (&mut b, 2, window(0, 0, 0))] {
        assert!(matches!(agent.order().await, Order::Stop { drain_ns, .. } if drain_ns == 10 * SECOND_NS));
        agent.deliver(&run, sequence, window, true).await;
        assert_eq!(agent.order().await, Order::Release);
    }
    let document = outcome(&coordinator, &run).await;
    assert_eq!(document.progress.whole.ok, 24);
    assert_eq!(document.progress.account_faults, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn agents_that_work_end_a_counted_run_with_all_sent() {
    let coordinator = coordinator();
    for incarnation in 1..=3 {
        working_agent(&coordinator, incarnation, &format!("a{incarnation}"));
    }
    sleep(Duration::from_secs(1)).await;
    for _ in 0..2 {
        let run = coordinator.start_run(new_run("users: 9\nrequests: 1000")).await.unwrap();
        let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
        assert_eq!(progress.sentence, "Finished: 1,000 of 1,000 requests sent, 0 failed, p99 1.00 ms.");
        assert_eq!(
            (progress.verdict, progress.stop_reason.as_deref()),
            (Some(Verdict::None), Some("count_reached"))
        );
        assert_eq!((progress.whole.started, progress.whole.ok, progress.agents.len()), (1000, 1000, 3));
        assert_eq!(progress.account_faults, Vec::<String>::new());
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn agents_that_work_end_a_timed_run_on_time() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    let run = coordinator.start_run(new_run("users: 1\nduration: 3s")).await.unwrap();
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!((progress.elapsed_s, progress.planned_s), (3.0, Some(3.0)));
    assert_eq!((progress.whole.rate, progress.last5.rate), (10.0, 10.0));
    assert_eq!(progress.sentence, "Finished: 30 requests in 3 s (10.0 requests/s), 0 failed, p99 1.00 ms.");
}

#[tokio::test(start_paused = true)]
async fn case_22_nothing_succeeded() {
    let coordinator = coordinator();
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 10\nrequests: 10")).await.unwrap();
    agent.prepare(&run).await;
    agent.deliver(&run, 1, window(0, 0, 10), true).await;
    let document = outcome(&coordinator, &run).await;
    let progress = &document.progress;
    assert_eq!(progress.sentence, "Invalid: nothing succeeded: 10 connection refused.");
    assert_eq!(progress.verdict, Some(Verdict::Invalid));
    assert_eq!((progress.whole.latency_ms.p50, progress.whole.error_rate), (None, Some(1.0)));
    let json = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<RunDocument>(&json).unwrap(), document);
}

/// The next grant: from, to and whether it is the last. What the agent has to take over meanwhile it takes over.
async fn grant(agent: &mut FakeAgent) -> Option<(u64, u64, bool)> {
    loop {
        match agent.order().await {
            Order::Grant { from, to, last } => return Some((from, to, last)),
            Order::Change { .. } => {}
            _ => return None,
        }
    }
}

/// Starts a counted run of 100 on two agents, of which b is lost at 3 s without a report. Gives back both.
async fn lose_b(coordinator: &Coordinator) -> (RunId, FakeAgent, FakeAgent) {
    let mut a = FakeAgent::join(coordinator, 1, "a").await;
    let mut b = FakeAgent::join(coordinator, 2, "b").await;
    let run = coordinator.start_run(new_run("users: 2\nrequests: 100")).await.unwrap();
    a.prepare(&run).await;
    b.prepare(&run).await;
    let Some((_, mut to, _)) = grant(&mut a).await else { panic!() };
    assert!(matches!(a.order().await, Order::Start { .. }));
    let mut sent = 12;
    let mut sequence = 0;
    loop {
        sequence += 1;
        sleep(Duration::from_millis(500)).await;
        a.ping().await;
        a.deliver(&run, sequence, window(0, sent, 0), false).await;
        a.report(&run, Report::GrantWanted { taken: to, iterations: 30 }).await;
        let Some((from, more, last)) = grant(&mut a).await else { panic!() };
        (to, sent) = (more, more - from);
        if last {
            break;
        }
    }
    a.deliver(&run, sequence + 1, window(0, sent, 0), true).await;
    (run, a, b)
}

#[tokio::test(start_paused = true)]
async fn a_lost_agent_makes_unknown_and_the_account_adds_up() {
    let coordinator = coordinator();
    let (run, ..) = lose_b(&coordinator).await;
    let RunDocument { progress, log, .. } = outcome(&coordinator, &run).await;
    assert_eq!((progress.whole.started, progress.whole.unknown), (88, Some(12)));
    assert!(progress.incomplete);
    assert!(progress.sentence.contains("12 unknown"), "{}", progress.sentence);
    assert_eq!(progress.agents.iter().map(|agent| agent.unknown).collect::<Vec<_>>(), [Some(0), Some(12)]);
    assert!(log.iter().any(|line| line.level == "warn" && line.text.contains("agent b")), "{log:?}");
    assert_eq!(progress.account_faults, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_agent_delivers_before_the_end_counts_and_after_it_is_late() {
    for (patience_s, ok, late) in [(5, 100, 0), (60, 88, 12)] {
        let coordinator = coordinator();
        let (run, _a, mut b) = lose_b(&coordinator).await;
        sleep(Duration::from_secs(patience_s)).await;
        b.reconnect(&coordinator).await;
        b.deliver(&run, 1, window(0, 12, 0), true).await;
        b.acknowledgement(1).await;
        let document = outcome(&coordinator, &run).await;
        assert_eq!((document.progress.whole.ok, document.progress.delivered_late.ok), (ok, late));
        let kept = coordinator.shared.store.document(&run).await.unwrap().unwrap();
        assert_eq!(kept.progress.delivered_late, document.progress.delivered_late);
        let all_free = idle_and_busy(&coordinator).1 == 0;
        assert!(all_free, "whoever has delivered is free");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_process_left_behind_is_delivered_by_the_next_one_on_its_host() {
    for (patience_s, ok, late) in [(5, 100, 0), (60, 88, 12)] {
        let coordinator = coordinator();
        let (run, _a, b) = lose_b(&coordinator).await;
        drop(b);
        sleep(Duration::from_secs(patience_s)).await;
        let mut next = FakeAgent::join(&coordinator, 3, "b").await;
        let of = Incarnation(2);
        for _ in 0..2 {
            next.deliver_of(&run, of, 1, window(0, 12, 0), true).await;
        }
        next.acknowledgement_of(of, 1).await;
        let document = outcome(&coordinator, &run).await;
        assert_eq!((document.progress.whole.ok, document.progress.delivered_late.ok), (ok, late));
        assert_eq!(next.acknowledged, 0, "nothing of its own was acknowledged");
        let unknown = RunId::new("long-forgotten").unwrap();
        next.deliver_of(&unknown, of, 1, window(0, 12, 0), true).await;
        next.acknowledgement_of(of, u64::MAX).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_no_loss_and_repeats_are_harmless() {
    let coordinator = coordinator();
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 5s")).await.unwrap();
    agent.prepare(&run).await;
    assert!(matches!(agent.order().await, Order::Start { .. }));
    sleep(Duration::from_millis(1300)).await;
    agent.ping().await;
    assert!(agent.lease.as_ref().is_some_and(|lease| lease.until_ns > 3 * SECOND_NS && lease.run == run));
    agent.deliver(&run, 1, window(0, 10, 0), false).await;
    agent.acknowledgement(1).await;
    agent.reconnect(&coordinator).await;
    assert!(agent.lease.is_some(), "the run goes on over the new connection");
    for (sequence, second) in [(1, 0), (2, 1), (2, 1), (1, 0)] {
        agent.deliver(&run, sequence, window(second, 10, 0), false).await;
    }
    agent.acknowledgement(2).await;
    sleep(Duration::from_secs(2)).await;
    agent.ping().await;
    sleep(Duration::from_secs(2)).await;
    agent.deliver(&run, 3, window(4, 10, 0), true).await;
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!((progress.whole.ok, progress.incomplete), (30, false));
}

#[tokio::test(start_paused = true)]
async fn an_order_lost_with_its_connection_comes_again() {
    let coordinator = coordinator();
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nrequests: 1")).await.unwrap();
    // The agent never sees the order to prepare: its connection is cut with it.
    agent.reconnect(&coordinator).await;
    for _ in 0..3 {
        sleep(Duration::from_millis(500)).await;
        agent.ping().await;
    }
    agent.prepare(&run).await;
    assert!(matches!(agent.order().await, Order::Grant { from: 0, to: 1, last: true }));
    assert!(matches!(agent.order().await, Order::Start { .. }));
    agent.deliver(&run, 1, window(0, 1, 0), true).await;
    assert_eq!(outcome(&coordinator, &run).await.progress.whole.ok, 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_agents_where_its_plan_says_so() {
    let coordinator = coordinator();
    let _first = working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let new = new_run("users: 2\nrequests: 10\nagents: { min: 2, wait: 60s }");
    let run = coordinator.start_run(new).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let waiting = coordinator.document(&run).await.unwrap();
    assert_eq!(waiting.progress.sentence, "Waiting for 2 agents.");
    assert_eq!(idle_and_busy(&coordinator), (1, 0), "nobody is held back until there are enough");
    working_agent(&coordinator, 2, "b");
    assert_eq!(outcome(&coordinator, &run).await.progress.whole.ok, 10);
    let new = new_run("users: 3\nrequests: 10\nagents: { min: 3, wait: 60s }");
    let run = coordinator.start_run(new).await.unwrap();
    let begun = Instant::now();
    let document = outcome(&coordinator, &run).await;
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert_eq!(document.progress.stop_reason.as_deref(), Some("could_not_run"));
}

#[tokio::test(start_paused = true)]
async fn without_agents_a_run_is_refused_with_what_to_do() {
    let coordinator = coordinator();
    let refused = coordinator.start_run(new_run("users: 1\nrequests: 1")).await.unwrap_err();
    assert!(refused.to_string().contains("`volley agent --coordinator HOST:PORT`"), "{refused}");
    let _agent = FakeAgent::join(&coordinator, 1, "a").await;
    let few = coordinator.start_run(new_run("users: 2\nrequests: 1\nagents: { min: 2 }")).await.unwrap_err();
    assert!(matches!(few, StartError::NoAgents { wanted: 2, there: 1, .. }), "{few}");
    let other = "users: 1\nrequests: 1\nagents: { labels: { zone: eu }, share_by: capacity }";
    let other = coordinator.start_run(new_run(other)).await.unwrap_err();
    assert!(
        other.to_string().starts_with("no agent with zone=eu and a measured capacity is connected"),
        "{other}"
    );
    let coordinator = crate::testing::coordinator();
    let mut patient = new_run("users: 1\nrequests: 1");
    patient.wait_for_agents = Duration::from_secs(5);
    let waiting = tokio::spawn({
        let coordinator = coordinator.clone();
        async move { coordinator.start_run(patient).await }
    });
    sleep(Duration::from_secs(1)).await;
    working_agent(&coordinator, 2, "b");
    outcome(&coordinator, &waiting.await.unwrap().unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn case_50_an_agent_of_another_version_is_refused_and_others_are_not() {
    let coordinator = coordinator();
    let _other = FakeAgent::join(&coordinator, 1, "a").await;
    let (to, mut from) = connection(&coordinator);
    let mut greeting = hello(Incarnation(2), "b");
    (greeting.protocol, greeting.version) = (9, "7.7.7".to_owned());
    to.send(FromAgent::Join(greeting)).await.unwrap();
    let Some(ToAgent::Refused { reason }) = from.recv().await else { panic!("it must be told") };
    assert!(reason.contains("agent b speaks protocol 9 (volley 7.7.7)"), "{reason}");
    assert_eq!(from.recv().await, None);
    assert_eq!(idle_and_busy(&coordinator), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_connection_must_begin_with_a_join_and_not_fall_silent() {
    let coordinator = coordinator();
    let (to, mut from) = connection(&coordinator);
    to.send(FromAgent::Ping { sent_ns: 1, round_trip: None, progress: None, leaving: false }).await.unwrap();
    assert!(matches!(from.recv().await, Some(ToAgent::Refused { reason }) if reason.contains("join")));
    let (_to, mut from) = connection(&coordinator);
    assert_eq!(from.recv().await, None, "who says nothing is let go");
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let begun = Instant::now();
    assert_eq!((agent.last_word().await, begun.elapsed().as_secs()), (None, 10));
    assert_eq!(coordinator.shared.agents()[0].state, "gone");
}

#[tokio::test(start_paused = true)]
async fn results_that_cannot_be_are_turned_away_by_name() {
    for (change, expected) in
        [(window(100_000, 1, 0), "window.rows: seconds 100000 to 100001"), (window(0, 1, 0), "")]
    {
        let coordinator = coordinator();
        let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
        let run = coordinator.start_run(new_run("users: 1\nduration: 5s")).await.unwrap();
        agent.prepare(&run).await;
        assert!(matches!(agent.order().await, Order::Start { .. }));
        let mut window = change;
        if expected.is_empty() {
            // A step that the plan doesn't have.
            let rows = std::mem::take(&mut window.rows);
            window.rows = rows
                .into_iter()
                .map(|(mut key, row)| {
                    key.step = 7;
                    (key, row)
                })
                .collect();
        }
        agent.deliver(&run, 1, window, false).await;
        let said = agent.last_word().await.unwrap();
        assert!(said.contains(if expected.is_empty() { "step 7" } else { expected }), "{said}");
        assert_eq!(coordinator.document(&run).await.unwrap().progress.whole.started, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_at_work_for_an_unknown_run_is_let_go() {
    let coordinator = coordinator();
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = RunId::new("elsewhere").unwrap();
    agent.progress = Some(Progress { run, acknowledged: 7, start_ns: None });
    agent.ping().await;
    assert_eq!(agent.order().await, Order::Release);
    agent.ping().await;
    assert_eq!((agent.progress, idle_and_busy(&coordinator)), (None, (1, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_drains_and_says_so() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 600s")).await.unwrap();
    sleep(Duration::from_millis(2700)).await;
    coordinator.stop_run(&run).unwrap();
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!(progress.stop_reason.as_deref(), Some("asked"));
    assert!(progress.sentence.starts_with("Stopped after 2."), "{}", progress.sentence);
    assert!(coordinator.stop_run(&run).is_err(), "it is over");
    assert!(coordinator.stop_run(&RunId::new("nobody").unwrap()).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_before_its_start_says_that_it_never_began() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("rate: 20/s\nduration: 10s")).await.unwrap();
    while coordinator.document(&run).await.unwrap().progress.state != "running" {
        sleep(Duration::from_millis(1)).await;
    }
    coordinator.stop_run(&run).unwrap();
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!(progress.sentence, "Stopped before it began.");
    assert_eq!((progress.run_s, progress.whole.started), (0.0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_begins_when_the_farthest_agent_can_know() {
    for (way_ms, lead_ms) in [(50, 200), (1_000, 2_000), (4_000, 5_000)] {
        let coordinator = coordinator();
        let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
        let (back_ns, way_ns) = (agent.now_ns(), way_ms * 1_000_000);
        let there_ns = coordinator.shared.clock.now_ns() - way_ns / 2;
        let trip = RoundTrip {
            sent_ns: back_ns - way_ns,
            received_ns: there_ns,
            answered_ns: there_ns,
            returned_ns: back_ns,
        };
        coordinator.shared.fleet(|fleet, _| {
            fleet.pinged(Incarnation(1), trip.sent_ns, trip.received_ns, None);
            fleet.pinged(Incarnation(1), back_ns, there_ns + way_ns, Some(trip));
        });
        let begun = Instant::now();
        let run = coordinator.start_run(new_run("users: 1\nduration: 5s")).await.unwrap();
        agent.prepare(&run).await;
        let Order::Start { at_ns, .. } = agent.order().await else { panic!("it starts") };
        let lead = Duration::from_millis(lead_ms);
        assert_eq!((begun.elapsed(), at_ns), (Duration::ZERO, agent.clock_at(begun + lead)), "{way_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_busy_with_a_run_that_is_gone() {
    let coordinator = coordinator();
    let (run, ..) = lose_b(&coordinator).await;
    outcome(&coordinator, &run).await;
    let b = || coordinator.shared.fleet(|fleet, now_ns| fleet.view(Incarnation(2), now_ns)).unwrap();
    assert_eq!(b().run, Some(run));
    sleep(Duration::from_secs(5)).await;
    working_agent(&coordinator, 3, "c");
    sleep(Duration::from_secs(1)).await;
    for _ in 0..50 {
        let run = coordinator.start_run(new_run("users: 1\nrequests: 1")).await.unwrap();
        outcome(&coordinator, &run).await;
    }
    assert_eq!(b().run, None, "so many are over since that the first is gone");
}
