//! Agreement with others: heads with httparse, whole answers with hyper, where both sides accept them.

use std::error::Error;
use std::io;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::Builder;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::answers::{answer, nearly_answers};
use super::{GET, HEAD, read};
use crate::http1::{EofError, Event, Parser, RequestKind};

/// What this codec says of the head: status, head bytes, and the length that frames the body.
fn head_of(wire: &[u8]) -> Option<(u16, usize, u64)> {
    let mut parser = Parser::new(GET);
    match parser.feed(wire).ok()? {
        progress if progress.event == Event::Head => {
            Some((parser.status()?, progress.consumed, parser.body_remaining_hint()))
        }
        _ => None,
    }
}

/// The same of httparse, where `Content-Length` is the only framing.
fn head_of_httparse(wire: &[u8]) -> Option<(u16, usize, Option<u64>)> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = httparse::ParserConfig::default()
        .allow_obsolete_multiline_headers_in_responses(true)
        .parse_response(&mut response, wire)
        .ok()?;
    let status = response.code?;
    let named = |name: &'static str| {
        response.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name))
    };
    let is_plain = named("transfer-encoding").count() == 0 && !matches!(status, 204 | 304);
    let mut lengths = named("content-length");
    let length = match (lengths.next(), lengths.next()) {
        (Some(field), None) if is_plain => {
            std::str::from_utf8(field.value).ok().and_then(|text| text.trim().parse().ok())
        }
        _ => None,
    };
    match parsed {
        // An interim head is read on from here and skipped there.
        httparse::Status::Complete(len) if status >= 200 => Some((status, len, length)),
        httparse::Status::Complete(_) | httparse::Status::Partial => None,
    }
}

/// What a reader makes of an answer that the server's close follows.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Status and content.
    Whole(u16, Vec<u8>),
    /// The close came inside the body.
    Cut(u16),
    /// The close came inside the head.
    NoHead,
    /// The answer is malformed for this reader.
    Refused,
}

fn ours(kind: RequestKind, wire: &[u8]) -> Verdict {
    let mut parser = Parser::new(kind);
    match read(&mut parser, kind, [wire]) {
        Ok((outcome, content)) => Verdict::Whole(outcome.status, content),
        Err(EofError::Truncated { .. }) => Verdict::Cut(parser.status().expect("a body has a head")),
        Err(EofError::BeforeFirstByte | EofError::InHead) => Verdict::NoHead,
        Err(EofError::Protocol(_)) => Verdict::Refused,
    }
}

fn hypers(kind: RequestKind, wire: &[u8]) -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let (client, server) = tokio::io::duplex(1 << 20);
        let (verdict, ()) = tokio::join!(ask(kind, client), serve(server, wire));
        verdict
    })
}

/// Reads one request, answers it and closes.
async fn serve(mut server: DuplexStream, wire: &[u8]) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        assert_ne!(server.read_buf(&mut request).await.expect("a pipe doesn't fail"), 0);
    }
    server.write_all(wire).await.expect("there is room for all of it");
}

async fn ask(kind: RequestKind, client: DuplexStream) -> Verdict {
    let (mut sender, connection) = Builder::new()
        .allow_obsolete_multiline_headers_in_responses(true)
        .handshake(TokioIo::new(client))
        .await
        .expect("a new connection is ready");
    let method = if kind.is_head { "HEAD" } else { "GET" };
    let request = Request::builder().method(method).uri("/").header("host", "x");
    let request = request.body(Empty::<Bytes>::new()).expect("a valid request");
    let answer = async move {
        match sender.send_request(request).await {
            Ok(response) => whole(response).await,
            Err(error) if error.is_incomplete_message() => Verdict::NoHead,
            Err(_) => Verdict::Refused,
        }
    };
    // How the connection ends says nothing that the answer doesn't.
    tokio::join!(answer, connection).0
}

async fn whole(response: Response<Incoming>) -> Verdict {
    let status = response.status().as_u16();
    match response.into_body().collect().await {
        Ok(body) => Verdict::Whole(status, body.to_bytes().to_vec()),
        Err(error) if is_cut(&error) => Verdict::Cut(status),
        Err(_) => Verdict::Refused,
    }
}

fn is_cut(error: &hyper::Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    error.is_incomplete_message()
        || source.is_some_and(|source| source.kind() == io::ErrorKind::UnexpectedEof)
}

/// The two verdicts, where they differ though neither side refuses the answer, and not for a known reason.
fn difference(kind: RequestKind, wire: &[u8]) -> Option<(Verdict, Verdict)> {
    let (ours, hypers) = (ours(kind, wire), hypers(kind, wire));
    let is_known = match (&ours, &hypers) {
        (Verdict::Refused, _) | (_, Verdict::Refused) => true,
        (Verdict::Whole(..), Verdict::Cut(_)) => has_bare_lf(wire),
        _ => ours == hypers,
    };
    (!is_known).then_some((ours, hypers))
}

fn has_bare_lf(wire: &[u8]) -> bool {
    wire.starts_with(b"\n") || wire.windows(2).any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
}

#[test]
fn both_read_plain_answers() {
    let whole = |status, content: &str| Verdict::Whole(status, content.as_bytes().to_vec());
    for (kind, wire, verdict) in [
        (GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", whole(200, "hello")),
        (
            GET,
            "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n",
            whole(404, "x"),
        ),
        (GET, "HTTP/1.0 200 OK\r\n\r\nhello", whole(200, "hello")),
        (GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n", whole(200, "0\r\n")),
        (GET, "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", whole(204, "")),
        (HEAD, "HTTP/1.1 200 OK\nContent-Length: 5\n\n", whole(200, "")),
        (GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Verdict::Cut(200)),
        (GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", Verdict::Cut(200)),
        (GET, "HTTP/1.1 200 OK\r\nContent-", Verdict::NoHead),
        (GET, "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello", Verdict::Refused),
        (GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n", Verdict::Refused),
    ] {
        assert_eq!(ours(kind, wire.as_bytes()), verdict, "{wire:?}");
        assert_eq!(hypers(kind, wire.as_bytes()), verdict, "{wire:?}");
    }
}

/// hyper knows nothing of `identity`, so that chunked isn't the last coding. curl takes it as chunked.
#[test]
fn hyper_takes_identity_for_a_coding() {
    let wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n";
    assert_eq!(ours(GET, wire), Verdict::Whole(200, Vec::new()));
    assert_eq!(hypers(GET, wire), Verdict::Whole(200, b"0\r\n\r\n".to_vec()));
}

/// Trailers end with CR LF CR LF for hyper and nothing else, so that it waits on. curl takes a bare LF.
#[test]
fn hyper_takes_no_bare_lf_in_trailers() {
    let wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n";
    assert_eq!(ours(GET, wire), Verdict::Whole(200, Vec::new()));
    assert_eq!(hypers(GET, wire), Verdict::Cut(200));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn heads_read_as_httparse_reads_them(wire in nearly_answers()) {
        if let (Some(ours), Some(theirs)) = (head_of(&wire), head_of_httparse(&wire)) {
            prop_assert_eq!((ours.0, ours.1), (theirs.0, theirs.1));
            if let Some(length) = theirs.2 {
                prop_assert_eq!(ours.2, length);
            }
        }
    }

    #[test]
    fn valid_answers_read_as_hyper_reads_them(answer in answer()) {
        prop_assert_eq!(difference(answer.kind, &answer.wire), None, "{}", answer.wire.escape_ascii());
    }

    #[test]
    fn damaged_answers_read_as_hyper_reads_them(wire in nearly_answers(), is_head in any::<bool>()) {
        let kind = if is_head { HEAD } else { GET };
        prop_assert_eq!(difference(kind, &wire), None, "{}", wire.escape_ascii());
    }
}
