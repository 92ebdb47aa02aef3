//! Case 25: what a failure is. Through an agent, the store and the page.

use volley_e2e::{Fleet, Reply, Server};

use crate::accounts::check_target;
use crate::play;

#[test]
fn case_25_refused_requests_are_failures() {
    let (fleet, server) = (Fleet::start(1), Server::start(|_| Reply::status(403, "no")));
    let report = play(&fleet.api(), 1, &format!("target: {}\nusers: 5\nrequests: 50\n", server.url("/")));
    check_target(&report, &server);
    let counted = (report.count("ok"), report.count("failed"), report.statuses(403), report.errors("status"));
    assert_eq!(counted, (0, 50, 50, 50), "{report:?}");
    assert_eq!(report.document()["whole"]["error_rate"].as_f64(), Some(1.0));
    assert_eq!(report.text("verdict"), "invalid");
    assert!(report.text("sentence").contains("nothing succeeded"), "{report:?}");
    let (status, page) = fleet.api().ask(&format!("/runs/{}", report.text("id")));
    assert_eq!(status, 200);
    for part in ["nothing succeeded", "403", "100 %"] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn case_25_answers_of_different_lengths_are_no_failures() {
    let fleet = Fleet::start(1);
    // 1 to 100 in an order without a pattern: 37 has no divisor in common with 101.
    let server = Server::start(|request| {
        let place = request.on_connection * 7 + request.connection;
        Reply::ok(&"x".repeat(usize::try_from(place * 37 % 101).unwrap_or(0).clamp(1, 100)))
    });
    let report = play(&fleet.api(), 1, &format!("target: {}\nusers: 4\nrequests: 100\n", server.url("/")));
    check_target(&report, &server);
    assert_eq!(
        (report.count("ok"), report.count("failed"), report.statuses(200)),
        (100, 0, 100),
        "{report:?}"
    );
    assert_eq!(report.text("verdict"), "none", "{report:?}");
}
