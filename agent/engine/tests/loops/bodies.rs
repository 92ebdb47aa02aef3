//! Bodies of requests: streamed from files and from nothing, asked about first, and answered before they are sent.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use volley_engine::Event;
use volley_plan::{Body, FileName, Plan};
use volley_stats::ErrorKind;

use crate::run::{FOR_EVER, Report, Run, first, plan, run};
use crate::target::{Peer, Target};

const MIB: usize = 1 << 20;

/// A plan that sends this body so many times, by four users.
fn sending(target: &Target, requests: u32, body: Body) -> Plan {
    let rest = format!("users: 4, requests: {requests}, method: PUT, timeout: 30s");
    let mut plan = plan(target.address, &rest);
    first(&mut plan).body = body;
    plan
}

/// A folder with a file `body` of this content.
fn folder(content: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join("body")).unwrap().write_all(content).unwrap();
    folder
}

fn file() -> Body {
    Body::File(FileName::parse("body").unwrap())
}

async fn ready_with_files(plan: Plan, folder: &TempDir) -> Run {
    let mut run = Run::launch_with_files(plan, 2, Some(folder.path().to_owned()));
    assert_eq!(run.event().await, Event::Ready);
    run
}

async fn run_with_files(plan: Plan, folder: &TempDir) -> Report {
    let mut run = ready_with_files(plan, folder).await;
    run.start(FOR_EVER);
    run.finish().await
}

/// A target that answers each request once it has all of it, and counts the bytes that aren't the expected one of their place.
fn comparing(expected: fn(usize) -> u8) -> (Target, Arc<AtomicU64>) {
    let wrong = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&wrong);
    let target = Target::new(move |peer| {
        loop {
            let mut at = 0;
            let whole = peer.streamed(|piece| {
                let others = piece.iter().zip(at..).filter(|&(&byte, at)| byte != expected(at));
                counted.fetch_add(others.count() as u64, Ordering::SeqCst);
                at += piece.len();
            });
            if whole.and_then(|_| peer.hello()).is_none() {
                return;
            }
        }
    });
    (target, wrong)
}

/// Twenty bodies of three MiB came as they should.
fn check(report: &Report, target: &Target, wrong: &AtomicU64, bytes: usize) {
    let counters = report.counters();
    assert_eq!((counters.ok, target.seen().requests()), (20, 20));
    assert!(target.seen().connections() <= 4);
    assert_eq!(wrong.load(Ordering::SeqCst), 0);
    let heads = counters.bytes_sent - 20 * bytes as u64;
    assert!((20 * 80..20 * 200).contains(&heads), "{heads} bytes of heads");
}

#[tokio::test]
async fn a_file_is_sent_to_the_byte() {
    let byte = |at: usize| (at ^ (at >> 8) ^ (at >> 16)) as u8;
    let (target, wrong) = comparing(byte);
    let content: Vec<u8> = (0..3 * MIB + 17).map(byte).collect();
    let report = run_with_files(sending(&target, 20, file()), &folder(&content)).await;
    check(&report, &target, &wrong, content.len());
}

#[tokio::test]
async fn filling_is_sent_to_the_byte() {
    let (target, wrong) = comparing(|_| b'x');
    let report = run(sending(&target, 20, Body::Filled(3 * MIB as u64 + 17)), 2).await;
    check(&report, &target, &wrong, 3 * MIB + 17);
}

#[tokio::test]
async fn an_empty_file_is_an_empty_body() {
    let (target, wrong) = comparing(|_| 0);
    let report = run_with_files(sending(&target, 20, file()), &folder(b"")).await;
    check(&report, &target, &wrong, 0);
}

/// The most memory that this process had in use, in bytes.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn bodies_of_a_hundred_mib_are_never_in_memory() {
    let target = Target::new(|peer| while peer.streamed(|_| ()).and_then(|_| peer.hello()).is_some() {});
    let folder = folder(b"");
    File::options().write(true).open(folder.path().join("body")).unwrap().set_len(100 << 20).unwrap();
    let before = peak_bytes();
    for body in [file(), Body::Filled(100 << 20)] {
        let report = run_with_files(sending(&target, 8, body), &folder).await;
        assert_eq!((report.counters().ok, report.errors()), (8, vec![]));
        assert!(report.counters().bytes_sent > 8 * (100 << 20));
    }
    let grown = peak_bytes() - before;
    assert!(grown < 64 * MIB, "{} MiB more", grown / MIB);
}

#[tokio::test]
async fn a_file_that_got_shorter_fails_its_requests_and_their_connections() {
    let target = Target::new(|peer| while peer.streamed(|_| ()).and_then(|_| peer.hello()).is_some() {});
    let folder = folder(&[7; 300_000]);
    let mut run = ready_with_files(sending(&target, 20, file()), &folder).await;
    File::options().write(true).open(folder.path().join("body")).unwrap().set_len(200_000).unwrap();
    run.start(FOR_EVER);
    let report = run.finish().await;
    assert_eq!(report.errors(), [(ErrorKind::Write, 20)]);
    let seen = target.seen_at_end();
    assert_eq!((report.counters().resent, seen.connections(), seen.requests()), (0, 20, 0));
}

/// Twenty requests that ask before they send a body, and wait so long for leave.
async fn asking(wait: Duration, serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> (Report, Target) {
    let target = Target::new(serve);
    let mut plan = sending(&target, 20, Body::Filled(100_000));
    first(&mut plan).ask_first = Some(wait);
    (run(plan, 2).await, target)
}

#[tokio::test]
async fn a_body_waits_for_leave_and_goes_with_it() {
    let (report, target) = asking(Duration::from_secs(20), |peer| {
        while peer.head().is_some() {
            if !peer.is_silent_for(Duration::from_millis(20)) {
                return;
            }
            peer.say("HTTP/1.1 100 Continue\r\n\r\n");
            if peer.streamed(|_| ()).and_then(|_| peer.hello()).is_none() {
                return;
            }
        }
    })
    .await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.failed, target.seen().requests()), (20, 0, 20));
    assert_eq!(counters.statuses.sorted(), [(200, 20)]);
    assert!(target.seen().connections() <= 4);
    assert!(report.total.latency.min_ns().unwrap() >= 20_000_000);
}

#[tokio::test]
async fn a_body_goes_without_leave_when_the_wait_is_over() {
    let (report, target) = asking(Duration::from_millis(50), |peer| {
        while peer.streamed(|_| ()).and_then(|_| peer.hello()).is_some() {}
    })
    .await;
    assert_eq!((report.counters().ok, target.seen().requests()), (20, 20));
    assert!(target.seen().connections() <= 4);
    let (min_ns, p50_ns) =
        (report.total.latency.min_ns().unwrap(), report.total.latency.percentile_ns(50.0).unwrap());
    assert!(min_ns >= 50_000_000 && p50_ns < 100_000_000, "{min_ns}, {p50_ns}");
}

/// Each request is answered so instead of with leave: its body is never sent, and its connection carries no other.
async fn turned_away(answer: &'static str) -> Report {
    let (report, target) = asking(Duration::from_secs(20), move |peer| {
        if peer.head().is_some() {
            peer.say(answer);
            peer.drain();
        }
    })
    .await;
    let counters = report.counters();
    assert_eq!((counters.started, target.seen().connections(), target.seen().requests()), (20, 20, 0));
    assert!(counters.bytes_sent < 20 * 300, "{} bytes sent", counters.bytes_sent);
    report
}

#[tokio::test]
async fn a_final_answer_in_place_of_leave_ends_the_request() {
    let report = turned_away("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(report.errors(), [(ErrorKind::Status, 20)]);
    assert_eq!(report.counters().statuses.sorted(), [(417, 20)]);
    let report = turned_away("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert_eq!((report.counters().ok, report.errors()), (20, vec![]));
}

/// The answer's head alone turns the body away, however long the rest of the answer takes.
#[tokio::test]
async fn case_43_sending_stops_as_soon_as_the_body_is_turned_away() {
    let read = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&read);
    let target = Target::new(move |peer| {
        if peer.head().is_some() {
            peer.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\n");
            peer.stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            peer.streamed(|piece| {
                counted.fetch_add(piece.len() as u64, Ordering::SeqCst);
            });
            peer.say("hello");
        }
    });
    let report = run(sending(&target, 4, Body::Filled(8 << 30)), 2).await;
    assert_eq!(report.errors(), [(ErrorKind::Status, 4)]);
    assert_eq!((report.counters().body_bytes, target.seen().connections()), (20, 4));
    assert!(read.load(Ordering::SeqCst) < 1 << 30);
}
