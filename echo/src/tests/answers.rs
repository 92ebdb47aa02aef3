//! Each answer by path and query, to the byte.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;

use super::*;

/// One request on a connection of its own is answered by exactly these bytes, and counted so.
async fn check_request(request: &str, expected: &str, status: u16, body_bytes: u64) {
    let target = Target::start().await;
    let answer = target.exchange(request.as_bytes()).await;
    assert_eq!(String::from_utf8_lossy(&answer), expected, "{request}");
    let counts = target.stop().await;
    assert_eq!(counts.connections_accepted, 1, "{request}");
    assert_eq!((counts.requests, counts.status(status)), (1, 1), "{request}");
    assert_eq!(counts.body_bytes_sent, body_bytes, "{request}");
}

/// A GET is answered by this status and this plain body.
async fn check(path: &str, status: &str, body: &str) {
    let code = status[..3].parse().unwrap();
    check_request(&get_close(path), &closed(status, body), code, body.len() as u64).await;
}

#[tokio::test]
async fn plain_answers() {
    check("/", "200 OK", "hello").await;
    check("/static", "200 OK", "hello").await;
    check("/item/12", "200 OK", "hello").await;
    check("/bytes/0", "200 OK", "").await;
    check("/bytes/7", "200 OK", "xxxxxxx").await;
    check("/status/503", "503 Service Unavailable", "hello").await;
    check("/status/299", "299 Status", "hello").await;
    check("/counter", "200 OK", "1").await;
    check("/close", "200 OK", "hello").await;
    check("/fail/0", "200 OK", "hello").await;
    check("/fail/100", "500 Internal Server Error", "hello").await;
    check("/any?status=404&bytes=3", "404 Not Found", "xxx").await;
    check("/bytes/x", "400 Bad Request", "`bytes` wants a number up to 1073741824, not `x`\n").await;
}

#[tokio::test]
async fn answers_without_a_body() {
    let expected = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    check_request(&get_close("/status/204"), expected, 204, 0).await;
    let expected = "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n";
    check_request(&get_close("/status/304?bytes=99999"), expected, 304, 0).await;
}

#[tokio::test]
async fn head_gets_the_head_alone() {
    for (path, body) in [("/", "hello"), ("/bytes/70000", &"x".repeat(70_000)), ("/counter", "1")] {
        let request = get_close(path).replace("GET", "HEAD");
        check_request(&request, closed("200 OK", body).trim_end_matches(body), 200, 0).await;
    }
    let chunked = get_close("/chunked/5").replace("GET", "HEAD");
    let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
                    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    check_request(&chunked, expected, 200, 0).await;
}

#[tokio::test]
async fn chunked_answers() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
                Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let check = async |path: &str, chunks: &str, body_bytes| {
        check_request(&get_close(path), &format!("{head}{chunks}0\r\n\r\n"), 200, body_bytes).await;
    };
    check("/chunked/0", "", 0).await;
    check("/chunked/5", "5\r\nxxxxx\r\n", 5).await;
    check("/chunked/5?chunk=2", "2\r\nxx\r\n2\r\nxx\r\n1\r\nx\r\n", 5).await;
    check("/?framing=chunked", "5\r\nhello\r\n", 5).await;
    let full = format!("4000\r\n{}\r\n", "x".repeat(16_384));
    check("/chunked/1000000", &(full.repeat(61) + &format!("240\r\n{}\r\n", "x".repeat(576))), 1_000_000)
        .await;
}

#[tokio::test]
async fn bodies_that_end_with_the_connection() {
    let expected =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\nhello";
    check_request(&get("/?framing=close"), expected, 200, 5).await;
    check_request(&get("/?framing=bare"), "HTTP/1.0 200 OK\r\n\r\nhello", 200, 5).await;
    // HTTP/1.0 knows no chunks.
    let request = "GET /?framing=chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    check_request(request, expected, 200, 5).await;
}

#[tokio::test]
async fn http_1_0() {
    check_request("GET / HTTP/1.0\r\n\r\n", &closed("200 OK", "hello"), 200, 5).await;
    let expected = kept("200 OK", "hello").replace("\r\n\r\n", "\r\nConnection: keep-alive\r\n\r\n");
    check_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &expected, 200, 5).await;
}

#[tokio::test]
async fn long_bodies_are_streamed_whole() {
    for bytes in [16_384, 16_385, 262_144, 262_145, 5_000_000] {
        let body = "x".repeat(bytes);
        check(&format!("/bytes/{bytes}"), "200 OK", &body).await;
    }
}

#[tokio::test]
async fn the_counter_rises_by_one() {
    let target = Target::start().await;
    for (first, connection) in [(1, "a"), (4, "b")] {
        let mut stream = target.connect().await;
        for number in first..first + 3 {
            stream.write_all(get("/counter").as_bytes()).await.unwrap();
            expect(&mut stream, &kept("200 OK", &number.to_string())).await;
        }
        drop((stream, connection));
    }
    assert_eq!(target.stop().await.path("/counter"), 6);
}

#[tokio::test]
async fn a_percentage_fails() {
    let target = Target::start().await;
    let answers = target.exchange(get("/fail/30").repeat(200).as_bytes()).await;
    let failed = String::from_utf8(answers).unwrap().matches("HTTP/1.1 500 ").count();
    let counts = target.stop().await;
    assert_eq!((failed, counts.status(500), counts.status(200)), (60, 60, 140));
}

#[tokio::test]
async fn echo_gives_the_request_back() {
    let request = "POST /echo?a=b HTTP/1.1\r\nHost: test\r\nX-Twice: 1\r\nx-twice: \"2\"\r\n\
                   Content-Length: 6\r\n\r\nbo\"dy\n";
    let json = r#"{"method":"POST","path":"/echo","query":"a=b","headers":[["Host","test"],["X-Twice","1"],["x-twice","\"2\""],["Content-Length","6"]],"body":"bo\"dy\n","body_bytes":6}"#;
    let expected =
        kept("200 OK", &format!("{json}\n")).replace("text/plain; charset=utf-8", "application/json");
    check_request(request, &expected, 200, json.len() as u64 + 1).await;
}

#[tokio::test]
async fn echo_bounds_the_body() {
    for (body_bytes, status) in [(65_536, 200), (65_537, 413), (1_000_000, 413)] {
        let target = Target::start().await;
        let body = "a".repeat(body_bytes);
        let request = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {body_bytes}\r\n\r\n{body}");
        // The connection must go on after the body that was too long, with nothing of it left.
        let answers = target.exchange((request + &get("/echo")).as_bytes()).await;
        assert!(String::from_utf8_lossy(&answers).ends_with("\"body\":\"\",\"body_bytes\":0}\n"));
        let counts = target.stop().await;
        assert_eq!((counts.path("/echo"), counts.body_bytes_received), (2, body_bytes as u64));
        assert_eq!(counts.status(status), if status == 200 { 2 } else { 1 });
    }
}

#[tokio::test]
async fn a_delay_holds_up_its_own_connection_only() {
    let target = Target::start().await;
    let begun = Instant::now();
    let mut slow = target.connect().await;
    slow.write_all(get("/delay/100ms").as_bytes()).await.unwrap();
    let mut held = target.connect().await;
    held.write_all(get("/delay/1h").as_bytes()).await.unwrap();
    // These are answered though the other one has not been.
    let answers = target.exchange(get("/").repeat(50).as_bytes()).await;
    assert_eq!(String::from_utf8(answers).unwrap(), kept("200 OK", "hello").repeat(50));
    expect(&mut slow, &kept("200 OK", "hello")).await;
    assert!(begun.elapsed() >= Duration::from_millis(100));
    let counts = target.stop().await;
    assert_eq!((counts.requests, counts.status(200), counts.requests_unanswered), (52, 51, 1));
}

#[tokio::test]
async fn answers_after_a_delay_keep_their_order() {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    let requests = get("/?bytes=1") + &get("/?delay=20ms&status=503&bytes=2") + &get("/?bytes=3");
    stream.write_all(requests.as_bytes()).await.unwrap();
    let answers = kept("200 OK", "x") + &kept("503 Service Unavailable", "xx") + &kept("200 OK", "xxx");
    expect(&mut stream, &answers).await;
    assert_eq!(target.stop().await.requests, 3);
}

#[tokio::test]
async fn a_delay_may_hold_from_a_later_request_on() {
    let target = Target::start().await;
    let begun = Instant::now();
    let request = get("/?delay=50ms&delay-from=3");
    let answers = target.exchange((request.clone() + &request).as_bytes()).await;
    assert_eq!(String::from_utf8(answers).unwrap(), kept("200 OK", "hello").repeat(2));
    let unhindered = begun.elapsed();
    let mut third = target.connect().await;
    third.write_all(request.as_bytes()).await.unwrap();
    expect(&mut third, &kept("200 OK", "hello")).await;
    assert!(begun.elapsed() >= unhindered + Duration::from_millis(50));
}
