//! Checks: what is wrong with an answer that came whole, and what its connection is good for after that.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use volley_plan::{BodyCheck, Check, Statuses};
use volley_stats::ErrorKind;

use crate::run::{Report, first, plan, run};
use crate::target::Target;

/// Twenty requests of four users, each answered with these bytes. All are answered on four connections at most,
/// whatever the check says.
async fn checked_by(method: &str, check: Check, answer: Vec<u8>) -> Report {
    let target = Target::new(move |peer| {
        while peer.request().is_some() {
            if peer.stream.write_all(&answer).is_err() {
                return;
            }
        }
    });
    let rest = format!("users: 4, requests: 20, method: {method}, timeout: 10s");
    let mut plan = plan(target.address, &rest);
    first(&mut plan).check = check;
    let report = run(plan, 2).await;
    let seen = target.seen();
    assert_eq!((report.counters().started, seen.requests()), (20, 20));
    assert!(seen.connections() <= 4, "{} connections", seen.connections());
    assert_eq!(report.counters().statuses.total(), 20);
    report
}

async fn checked(check: Check, answer: Vec<u8>) -> Report {
    checked_by("GET", check, answer).await
}

fn of_status(ranges: &[std::ops::RangeInclusive<u16>]) -> Check {
    Check { status: Statuses::new(ranges.to_vec()), body: None }
}

fn of_body(body: BodyCheck) -> Check {
    Check { body: Some(body), ..Check::default() }
}

fn contains(text: &str) -> Check {
    of_body(BodyCheck::Contains(text.as_bytes().to_vec()))
}

/// An answer with these further lines of its head.
fn answer(status: u16, lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{lines}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// All twenty are ok, or all fail in this way.
fn assert_all(report: &Report, fault: Option<ErrorKind>) {
    let expected = fault.map(|kind| (kind, 20));
    assert_eq!(report.errors(), expected.into_iter().collect::<Vec<_>>());
    assert_eq!(report.counters().ok, if fault.is_some() { 0 } else { 20 });
}

#[tokio::test]
async fn the_plan_says_which_statuses_are_allowed() {
    for (ranges, status, fault) in [
        (&[][..], 399, None),
        (&[], 400, Some(ErrorKind::Status)),
        (&[404..=404], 404, None),
        (&[404..=404], 200, Some(ErrorKind::Status)),
        (&[200..=299, 500..=599], 503, None),
    ] {
        let report = checked(of_status(ranges), answer(status, "", b"hello")).await;
        assert_all(&report, fault);
        assert_eq!(report.counters().statuses.sorted(), [(status, 20)]);
    }
}

#[tokio::test]
async fn a_body_is_held_against_what_it_must_be() {
    for (check, fault) in [
        (of_body(BodyCheck::Is(b"hello".to_vec())), None),
        (of_body(BodyCheck::Is(b"hell".to_vec())), Some(ErrorKind::Check)),
        (contains("ell"), None),
        (contains("elk"), Some(ErrorKind::Check)),
        (of_body(BodyCheck::Bytes(5)), None),
        (of_body(BodyCheck::Bytes(6)), Some(ErrorKind::Check)),
    ] {
        assert_all(&checked(check, answer(200, "", b"hello")).await, fault);
    }
    let chunked =
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n".to_vec();
    assert_all(&checked(of_body(BodyCheck::Is(b"hello".to_vec())), chunked).await, None);
}

#[tokio::test]
async fn the_status_goes_before_the_body() {
    let report = checked(contains("elk"), answer(500, "Content-Encoding: gzip\r\n", b"hello")).await;
    assert_all(&report, Some(ErrorKind::Status));
}

#[tokio::test]
async fn case_45_a_body_is_decoded_for_its_check_and_counted_as_it_came() {
    let body = gzip(b"hello world");
    let coded = answer(200, "Content-Encoding: gzip\r\n", &body);
    for check in
        [of_body(BodyCheck::Bytes(11)), of_body(BodyCheck::Is(b"hello world".to_vec())), contains("o w")]
    {
        let report = checked(check, coded.clone()).await;
        assert_all(&report, None);
        assert_eq!(report.counters().body_bytes, 20 * body.len() as u64);
    }
    let mislabelled = answer(200, "Content-Encoding: gzip\r\n", b"hello world");
    let report = checked(of_body(BodyCheck::Bytes(11)), mislabelled.clone()).await;
    assert_all(&report, Some(ErrorKind::Decode));
    assert_eq!(report.counters().statuses.sorted(), [(200, 20)]);
    assert_eq!(report.counters().body_bytes, 20 * 11);
    // Nobody looks at the body: its coding is nobody's business.
    assert_all(&checked(Check::default(), mislabelled).await, None);
}

#[tokio::test]
async fn a_coding_that_is_not_known_cannot_be_undone() {
    let coded = answer(200, "Content-Encoding: compress\r\n", b"hello");
    assert_all(&checked(contains("ell"), coded.clone()).await, Some(ErrorKind::Decode));
    assert_all(&checked(Check::default(), coded).await, None);
}

#[tokio::test]
async fn an_answer_without_a_body_has_nothing_to_decode() {
    let empty = of_body(BodyCheck::Bytes(0));
    let head = b"HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: 31\r\n\r\n".to_vec();
    assert_all(&checked_by("HEAD", empty.clone(), head).await, None);
    let none = b"HTTP/1.1 204 X\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    assert_all(&checked(empty.clone(), none).await, None);
    assert_all(&checked(empty, answer(200, "Content-Encoding: gzip\r\n", b"")).await, None);
}

#[tokio::test]
async fn a_body_too_large_to_be_looked_at_fails_its_check_and_may_still_be_counted() {
    const BYTES: usize = (16 << 20) + 1;
    let mut body = vec![b'y'; BYTES];
    body[..5].copy_from_slice(b"hello");
    let fits = answer(200, "", &body[..BYTES - 1]);
    assert_all(&checked(contains("hello"), fits).await, None);
    let large = answer(200, "", &body);
    assert_all(&checked(contains("hello"), large.clone()).await, Some(ErrorKind::Check));
    assert_all(&checked(of_body(BodyCheck::Bytes(BYTES as u64)), large).await, None);
    let bomb = answer(200, "Content-Encoding: gzip\r\n", &gzip(&vec![0; (64 << 20) + 1]));
    assert_all(&checked(of_body(BodyCheck::Bytes((64 << 20) + 1)), bomb).await, Some(ErrorKind::Check));
}
