//! Case 23: interim answers are none of the answers, and the latency is that of the final one.

use volley_e2e::zoo::{Cage, animal};
use volley_e2e::{Report, volley};

const HINT: &str = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";

/// Fifty requests of five users to a target that sends this and 20 ms later its answer.
fn check(interim: String) {
    let folder = tempfile::tempdir().expect("a folder");
    let answers = animal("case 23", move |talk| {
        while talk.request()?.is_some() {
            talk.send(&interim)?;
            talk.pause_ms(20);
            talk.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")?;
        }
        Ok(())
    });
    let cage = Cage::open(&answers, folder.path());
    let url = format!("http://127.0.0.1:{}/", cage.port());
    let report = Report::new(volley(&[&url, "-n", "50", "-c", "5", "--json"]).exited(0).json()).checked();
    assert_eq!((cage.counts().requests(), cage.counts().connections()), (50, 5));
    assert_eq!(
        (report.statuses(200), report.count("ok"), report.count("body_bytes")),
        (50, 50, 250),
        "{report:?}"
    );
    let statuses = report.document()["statuses"].as_array().map(Vec::len);
    assert_eq!(statuses, Some(1), "{report:?}");
    let p50_ms = report.percentile_ms("50");
    assert!(p50_ms.is_some_and(|p50_ms| p50_ms >= 20.0), "{report:?}");
}

#[test]
fn case_23_interim_answers() {
    check(HINT.to_owned());
}

#[test]
fn case_23_two_interim_answers() {
    check(HINT.repeat(2));
}

#[test]
fn case_23_continue_that_nobody_asked_for() {
    check("HTTP/1.1 100 Continue\r\n\r\n".to_owned());
}
