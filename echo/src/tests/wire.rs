//! How requests may come over the wire, and what is refused.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::AsyncWriteExt;

use super::*;

/// These bytes, then the end, are answered by exactly these bytes; so many requests were received whole.
async fn check(sent: &str, expected: &str, requests: u64) {
    for piece in [usize::MAX, 1] {
        let target = Target::start().await;
        let mut stream = target.connect().await;
        for bytes in sent.as_bytes().chunks(piece) {
            stream.write_all(bytes).await.unwrap();
            // Gives the server a turn, so that single bytes come as such.
            tokio::task::yield_now().await;
        }
        stream.shutdown().await.unwrap();
        let answer = read_to_end(&mut stream).await;
        assert_eq!(String::from_utf8_lossy(&answer), expected, "{sent:?} in pieces of {piece}");
        assert_eq!(target.stop().await.requests, requests, "{sent:?} in pieces of {piece}");
    }
}

/// These bytes are no request: they are answered by this status, and the connection is closed.
async fn check_refused(sent: &[u8], status: &str) {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    // The server may have seen enough, and closed, before all was sent.
    let _ = stream.write_all(sent).await;
    let answer = read_to_end(&mut stream).await;
    let answer = String::from_utf8_lossy(&answer);
    let name = String::from_utf8_lossy(&sent[..sent.len().min(60)]);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{name:?}: {answer:?}");
    assert!(answer.contains("\r\nConnection: close\r\n"), "{name:?}: {answer:?}");
    let counts = target.stop().await;
    assert_eq!((counts.requests, counts.requests_malformed, counts.answers()), (0, 1, 1), "{name:?}");
    assert_eq!(counts.requests_partial, 0, "{name:?}");
}

#[tokio::test]
async fn requests_in_a_row_and_byte_by_byte() {
    let hello = kept("200 OK", "hello");
    check(&get("/"), &hello, 1).await;
    check(&get("/").repeat(3), &hello.repeat(3), 3).await;
    let mixed = get("/") + &get("/bytes/2") + &get("/") + &get("/chunked/1") + &get_close("/status/404");
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
                   Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let answers = [&hello, &kept("200 OK", "xx"), &hello, chunked, &closed("404 Not Found", "hello")];
    check(&mixed, &answers.concat(), 5).await;
}

#[tokio::test]
async fn empty_lines_before_a_request_are_skipped() {
    let sent = format!("\r\n\r\n{}\r\n{}", get("/"), get("/"));
    check(&sent, &kept("200 OK", "hello").repeat(2), 2).await;
}

#[tokio::test]
async fn bodies_are_read_and_forgotten() {
    let hello = kept("200 OK", "hello");
    let length = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde";
    check(&(length.repeat(2) + &get("/")), &hello.repeat(3), 3).await;
    let chunked = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nSum: 1\r\n\r\n";
    check(&(chunked.repeat(2) + &get("/")), &hello.repeat(3), 3).await;
}

#[tokio::test]
async fn a_long_body_is_counted_whole() {
    let target = Target::start().await;
    let mut sent = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n".to_vec();
    sent.extend(std::iter::repeat_n(b'\n', 3_000_000));
    sent.extend_from_slice(get("/").as_bytes());
    let answer = target.exchange(&sent).await;
    assert_eq!(String::from_utf8(answer).unwrap(), kept("200 OK", "hello").repeat(2));
    let counts = target.stop().await;
    assert_eq!((counts.requests, counts.body_bytes_received), (2, 3_000_000));
}

#[tokio::test]
async fn a_client_that_asks_for_it_is_told_to_continue() {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    expect(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(target.stats.snapshot().requests, 0, "the body is still to come");
    stream.write_all(b"abc").await.unwrap();
    expect(&mut stream, &kept("200 OK", "hello")).await;
    // With the body at hand there is nothing to say.
    stream.write_all(format!("{head}abc").as_bytes()).await.unwrap();
    expect(&mut stream, &kept("200 OK", "hello")).await;
    assert_eq!(target.stop().await.requests, 2);
}

#[tokio::test]
async fn a_closed_connection_answers_nothing_more() {
    for (last, target) in [(get_close("/"), Target::start().await), (get("/close"), Target::start().await)] {
        let answer = target.exchange((get("/") + &last + &get("/never")).as_bytes()).await;
        let expected = kept("200 OK", "hello") + &closed("200 OK", "hello");
        assert_eq!(String::from_utf8(answer).unwrap(), expected, "{last:?}");
        let counts = target.stop().await;
        assert_eq!((counts.requests, counts.requests_partial, counts.path("/never")), (2, 0, 0), "{last:?}");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    check_refused(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", "400 Bad Request").await;
    check_refused(b"GET / HTTP/1.1\nHost: a\n\n", "400 Bad Request").await;
    check_refused(b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request").await;
    check_refused(b"hello\r\n\r\n", "400 Bad Request").await;
    check_refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 HTTP Version Not Supported").await;
    let chunk = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n";
    check_refused(chunk, "400 Bad Request").await;
    let coding = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n";
    check_refused(coding, "501 Not Implemented").await;
}

#[tokio::test]
async fn heads_are_bounded() {
    let long = "a".repeat(70_000);
    check_refused(format!("GET /{long}").as_bytes(), "414 URI Too Long").await;
    let field = format!("GET / HTTP/1.1\r\nHost: a\r\nx: {long}\r\n\r\n");
    check_refused(field.as_bytes(), "431 Request Header Fields Too Large").await;
    let fields = format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "a: b\r\n".repeat(20_000));
    check_refused(fields.as_bytes(), "431 Request Header Fields Too Large").await;
}

#[tokio::test]
async fn a_head_of_the_greatest_size_is_read() {
    let empty = "GET / HTTP/1.1\r\nHost: a\r\nx: \r\n\r\n";
    let value = "a".repeat(crate::head::HEAD_BYTES_MAX - empty.len());
    let request = empty.replace("x: ", &format!("x: {value}"));
    let target = Target::start().await;
    let answer = target.exchange(request.repeat(2).as_bytes()).await;
    assert_eq!(String::from_utf8(answer).unwrap(), kept("200 OK", "hello").repeat(2));
    assert_eq!(target.stop().await.requests, 2);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_waited_for() {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    let (requests, bytes) = (40, 1_000_000);
    stream.write_all(get(&format!("/bytes/{bytes}")).repeat(requests).as_bytes()).await.unwrap();
    // Others are served meanwhile.
    let other = target.exchange(get("/").as_bytes()).await;
    assert_eq!(String::from_utf8(other).unwrap(), kept("200 OK", "hello"));
    stream.shutdown().await.unwrap();
    let answers = read_to_end(&mut stream).await;
    assert_eq!(answers.len(), kept("200 OK", &"x".repeat(bytes)).len() * requests);
    assert_eq!(target.stop().await.body_bytes_sent, 40_000_005);
}

/// Requests, damaged in places.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let requests = [
        get("/counter"),
        get_close("/echo?status=201"),
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde".to_owned(),
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
            .to_owned(),
    ];
    let places = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (prop::collection::vec(prop::sample::select(requests.to_vec()), 1..4), places).prop_map(
        |(requests, places)| {
            let mut bytes = requests.concat().into_bytes();
            for (place, byte) in places {
                let at = place.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        },
    )
}

#[test]
fn garbage_is_answered_or_refused_and_the_counts_add_up() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let garbage = prop_oneof![damaged(), prop::collection::vec(any::<u8>(), 1..100)];
    TestRunner::default()
        .run(&garbage, |bytes| {
            runtime.block_on(async {
                let target = Target::start().await;
                let answer = target.exchange(&bytes).await;
                assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "));
                target.stop().await;
            });
            Ok(())
        })
        .unwrap();
}
