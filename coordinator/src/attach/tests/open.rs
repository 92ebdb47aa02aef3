//! Runs of the open model from their start to their end: what was due, what of it was sent, and how late.

use std::time::Duration;

use tokio::time::sleep;
use volley_plan::Verdict;
use volley_plan::link::{Order, Report, RunId};
use volley_stats::Part;

use crate::feed::Feed;
use crate::testing::{FakeAgent, coordinator, late_agent, new_run, open_window, outcome, working_agent};
use crate::{Coordinator, RunDocument};

/// The ticks of a run that is over.
fn ticks(coordinator: &Coordinator, run: &RunId) -> Vec<volley_web::stream::Tick> {
    let live = coordinator.shared.live(run).unwrap();
    live.feed().read(Feed::ticks).iter().map(|tick| (**tick).clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn case_19_and_31_what_is_due_is_told_apart_by_warm_up_and_measured_part() {
    let coordinator = coordinator();
    for incarnation in 1..=3 {
        working_agent(&coordinator, incarnation, &format!("a{incarnation}"));
    }
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("rate: 30/s\nduration: 10s\nwarmup: 5s")).await.unwrap();
    sleep(Duration::from_millis(2_700)).await;
    let warming_up = coordinator.document(&run).await.unwrap().progress;
    assert_eq!((warming_up.sentence.as_str(), warming_up.elapsed_s), ("Warming up: 2.5 s of 5 s.", 0.0));
    assert_eq!((warming_up.planned_requests, warming_up.whole.started), (Some(300), 0));
    sleep(Duration::from_millis(5_000)).await;
    let running = coordinator.document(&run).await.unwrap().progress;
    assert_eq!(running.sentence, "Running: 2.5 s of 10 s, 60 of 300 requests started, 30.0 requests/s.");

    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    let sentence =
        "Finished: 300 of 300 planned requests were sent; p99 was 2.00 ms from when they were due.";
    assert_eq!(progress.sentence, sentence);
    assert_eq!((progress.elapsed_s, progress.run_s, progress.warmup_s), (10.0, 15.0, 5.0));
    assert_eq!((progress.planned_s, progress.stop_s), (Some(10.0), Some(15.0)));
    assert_eq!(
        (progress.verdict, progress.stop_reason.as_deref()),
        (Some(Verdict::None), Some("duration_over"))
    );
    let (whole, warmup) = (&progress.whole, progress.warmup.clone().unwrap());
    assert_eq!((whole.started, whole.ok, whole.missed, whole.unknown), (300, 300, 0, Some(0)));
    assert_eq!((warmup.started, warmup.ok, warmup.missed), (150, 150, 0));
    assert_eq!((whole.rate, progress.last5.rate), (30.0, 30.0));
    assert!((0.99..1.01).contains(&whole.service_ms.p99.unwrap()), "{:?}", whole.service_ms);
    let phases: Vec<_> = progress.phases.iter().map(|phase| (phase.name.as_str(), phase.count)).collect();
    assert_eq!(phases, [("lag", 300), ("first_byte", 300)]);
    let shares: Vec<_> = progress.agents.iter().map(|agent| (agent.share.as_str(), agent.started)).collect();
    assert_eq!(shares, [("1 of 3 of the arrivals", 100); 3]);
    assert!(progress.agents.iter().all(|agent| agent.health.seconds == 10), "{:?}", progress.agents);
    assert_eq!((progress.account_faults.len(), progress.health_notes.len()), (0, 0));

    let ticks = ticks(&coordinator, &run);
    let said: Vec<_> = ticks.iter().map(|tick| (tick.warmup, tick.planned, tick.iterations)).collect();
    let expected = [[(true, Some(30.0), 30); 5].as_slice(), &[(false, Some(30.0), 30); 10]].concat();
    assert_eq!(said, expected);
    let lag = ticks[7].lag_max_ms.unwrap();
    assert_eq!((lag, ticks[7].busiest_cpu, ticks[7].stolen), (1.0, Some(0.25), Some(0.0)));
}

#[tokio::test(start_paused = true)]
async fn a_late_generator_makes_the_run_invalid_and_is_named() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "punctual");
    late_agent(&coordinator, 2, "slow", 80);
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("rate: 20/s\nduration: 4s")).await.unwrap();
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!(progress.verdict, Some(Verdict::Invalid));
    let late = "agent slow was late in 4 of 4 seconds, by up to 80 ms";
    assert!(progress.sentence.starts_with(&format!("Invalid: {late}")), "{}", progress.sentence);
    assert_eq!(progress.health_notes.len(), 1);
    assert!(progress.health_notes[0].starts_with("Agent slow was late"), "{:?}", progress.health_notes);
    let late: Vec<_> = progress.agents.iter().map(|agent| agent.health.late_seconds).collect();
    assert_eq!(late, [0, 4]);
    assert_eq!(ticks(&coordinator, &run)[0].lag_max_ms, Some(80.0));
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_is_said() {
    for (lines, sentence) in [
        (
            "rate: 100/s\nduration: 1s\ntolerate: 10%",
            "Finished: 95 of 100 planned requests were sent, 5 missed; p99 was 3.00 ms from when they were due.",
        ),
        (
            "rate: 100/s\nduration: 1s\ntolerate: 10%\nscenarios: { a: { steps: [{ get: / }, { think: 1s }] } }",
            "Finished: 95 of 100 planned iterations were started, 5 missed; p99 was 3.00 ms from when they were due.",
        ),
        (
            "rate: 100/s\nduration: 1s\nmax_in_flight: 50\nconnections: 20",
            "Invalid: 5 missed of 100 planned iterations, more than 1%: most likely more were waiting for the target than \
             `max_in_flight` (50) permits and `connections` (20) carry.",
        ),
    ] {
        let coordinator = coordinator();
        let mut a = FakeAgent::join(&coordinator, 1, "a").await;
        let run = coordinator.start_run(new_run(lines)).await.unwrap();
        prepared(&mut a, &run, 2520).await;
        assert!(matches!(a.order().await, Order::Start { .. }));
        sleep(Duration::from_millis(1_200)).await;
        a.deliver(&run, 1, open_window(0, Part::Measured, (95, 5), 2), true).await;
        assert_eq!(outcome(&coordinator, &run).await.progress.sentence, sentence);
    }
}

/// Takes the order to prepare an open run, with so many stripes.
async fn prepared(agent: &mut FakeAgent, run: &RunId, stripes: usize) {
    let Order::Prepare { share, .. } = agent.order().await else { panic!() };
    assert_eq!(share.stripes.held().len(), stripes);
    agent.report(run, Report::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn case_11_arrivals_of_a_lost_agent_are_unknown_or_missed_until_another_has_them() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    let mut b = FakeAgent::join(&coordinator, 2, "b").await;
    sleep(Duration::from_secs(1)).await;
    b.ping().await;
    let run = coordinator.start_run(new_run("rate: 20/s\nduration: 30s\ntolerate: 20%")).await.unwrap();
    prepared(&mut b, &run, 1260).await;
    assert!(matches!(b.order().await, Order::Start { .. }));
    // Agent b reports its first second, and is not heard of any more.
    sleep(Duration::from_millis(1_200)).await;
    b.deliver(&run, 1, open_window(0, Part::Measured, (9, 1), 1), false).await;
    let RunDocument { progress, log, .. } = outcome(&coordinator, &run).await;
    let accounts = progress.accounts;
    assert_eq!(accounts.planned, Some(600));
    assert_eq!((accounts.started + accounts.missed, progress.account_faults), (580, Vec::new()));
    // Its last lease ended three seconds after the start, since it never pinged again; two seconds later at most the other
    // has its part.
    assert_eq!(accounts.unknown, 20);
    assert!((1..=21).contains(&accounts.missed), "{}", progress.sentence);
    assert!(progress.incomplete && progress.verdict == Some(Verdict::None), "{}", progress.sentence);
    let balance = format!("{} started + {} missed + 20 unknown = 600", accounts.started, accounts.missed);
    assert!(progress.sentence.contains(&balance), "{}", progress.sentence);
    let unknown: Vec<_> = progress.agents.iter().map(|agent| agent.unknown).collect();
    assert_eq!(unknown, [Some(0), Some(20)]);
    assert!(log.iter().any(|line| line.level == "warn" && line.text.contains("agent b was lost")), "{log:?}");
    let ticks = ticks(&coordinator, &run);
    let gist = |second: usize| (ticks[second].iterations, ticks[second].missed, ticks[second].planned);
    assert_eq!((gist(0), gist(2), gist(29)), ((19, 1, Some(20.0)), (10, 0, Some(20.0)), (20, 0, Some(20.0))));
    let parts: Vec<_> = progress.agents.iter().map(|agent| agent.part).collect();
    assert_eq!(parts, [1.0, 0.0]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_drifts_is_told_by_how_much() {
    let coordinator = coordinator();
    let mut a = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 60s")).await.unwrap();
    a.prepare(&run).await;
    let drift = async || coordinator.document(&run).await.unwrap().progress.agents[0].drift_ms;
    assert_eq!(drift().await, None, "the run hasn't begun");
    for (faster_ns, expected) in [(0, 0.0), (250_000, 0.25)] {
        a.ahead_ns += faster_ns;
        for _ in 0..10 {
            sleep(Duration::from_millis(200)).await;
            a.ping().await;
        }
        assert_eq!(drift().await, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_know_is_null_and_not_zero() {
    let coordinator = coordinator();
    let mut a = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 60s")).await.unwrap();
    a.prepare(&run).await;
    assert!(matches!(a.order().await, Order::Start { .. }));
    let document = outcome(&coordinator, &run).await;
    let json = serde_json::to_value(&document).unwrap();
    assert_eq!(
        (&json["whole"]["unknown"], &json["agents"][0]["unknown"]),
        (&None::<u64>.into(), &None::<u64>.into())
    );
    assert_eq!(json["agents"][0]["incarnation"], "0000000000000001");
    assert_eq!(json["agents"][0]["share"], "1 user");
}
