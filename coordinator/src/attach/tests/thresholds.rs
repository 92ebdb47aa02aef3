//! Runs that demand something, from their start to their verdict.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use volley_plan::Verdict;

use crate::document::{Progress, Standing};
use crate::testing::{coordinator, new_run, outcome, working_agent};

/// Plays a run on an agent that sends ten requests a second, each of which takes a millisecond.
async fn play(lines: &str) -> Progress {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run(lines)).await.unwrap();
    let document = outcome(&coordinator, &run).await;
    // What is kept says the same.
    let json = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<crate::RunDocument>(&json).unwrap(), document);
    document.progress
}

fn check(progress: &Progress, verdict: Verdict, stop_reason: &str, standings: &[Standing]) {
    let said = &progress.sentence;
    assert_eq!(
        (progress.verdict, progress.stop_reason.as_deref()),
        (Some(verdict), Some(stop_reason)),
        "{said}"
    );
    let told: Vec<_> = progress.thresholds.iter().map(|of| of.standing).collect();
    assert_eq!(told, standings, "{said}");
}

#[tokio::test(start_paused = true)]
async fn thresholds_that_hold_pass_the_run() {
    let lines =
        "users: 1\nduration: 3s\nthresholds: [p99 < 2ms, ok_rate >= 9/s, { expect: errors < 1, over: 2s }]";
    let progress = play(lines).await;
    check(&progress, Verdict::Passed, "duration_over", &[Standing::Holds; 3]);
    assert_eq!(progress.sentence, "Passed: 30 requests in 3 s (10.0 requests/s), 0 failed, p99 1.00 ms.");
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_hold_fails_it_with_its_number() {
    let progress = play("users: 1\nduration: 3s\nthresholds: [p99 < 0.5ms, errors < 1, p50 < 0.9ms]").await;
    let standings = [Standing::Broken, Standing::Holds, Standing::Broken];
    check(&progress, Verdict::Failed, "duration_over", &standings);
    let said = "Failed: p99 was 1.00 ms, the limit is 500 µs, p50 was 1.00 ms, the limit is 900 µs; 30 requests in 3 s";
    assert!(progress.sentence.starts_with(said), "{}", progress.sentence);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_to_stop_the_run_does() {
    let begun = Instant::now();
    let lines = "users: 1\nduration: 60s\nthresholds: [{ expect: ok_rate > 20/s, over: 2s, abort: true }]";
    let progress = play(lines).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    check(&progress, Verdict::Failed, "threshold_broken", &[Standing::Broken]);
    let said = "Failed: ok_rate over 2 s was 10/s, the least is 20/s; stopped by that after 2 s: 30 requests";
    assert!(progress.sentence.starts_with(said), "{}", progress.sentence);
    assert_eq!(progress.account_faults, Vec::<String>::new());
}
