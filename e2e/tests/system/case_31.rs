//! Case 31: the warm-up is measured and kept apart, and time counts from the start, not from the wait for agents. The
//! numbers of the case itself are in `soak.rs`.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use volley_e2e::{Coordinator, Reply, Report, Server};

/// Seconds of the case: until the agent comes, of the warm-up, and measured.
pub(crate) struct Seconds {
    pub(crate) wait: u64,
    pub(crate) warmup: u64,
    pub(crate) measured: u64,
}

/// 20/s against a target that takes 200 ms in the warm-up and 10 ms after it.
pub(crate) fn warm_up(seconds: &Seconds) -> Report {
    let coordinator = Coordinator::start();
    let begun = OnceLock::new();
    let warmup = Duration::from_secs(seconds.warmup);
    let server = Server::start(move |_| {
        // A request of the warm-up that is a little late is one of the measured part for nobody but this server.
        let is_warmup = begun.get_or_init(Instant::now).elapsed() + Duration::from_millis(25) < warmup;
        Reply::ok("hello").after(Duration::from_millis(if is_warmup { 200 } else { 10 }))
    });
    let plan = format!(
        "target: {}\nrate: 20/s\nwarmup: {}s\nduration: {}s\nagents: {{ min: 1, wait: 60s }}\n",
        server.url("/"),
        seconds.warmup,
        seconds.measured
    );
    let id = coordinator.api().start(&plan);
    // The wait itself is what this is about.
    std::thread::sleep(Duration::from_secs(seconds.wait));
    let _agent = coordinator.agent("late");
    let report = coordinator.api().finished(&id).checked();
    let (warm, measured) = (20 * seconds.warmup, 20 * seconds.measured);
    assert_eq!(server.requests(), warm + measured, "{report:?}");
    assert_eq!(report.document()["warmup"]["ok"].as_u64(), Some(warm), "{report:?}");
    assert_eq!((report.count("started"), report.count("ok")), (measured, measured), "{report:?}");
    let elapsed_s = report.document()["elapsed_s"].as_f64().expect("a time");
    assert!((elapsed_s - seconds.measured as f64).abs() < 0.1, "{elapsed_s}: {report:?}");
    let rate = report.document()["whole"]["rate"].as_f64().expect("a rate");
    assert!((rate - 20.0).abs() < 0.5, "{rate}: {report:?}");
    report
}

#[test]
fn case_31_the_warm_up_is_kept_apart() {
    let report = warm_up(&Seconds { wait: 2, warmup: 2, measured: 4 });
    // No answer of the warm-up's 200 ms is among the measured ones.
    let p90 = report.percentile_ms("90").expect("a percentile");
    assert!((10.0..100.0).contains(&p90), "{report:?}");
}
