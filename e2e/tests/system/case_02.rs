//! Case 2: what is in flight at the end is waited for or cut off, and counted either way.

use std::time::Duration;

use volley_e2e::{Fleet, Reply, Report, Server, volley};

use crate::accounts::check_target;
use crate::play;

fn slow_server() -> Server {
    Server::start(|_| Reply::ok("hello").after(Duration::from_secs(5)))
}

#[test]
fn case_02_without_a_drain_what_is_in_flight_is_cancelled_and_its_age_told() {
    let server = slow_server();
    let outcome = volley(&[&server.url("/"), "-c", "10", "-z", "2s", "--json"]).exited(1);
    let report = Report::new(outcome.json()).checked();
    check_target(&report, &server);
    let counts = ["started", "ok", "failed", "cancelled"].map(|name| report.count(name));
    assert_eq!(counts, [10, 0, 0, 10], "{report:?}");
    assert_eq!(report.percentile_ms("50"), None, "{report:?}");
    assert_eq!(report.document()["errors"], serde_json::json!([]));
    for percent in ["50", "100"] {
        let age_ms = report.document()["whole"]["cancelled_age_ms"][percent].as_f64();
        assert!(
            age_ms.is_some_and(|ms| (1_900.0..2_300.0).contains(&ms)),
            "p{percent} {age_ms:?}: {report:?}"
        );
    }
}

#[test]
fn case_02_with_a_drain_it_is_waited_for() {
    let (fleet, server) = (Fleet::start(1), slow_server());
    let plan = format!("target: {}\nusers: 10\nduration: 2s\ndrain: 10s\n", server.url("/"));
    let report = play(&fleet.api(), 1, &plan);
    check_target(&report, &server);
    assert_eq!((report.count("started"), report.count("ok")), (10, 10), "{report:?}");
    let p50 = report.percentile_ms("50").expect("a median");
    assert!((5_000.0..5_200.0).contains(&p50), "{p50}");
    // Ten answers over the five seconds that it took to get them, not over the two of the plan.
    let rate = report.document()["whole"]["rate"].as_f64().expect("a rate");
    assert!((1.8..2.05).contains(&rate), "{rate}: {report:?}");
}
