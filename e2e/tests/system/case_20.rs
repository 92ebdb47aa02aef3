//! Case 20: waiting for the next due time is no latency. The numbers of the case itself are in `soak.rs`.

use std::time::Duration;

use volley_e2e::{Report, volley};

use crate::accounts::check_target;
use crate::case_19::{gaps, timed_server};

/// A fast target at a low rate with many connections allowed; gives the report and the time from first to last.
pub(crate) fn low_rate(rate: u32, n: u64) -> (Report, Duration) {
    let (server, times) = timed_server();
    let (rate, n_words) = (rate.to_string(), n.to_string());
    let arguments = [&server.url("/"), "--rate", &rate, "-c", "100", "-n", &n_words, "--json"];
    let report = Report::new(volley(&arguments).exited(0).json()).checked();
    check_target(&report, &server);
    assert_eq!((report.count("ok"), server.requests()), (n, n), "{report:?}");
    (report, gaps(&times).iter().sum())
}

/// A phase's percentile in milliseconds; `None` where no request had it.
pub(crate) fn phase_ms(report: &Report, phase: &str, percent: &str) -> Option<f64> {
    let phases = report.document()["phases"].as_array()?;
    phases.iter().find(|entry| entry["name"] == phase)?["latency_ms"][percent].as_f64()
}

#[test]
fn case_20_waiting_for_the_due_time_is_no_latency() {
    let (report, span) = low_rate(50, 100);
    // 99 gaps of 20 ms.
    assert!(span.abs_diff(Duration::from_millis(1980)) < Duration::from_millis(150), "{span:?}");
    let p90 = report.percentile_ms("90").expect("a percentile");
    assert!(p90 < 15.0, "{report:?}");
    let connect = phase_ms(&report, "connect", "50").expect("it connected");
    assert!(connect < 15.0, "{report:?}");
}
