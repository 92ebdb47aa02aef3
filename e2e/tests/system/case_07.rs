//! Case 7: a target that stalls for two seconds shows in the latency of everything that was due meanwhile.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use volley_e2e::{Fleet, Reply, Report, Server};

use crate::accounts::check_target;
use crate::play;

/// Answers after 1 ms, but holds all answers from 5 s to 7 s after the first request.
fn stalling() -> Server {
    let begun = OnceLock::new();
    Server::start(move |_| {
        let since = begun.get_or_init(Instant::now).elapsed();
        let stalled = (Duration::from_secs(5)..Duration::from_secs(7)).contains(&since);
        let held = if stalled { Duration::from_secs(7) - since } else { Duration::ZERO };
        Reply::ok("hello").after(held + Duration::from_millis(1))
    })
}

fn check(connections: u32) {
    let (fleet, server) = (Fleet::start(1), stalling());
    let load = format!("rate: 100/s\nduration: 10s\nconnections: {connections}\n");
    let report = play(&fleet.api(), 1, &format!("target: {}\n{load}", server.url("/")));
    check_target(&report, &server);
    assert_eq!((report.count("ok"), server.requests()), (1000, 1000), "{report:?}");
    assert!(server.connections() <= u64::from(connections), "{} connections", server.connections());
    let is_near = |ms: Option<f64>, least: f64, most: f64| {
        assert!(
            ms.is_some_and(|ms| (least..most).contains(&ms)),
            "{ms:?} is not {least} to {most}: {report:?}"
        );
    };
    is_near(report.percentile_ms("50"), 1.0, 30.0);
    is_near(report.percentile_ms("90"), 900.0, 1_150.0);
    is_near(report.percentile_ms("99"), 1_800.0, 2_050.0);
    is_near(report.percentile_ms("100"), 1_900.0, 2_200.0);
    is_near(report.document()["whole"]["latency_mean_ms"].as_f64(), 170.0, 260.0);
    is_near(service_ms(&report, "100"), 1_000.0, 2_200.0);
}

fn service_ms(report: &Report, percent: &str) -> Option<f64> {
    report.document()["whole"]["service_ms"][percent].as_f64()
}

#[test]
fn case_07_coordinated_omission_with_many_connections() {
    check(250);
}

#[test]
fn case_07_coordinated_omission_with_ten_connections() {
    check(10);
}
