//! What a target saw, held against what was reported.

use volley_e2e::{Report, Server};

/// R = started + re-sent − never sent: for runs without loss, and with nothing cut off while it was written.
pub(crate) fn check_target(report: &Report, server: &Server) {
    let expected = report.count("started") + report.count("resent") - report.count("never_sent");
    assert_eq!(server.requests(), expected, "{report:?}");
}
