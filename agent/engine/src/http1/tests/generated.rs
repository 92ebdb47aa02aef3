//! Generated answers: valid ones against a model of what they mean, damaged ones and mere bytes against
//! themselves under other cuts, and heads against httparse.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{GET, HEAD, Reading, pieces_of, read};
use crate::http1::response::MAX_HEAD_BYTES;
use crate::http1::{Event, Outcome, Parser, RequestKind};

/// How a generated body is delimited.
#[derive(Debug, Clone)]
enum Framing {
    Length,
    /// The chunks' sizes with their extensions, repeated over the body, and the trailers.
    Chunked(Vec<(usize, String)>, String),
    UntilClose,
}

/// One valid answer and what it means.
#[derive(Debug, Clone)]
struct Answer {
    wire: Vec<u8>,
    kind: RequestKind,
    content: Vec<u8>,
    outcome: Outcome,
}

/// Field lines that mean nothing for the framing, with folds and bare LF among them.
fn fields() -> impl Strategy<Value = String> {
    let value = "[ -~\u{e4}\t]{0,30}";
    let name = "[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,20}x";
    let fold = prop_oneof![4 => Just(String::new()), 1 => "\r?\n[ \t]{1,3}[a-z:]{0,9}"];
    let field = (name, value, fold, "\r?\n")
        .prop_map(|(name, value, fold, end)| [name, ":".to_owned(), value, fold, end].concat());
    vec(field, 0..5).prop_map(|fields| fields.concat())
}

fn framing() -> impl Strategy<Value = Framing> {
    let extension =
        prop_oneof![2 => Just(String::new()), 1 => "[ \t]{0,2};[a-z=\";]{0,9}", 1 => "[ \t]{1,3}"];
    let chunks = vec((1..40usize, extension), 1..4);
    prop_oneof![
        Just(Framing::Length),
        (chunks, fields()).prop_map(|(chunks, trailers)| Framing::Chunked(chunks, trailers)),
        Just(Framing::UntilClose),
    ]
}

fn interims() -> impl Strategy<Value = String> {
    let interim = (prop_oneof![Just(100), 102..200u16], fields(), "\r?\n")
        .prop_map(|(status, fields, end)| format!("HTTP/1.1 {status} Wait{end}{fields}{end}"))
        .boxed();
    prop_oneof![2 => Just(0..1), 1 => Just(1..4)]
        .prop_flat_map(move |count| vec(interim.clone(), count))
        .prop_map(|interims| interims.concat())
}

fn chunked(body: &[u8], sizes: &[(usize, String)], trailers: &str, end: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut rest = body;
    for (size, extension) in sizes.iter().cycle() {
        let (chunk, behind) = rest.split_at(rest.len().min(*size));
        wire.extend_from_slice(format!("{:x}{extension}{end}", chunk.len()).as_bytes());
        if chunk.is_empty() {
            break;
        }
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(end.as_bytes());
        rest = behind;
    }
    wire.extend_from_slice(trailers.as_bytes());
    wire.extend_from_slice(end.as_bytes());
    wire
}

fn answer() -> impl Strategy<Value = Answer> {
    let status = prop_oneof![3 => Just(200u16), 1 => 200..1000u16, 1 => Just(204), 1 => Just(304)];
    let connection = prop_oneof![
        Just(("", false, false)),
        Just(("connection: Close", true, false)),
        Just(("Connection: x ,keep-alive", false, true)),
    ];
    let head = (interims(), status, any::<bool>(), connection, fields(), fields(), "\r?\n");
    (head, any::<bool>(), framing(), vec(any::<u8>(), 0..200)).prop_map(|(head, is_head, framing, body)| {
        let (interims, status, is_1_0, (connection, close, keep_alive), before, behind, end) = head;
        let has_body = !is_head && !matches!(status, 204 | 304);
        let version = if is_1_0 { "HTTP/1.0" } else { "HTTP/1.1" };
        let framed_by = match framing {
            Framing::Length => format!("Content-Length: {}{end}", body.len()),
            Framing::Chunked(..) => format!("Transfer-Encoding: chunked{end}"),
            Framing::UntilClose => String::new(),
        };
        let connection = if connection.is_empty() { String::new() } else { format!("{connection}{end}") };
        let head = format!(
            "{interims}{version} {status} Some reason{end}{before}{framed_by}{connection}{behind}{end}"
        );
        let wire_body = match &framing {
            _ if !has_body => Vec::new(),
            Framing::Chunked(sizes, trailers) => chunked(&body, sizes, trailers, &end),
            Framing::Length | Framing::UntilClose => body.clone(),
        };
        let persists = match (close, is_1_0) {
            (true, _) => false,
            (false, true) => keep_alive && !matches!(framing, Framing::Chunked(..)),
            (false, false) => true,
        };
        let content = if has_body { body } else { Vec::new() };
        let outcome = Outcome {
            status,
            body_bytes: content.len() as u64,
            head_bytes: head.len() as u64,
            reusable: persists && !(has_body && matches!(framing, Framing::UntilClose)),
        };
        let kind = if is_head { HEAD } else { GET };
        Answer { wire: [head.into_bytes(), wire_body].concat(), kind, content, outcome }
    })
}

/// One change to a valid answer.
#[derive(Debug, Clone)]
enum Damage {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
}

/// Pieces of text that answers are made of, and some that they are not.
const FRAGMENTS: [&str; 28] = [
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.1 ",
    "204",
    "\r\n",
    "\n",
    "\r",
    "Content-Length: ",
    "Content-Length: 5\r\n",
    "content-length:3,3\r\n",
    "5",
    "0",
    "ff",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    " ",
    "\t",
    ":",
    ";",
    ",",
    "a",
    "X-Y: z\r\n",
    "hello",
    "\0",
    "\u{e4}",
];

/// What a server may send without end.
const FILLERS: [&[u8]; 7] = [b"a", b" \n", b"\n ", b"a: b\r\n", b"\r\n", b"0", b"1\r\nx\r\n"];

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(b' '), Just(b':')])
            .prop_map(|(at, byte)| Damage::Set(at, byte)),
        (at(), 1..5usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (at(), 1..40usize).prop_map(|(at, count)| Damage::Repeat(at, count)),
        (at(), prop::sample::select(&FRAGMENTS[..])).prop_map(|(at, text)| Damage::Insert(at, text)),
    ]
}

fn damaged(mut wire: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let (Damage::Set(at, _) | Damage::Remove(at, _) | Damage::Repeat(at, _) | Damage::Insert(at, _)) =
            damage;
        let at = at.index(wire.len() + 1);
        let upto = |count: usize| (at + count).min(wire.len());
        match *damage {
            Damage::Set(_, byte) => drop(wire.splice(at..upto(1), [byte])),
            Damage::Remove(_, count) => drop(wire.drain(at..upto(count))),
            Damage::Repeat(_, count) => {
                let again = wire[at..upto(count)].to_vec();
                drop(wire.splice(at..at, again));
            }
            Damage::Insert(_, text) => drop(wire.splice(at..at, text.bytes())),
        }
    }
    wire
}

/// Bytes that look more or less like an answer.
fn nearly_answers() -> impl Strategy<Value = Vec<u8>> {
    let soup = vec(prop::sample::select(&FRAGMENTS[..]), 0..20).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![
        3 => (answer(), vec(damage(), 0..4)).prop_map(|(answer, damages)| damaged(answer.wire, &damages)),
        1 => soup.clone(),
        2 => soup.prop_map(|soup| [&b"HTTP/1.1 200 OK\r\n"[..], &soup].concat()),
        1 => vec(any::<u8>(), 0..300),
    ]
}

/// Rising places to cut an input of this length.
fn cuts(places: &[prop::sample::Index], len: usize) -> Vec<usize> {
    let mut cuts: Vec<_> = places.iter().map(|place| place.index(len + 1)).collect();
    cuts.sort_unstable();
    cuts
}

fn read_cut(parser: &mut Parser, kind: RequestKind, wire: &[u8], places: &[prop::sample::Index]) -> Reading {
    read(parser, kind, pieces_of(wire, &cuts(places, wire.len())))
}

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn valid_answers_mean_what_they_say(answer in answer(), places in vec(any::<prop::sample::Index>(), 0..8)) {
        let mut parser = Parser::new(answer.kind);
        let expected = Ok((answer.outcome, answer.content));
        prop_assert_eq!(&read_cut(&mut parser, answer.kind, &answer.wire, &places), &expected);
        prop_assert_eq!(&read(&mut parser, answer.kind, [&answer.wire[..]]), &expected);
        prop_assert_eq!(&read(&mut parser, answer.kind, [&answer.wire[..]]), &expected, "head known");
        prop_assert_eq!(&read_cut(&mut parser, answer.kind, &answer.wire, &places), &expected, "head known, cut");
    }

    #[test]
    fn bytes_mean_the_same_however_they_are_cut(
        wire in nearly_answers(),
        is_head in any::<bool>(),
        places in vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let kind = if is_head { HEAD } else { GET };
        let mut parser = Parser::new(kind);
        let whole = read(&mut parser, kind, [&wire[..]]);
        prop_assert_eq!(&read_cut(&mut parser, kind, &wire, &places), &whole);
        prop_assert_eq!(&read(&mut parser, kind, wire.chunks(1)), &whole, "byte by byte");
    }

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
    fn memory_is_bounded(
        start in nearly_answers(),
        filler in prop::sample::select(&FILLERS[..]),
        piece_bytes in 1..5000usize,
    ) {
        let mut parser = Parser::new(GET);
        let wire = [&start[..], &filler.repeat(200_000 / filler.len())].concat();
        for piece in wire.chunks(piece_bytes) {
            let _ = parser.receive(piece);
            prop_assert!(parser.capacity_bytes() <= 2 * MAX_HEAD_BYTES + 1024);
        }
    }
}
