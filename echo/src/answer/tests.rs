//! Paths and queries, and the answers that they ask for.

use super::*;

fn check(path: &str, query: &str, expected: &Answer) {
    assert_eq!(Answer::of(path, query), *expected, "{path}?{query}");
}

fn check_refused(path: &str, query: &str, reason: &str) {
    let answer = Answer::of(path, query);
    assert_eq!(answer.status, 400, "{path}?{query}");
    assert_eq!(answer.body, Body::Problem(format!("{reason}\n")), "{path}?{query}");
}

fn with(change: impl FnOnce(&mut Answer)) -> Answer {
    let mut answer = Answer::default();
    change(&mut answer);
    answer
}

#[test]
fn paths_ask_for_answers() {
    for path in ["/", "/static", "/item/17", "/bytes", "/a/bytes/5", "*", "//"] {
        check(path, "", &Answer::default());
    }
    check("/bytes/0", "", &with(|answer| answer.body = Body::Fill(0)));
    check("/bytes/1073741824", "", &with(|answer| answer.body = Body::Fill(1 << 30)));
    check("/delay/1m30s", "", &with(|answer| answer.delay = Duration::from_secs(90)));
    check("/status/404", "", &with(|answer| answer.status = 404));
    check("/counter", "", &with(|answer| answer.body = Body::Counter));
    check("/echo", "", &with(|answer| answer.body = Body::Echo));
    check("/close", "", &with(|answer| answer.close = true));
    check("/fail/100", "", &with(|answer| answer.fail_percent = 100));
    check("/fault/cut-reset", "", &with(|answer| answer.fault = Some(Fault::CutReset)));
    let chunked = with(|answer| {
        answer.body = Body::Fill(7);
        answer.framing = Framing::Chunked;
    });
    check("/chunked/7", "", &chunked);
}

#[test]
fn queries_add_to_paths() {
    let three = with(|answer| {
        answer.delay = Duration::from_millis(20);
        answer.status = 503;
        answer.body = Body::Fill(100);
    });
    check("/any", "delay=20ms&status=503&bytes=100", &three);
    check("/status/404", "status=201", &with(|answer| answer.status = 201));
    check("/", "page=3&&x&=&status=500", &with(|answer| answer.status = 500));
    let slow_echo = with(|answer| {
        answer.body = Body::Echo;
        answer.delay = Duration::from_secs(1);
    });
    check("/echo", "delay=1s", &slow_echo);
    let later = with(|answer| {
        answer.delay = Duration::from_secs(1);
        answer.delay_from = 1000;
    });
    check("/", "delay=1s&delay-from=1000", &later);
    check(
        "/",
        "chunk=3&framing=bare",
        &with(|answer| (answer.chunk_bytes, answer.framing) = (3, Framing::Bare)),
    );
}

#[test]
fn refuses_values_that_cannot_be() {
    check_refused("/bytes/x", "", "`bytes` wants a number up to 1073741824, not `x`");
    check_refused("/bytes/1073741825", "", "`bytes` wants a number up to 1073741824, not `1073741825`");
    check_refused("/bytes/5/6", "", "`bytes` wants a number up to 1073741824, not `5/6`");
    check_refused("/bytes/+5", "", "`bytes` wants a number up to 1073741824, not `+5`");
    check_refused("/status/199", "", "`status` wants a number from 200 to 599, not `199`");
    check_refused("/status/600", "", "`status` wants a number from 200 to 599, not `600`");
    check_refused("/", "fail=101", "`fail` wants a percentage from 0 to 100, not `101`");
    check_refused("/", "delay=5", "`delay` wants a duration such as 250ms, at most 1h, not `5`");
    check_refused("/", "delay=61m", "`delay` wants a duration such as 250ms, at most 1h, not `61m`");
    check_refused("/", "chunk=0", "`chunk` wants a number from 1 to 65536, not `0`");
    check_refused("/", "framing=x", "`framing` wants one of length, chunked, close, bare, not `x`");
    let faults = "hang, hangup, reset, garbage, cut, cut-reset, close-after";
    check_refused("/", "fault", &format!("`fault` wants one of {faults}, not ``"));
}
