//! Case 45: a coded body is counted as it came, checked as it is meant, and what can't be decoded is a failure.

use volley_e2e::{Reply, Report, Server, volley_run};

use crate::accounts::check_target;

/// `hello world`.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x57\x28\
    \xcf\x2f\xca\x49\x01\x00\x85\x11\x4a\x0d\x0b\x00\x00\x00";

/// Twenty requests whose answers are called gzip and are this; their bodies are checked so.
fn ask(body: &'static [u8], check: &str, exit: i32) -> Report {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len());
    let server = Server::start(move |_| Reply::raw([head.as_bytes(), body].concat()));
    let folder = tempfile::tempdir().expect("a folder");
    let url = server.url("/");
    let plan = format!("target: {url}\nusers: 2\nrequests: 20\ncheck: {{ body: {{ {check} }} }}\n");
    let report = Report::new(volley_run(&plan, folder.path()).exited(exit).json()).checked();
    check_target(&report, &server);
    assert_eq!(
        (report.statuses(200), report.count("body_bytes")),
        (20, 20 * body.len() as u64),
        "{report:?}"
    );
    report
}

#[test]
fn case_45_gzip_is_counted_coded_and_checked_decoded() {
    for check in ["bytes: 11", "is: hello world", "contains: o w"] {
        let report = ask(GZIP, check, 0);
        assert_eq!((report.count("ok"), report.count("failed")), (20, 0), "{report:?}");
    }
    let coded_length = format!("bytes: {}", GZIP.len());
    assert_eq!(ask(GZIP, &coded_length, 1).errors("check"), 20);
}

#[test]
fn case_45_plain_text_that_is_called_gzip() {
    let report = ask(b"hello world", "bytes: 11", 1);
    assert_eq!((report.count("ok"), report.errors("decode")), (0, 20), "{report:?}");
}
