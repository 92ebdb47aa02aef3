//! What the server does wrong on demand. What was not sent whole must count as unanswered.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// How the client sees the connection end.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Closed,
    Reset,
}

/// The fault gives these bytes and this end. A reset may take bytes with it, so there only the end is
/// compared.
async fn check(path: &str, expected: &str, end: Seen, answered: bool) {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    stream.write_all(get(path).as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let seen = match stream.read_to_end(&mut bytes).await {
        Ok(_) => Seen::Closed,
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Seen::Reset,
        Err(error) => panic!("{path}: {error}"),
    };
    assert_eq!(seen, end, "{path}");
    if end == Seen::Closed {
        assert_eq!(String::from_utf8_lossy(&bytes), expected, "{path}");
    }
    let counts = target.stop().await;
    let outcome = (counts.requests, counts.answers(), counts.requests_unanswered);
    assert_eq!(outcome, if answered { (1, 1, 0) } else { (1, 0, 1) }, "{path}");
}

fn half(path_body: &str, body: &str) -> String {
    kept("200 OK", path_body).replace(path_body, body)
}

#[tokio::test]
async fn no_answer() {
    check("/?fault=hangup", "", Seen::Closed, false).await;
    check("/?fault=reset", "", Seen::Reset, false).await;
    check("/?fault=hangup&delay=5ms", "", Seen::Closed, false).await;
    let garbage = "\0\u{16}\u{3} this is no HTTP \u{fffd}\u{fffd}\r\n\r\n";
    check("/?fault=garbage", garbage, Seen::Closed, false).await;
}

#[tokio::test]
async fn half_an_answer() {
    check("/?fault=cut", &half("hello", "he"), Seen::Closed, false).await;
    check("/bytes/10?fault=cut", &half(&"x".repeat(10), "xxxxx"), Seen::Closed, false).await;
    let long = half(&"x".repeat(1_000_001), &"x".repeat(500_000));
    check("/bytes/1000001?fault=cut", &long, Seen::Closed, false).await;
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
                   Transfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n";
    check("/chunked/5?fault=cut", chunked, Seen::Closed, false).await;
    check("/bytes/100000?fault=cut-reset", "", Seen::Reset, false).await;
}

#[tokio::test]
async fn half_an_answer_where_half_a_body_would_seem_whole() {
    let head = kept("200 OK", "").trim_end().to_owned() + "\r\n";
    check("/bytes/0?fault=cut", &head, Seen::Closed, false).await;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    check("/?framing=close&fault=cut", head, Seen::Closed, false).await;
}

#[tokio::test]
async fn a_close_that_was_not_announced() {
    check("/?fault=close-after", &kept("200 OK", "hello"), Seen::Closed, true).await;
    check("/counter?fault=close-after", &kept("200 OK", "1"), Seen::Closed, true).await;
}

#[tokio::test]
async fn hang_lasts_until_the_client_closes() {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    stream.write_all((get("/") + &get("/fault/hang")).as_bytes()).await.unwrap();
    // The answer before it still comes.
    expect(&mut stream, &kept("200 OK", "hello")).await;
    let mut byte = [0];
    let silence = tokio::time::timeout(std::time::Duration::from_millis(50), stream.read(&mut byte)).await;
    assert!(silence.is_err(), "neither an answer nor an end may come");
    stream.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut stream).await, b"");
    let counts = target.stop().await;
    assert_eq!((counts.requests, counts.answers(), counts.requests_unanswered), (2, 1, 1));
}
