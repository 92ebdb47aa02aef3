//! Case 6: percentiles are of what was measured, and of the merged histogram.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use volley_e2e::{Coordinator, Fleet, Reply, Report, Request, Server, volley};

use crate::accounts::check_target;
use crate::play;

#[test]
fn case_06_one_request_is_every_percentile() {
    let server = Server::start(|_| Reply::ok("hello").after(Duration::from_millis(575)));
    let outcome = volley(&[&server.url("/"), "-n", "1", "-c", "1", "--json"]).exited(0);
    let report = Report::new(outcome.json()).checked();
    let max = report.percentile_ms("100").expect("a maximum");
    assert!((575.0..575.0 * 1.01).contains(&max), "{max}");
    for percent in ["50", "90", "95", "99", "99.9"] {
        assert_eq!(report.percentile_ms(percent), Some(max), "p{percent}");
    }
}

/// One agent meets 10 ms answers, the other 1,000 ms ones; an average of their percentiles would be 505 ms.
#[test]
fn case_06_percentiles_are_of_the_merged_histogram() {
    let fleet = Fleet::start(2);
    let slow = fleet.agents[1].id();
    // Looked up once for each connection, since that takes its time.
    let delays_ms = Mutex::new(BTreeMap::new());
    let server = Server::start(move |request| {
        let delay_of = |request: &Request| if request.is_from_process(slow) { 1000 } else { 10 };
        let known = delays_ms.lock().expect("no script panics").get(&request.connection).copied();
        let delay_ms = known.unwrap_or_else(|| delay_of(request));
        delays_ms.lock().expect("no script panics").insert(request.connection, delay_ms);
        Reply::ok("hello").after(Duration::from_millis(delay_ms))
    });
    let plan = format!("target: {}\nusers: 20\nrequests: 1000\n", server.url("/"));
    let report = play(&fleet.api(), 2, &plan);
    check_target(&report, &server);
    assert_eq!(report.count("ok"), 1000);
    for (percent, expected) in [("50", 10.0), ("95", 1000.0), ("99", 1000.0)] {
        let found = report.percentile_ms(percent).expect("a percentile");
        // The target's own lateness on a busy machine is allowed for.
        assert!((expected..expected + 90.0).contains(&found), "p{percent} {found}: {report:?}");
    }
    let slow_part = report.agents().iter().map(|agent| agent["started"].as_u64()).min().flatten();
    assert!(slow_part.is_some_and(|requests| (60..=300).contains(&requests)), "{report:?}");
}

/// The only value is every percentile on the page too, and still is when the store is read by another process.
#[test]
fn case_06_the_store_and_the_page_show_the_same() {
    let server = Server::start(|_| Reply::ok("hello").after(Duration::from_millis(575)));
    let fleet = Fleet::start(1);
    let report = play(&fleet.api(), 1, &format!("target: {}\nusers: 1\nrequests: 1\n", server.url("/")));
    check_target(&report, &server);
    let max = report.percentile_ms("100").expect("a maximum");
    let Fleet { coordinator, agents } = fleet;
    drop(agents);
    let coordinator = Coordinator::start_on(coordinator.kill());
    let again = coordinator.api().run(report.text("id")).checked();
    for percent in ["50", "90", "95", "99", "99.9", "100"] {
        assert_eq!(again.percentile_ms(percent), Some(max), "p{percent}");
    }
    let (status, page) = coordinator.api().ask(&format!("/runs/{}", report.text("id")));
    assert_eq!(status, 200, "{page}");
    // Three digits, as all numbers of its size: the percentiles of the run, of its second and of its step.
    let shown = format!(">{max:.0}<");
    assert!(page.matches(&shown).count() >= 18, "{shown} in {page}");
}
