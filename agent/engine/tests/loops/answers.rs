//! Answers: each outcome is told apart, and counted once.

use volley_plan::{Body, Step};
use volley_stats::ErrorKind;

use crate::run::{Report, plan, run};
use crate::target::{Peer, Target};

/// Twenty requests of four users to a target that does this with each connection.
async fn answered(rest: &str, serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> (Report, Target) {
    let target = Target::new(serve);
    let plan = plan(target.address, &format!("users: 4, requests: 20, timeout: 5s{rest}"));
    (run(plan, 2).await, target)
}

/// All twenty end in this kind, and the target saw each whole, once.
async fn check(kind: ErrorKind, serve: impl Fn(&mut Peer) + Send + Sync + 'static) {
    let (report, target) = answered("", serve).await;
    assert_eq!(report.errors(), [(kind, 20)]);
    assert_eq!((target.seen().requests(), report.counters().resent), (20, 0));
}

#[tokio::test]
async fn case_04_a_body_that_ends_by_close_is_whole() {
    for head in ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"] {
        let (report, target) = answered("", move |peer| {
            peer.request().and_then(|_| peer.say(head)).and_then(|()| peer.say("hello"));
        })
        .await;
        let counters = report.counters();
        assert_eq!((counters.ok, counters.body_bytes, target.seen().connections()), (20, 100, 20));
    }
}

#[tokio::test]
async fn case_04_a_short_body_is_truncated() {
    check(ErrorKind::Truncated, |peer| {
        peer.request().and_then(|_| peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"));
    })
    .await;
    check(ErrorKind::Truncated, |peer| {
        peer.request().and_then(|_| peer.say("HTTP/1.1 200 OK\r\nConte"));
    })
    .await;
}

#[tokio::test]
async fn case_04_a_reset_is_a_reset_inside_the_body_and_before_it() {
    check(ErrorKind::Reset, |peer| {
        if peer.request().and_then(|_| peer.say("HTTP/1.0 200 OK\r\n\r\nhello")).is_some() {
            peer.reset();
        }
    })
    .await;
    check(ErrorKind::Reset, |peer| {
        if peer.request().is_some() {
            peer.reset();
        }
    })
    .await;
}

#[tokio::test]
async fn garbage_is_a_protocol_error() {
    check(ErrorKind::Protocol, |peer| {
        peer.request().and_then(|_| peer.say("SSH-2.0-OpenSSH_9.2p1\r\n"));
        peer.drain();
    })
    .await;
}

#[tokio::test]
async fn case_25_a_status_of_400_and_above_is_a_failure_with_a_latency_of_its_own() {
    let target = Target::new(|peer| {
        for status in [200, 302, 404, 503].into_iter().cycle() {
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nno");
            if peer.request().and_then(|_| peer.say(&answer)).is_none() {
                return;
            }
        }
    });
    let report = run(plan(target.address, "users: 1, requests: 40"), 1).await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.failed, counters.body_bytes), (20, 20, 80));
    assert_eq!(report.errors(), [(ErrorKind::Status, 20)]);
    assert_eq!(counters.statuses.sorted(), [(200, 10), (302, 10), (404, 10), (503, 10)]);
    assert_eq!(target.seen().connections(), 1);
}

#[tokio::test]
async fn case_23_interim_answers_are_passed_over() {
    let (report, target) = answered("", |peer| {
        while peer.request().is_some() {
            peer.say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
            peer.hello();
        }
    })
    .await;
    assert_eq!((report.counters().ok, target.seen().requests()), (20, 20));
    assert_eq!(report.counters().statuses.sorted(), [(200, 20)]);
}

#[tokio::test]
async fn an_answer_may_come_byte_by_byte_and_in_chunks() {
    let (report, target) = answered("", |peer| {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        while peer.request().is_some() {
            answer.chars().try_for_each(|c| peer.say(&c.to_string()));
        }
    })
    .await;
    assert_eq!((report.counters().ok, report.counters().body_bytes), (20, 100));
    assert_eq!(target.seen().connections(), 4);
}

#[tokio::test]
async fn bytes_that_nobody_asked_for_end_the_connection_and_fail_nothing() {
    let (report, target) = answered("", |peer| {
        peer.request().and_then(|_| peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore"));
        peer.drain();
    })
    .await;
    assert_eq!((report.counters().ok, target.seen().connections()), (20, 20));
}

/// A plan with a body of this size.
async fn posted(bytes: usize, serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> (Report, Target) {
    let target = Target::new(serve);
    let mut plan = plan(target.address, "users: 4, requests: 20, method: POST, timeout: 10s");
    let Step::Request(request) = &mut plan.scenarios[0].steps[0] else { panic!("no request") };
    request.body = Body::Inline(vec![b'x'; bytes]);
    (run(plan, 2).await, target)
}

#[tokio::test]
async fn large_requests_and_large_answers_pass_each_other() {
    const BYTES: usize = 8 << 20;
    // The target answers before it reads the body, so each side would wait for the other to read first.
    let (report, _target) = posted(BYTES, |peer| {
        while peer.head().is_some() {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
            if peer.say(&head).and_then(|()| peer.say(&"y".repeat(BYTES - 1))).is_none() {
                return;
            }
            if peer.request().is_none() || peer.say("y").is_none() {
                return;
            }
        }
    })
    .await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.body_bytes, counters.connections_opened), (20, 20 * BYTES as u64, 4));
    assert!(counters.bytes_sent > 20 * BYTES as u64 && counters.bytes_received > 20 * BYTES as u64);
}

#[tokio::test]
async fn case_43_an_early_answer_counts_and_its_connection_is_not_used_again() {
    let (report, target) = posted(10 << 20, |peer| {
        if peer.head().is_some() {
            peer.say("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            peer.half_close();
            peer.drain();
        }
    })
    .await;
    assert_eq!(report.errors(), [(ErrorKind::Status, 20)]);
    assert_eq!(report.counters().statuses.sorted(), [(413, 20)]);
    assert_eq!(target.seen().connections(), 20);
}

/// Where the target keeps the connection open, it serves again only if the whole request had gone out before its answer.
#[tokio::test]
async fn case_43_an_early_answer_on_a_connection_that_is_kept() {
    let (report, target) = posted(10 << 20, |peer| {
        while peer.head().is_some() {
            peer.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
            if peer.request().is_none() {
                return;
            }
        }
    })
    .await;
    assert_eq!(report.errors(), [(ErrorKind::Status, 20)]);
    assert_eq!(report.counters().statuses.sorted(), [(413, 20)]);
    let (connections, whole) = (target.seen().connections(), target.seen().requests());
    assert!(connections + whole >= 20, "{connections} connections, {whole} whole requests");
}

#[tokio::test]
async fn a_target_that_turns_a_large_request_away_without_a_word_is_named_so() {
    let (report, _target) = posted(10 << 20, |peer| peer.reset()).await;
    assert_eq!(report.counters().failed, 20);
    for (kind, _) in report.errors() {
        assert!(matches!(kind, ErrorKind::Reset | ErrorKind::Write), "{kind:?}");
    }
}

#[tokio::test]
async fn case_43_an_early_answer_with_a_reset_is_the_answer_or_a_reset() {
    let (report, _target) = posted(10 << 20, |peer| {
        if peer.head().is_some() {
            peer.say("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            peer.reset();
        }
    })
    .await;
    assert_eq!(report.counters().failed, 20);
    for (kind, _) in report.errors() {
        assert!(matches!(kind, ErrorKind::Status | ErrorKind::Reset), "{kind:?}");
    }
}

/// Answers of this size in pieces of that; `more` comes with the last one, and nobody asked for it.
async fn large(chunked: bool, bytes: usize, piece: usize, more: &'static str) -> (Report, Target) {
    let head =
        if chunked { "Transfer-Encoding: chunked".to_owned() } else { format!("Content-Length: {bytes}") };
    answered("", move |peer| {
        while peer.request().is_some() {
            let mut said = peer.say(&format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n"));
            for start in (0..bytes).step_by(piece) {
                let body = "y".repeat(piece.min(bytes - start));
                let body = if chunked { format!("{:x}\r\n{body}\r\n", body.len()) } else { body };
                let end = match start + piece < bytes {
                    true => "",
                    false if chunked => "0\r\n\r\n",
                    false => more,
                };
                said = said.and_then(|()| peer.say(&(body + end)));
            }
            if said.is_none() {
                return;
            }
        }
    })
    .await
}

#[tokio::test]
async fn large_bodies_that_nobody_looks_at_are_counted_to_the_byte() {
    for (chunked, piece) in [(false, 50_000), (false, 900_000), (true, 200_000), (true, 1_500_000)] {
        let (report, target) = large(chunked, 3_000_000, piece, "").await;
        let counters = report.counters();
        assert_eq!((counters.ok, counters.body_bytes, target.seen().connections()), (20, 60_000_000, 4));
        let framing = 20 * if chunked { 50 } else { 40 };
        assert!(counters.bytes_received - 60_000_000 >= framing, "{}", counters.bytes_received);
    }
}

#[tokio::test]
async fn bytes_behind_a_large_body_end_the_connection() {
    let (report, target) = large(false, 1_000_000, 1_000_000, "more").await;
    assert_eq!((report.counters().ok, report.counters().body_bytes), (20, 20_000_000));
    assert_eq!(target.seen().connections(), 20);
}

#[tokio::test]
async fn case_04_a_large_body_cut_short_is_truncated() {
    check(ErrorKind::Truncated, |peer| {
        if peer.request().is_some() {
            peer.say(&format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{}", "y".repeat(700_000)));
        }
    })
    .await;
}

#[tokio::test]
async fn case_04_a_large_body_that_ends_by_close_is_whole() {
    let (report, _target) = answered("", |peer| {
        if peer.request().is_some() {
            peer.say(&format!("HTTP/1.0 200 OK\r\n\r\n{}", "y".repeat(700_000)));
        }
    })
    .await;
    assert_eq!((report.counters().ok, report.counters().body_bytes), (20, 14_000_000));
}
