//! Strategies for answers: valid ones with a model of what they mean, damaged ones, and mere bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{GET, HEAD};
use crate::http1::ContentCoding::{Brotli, Deflate, Gzip, Zstd};
use crate::http1::{ContentCoding, Outcome, RequestKind};

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
pub(super) struct Answer {
    pub(super) wire: Vec<u8>,
    pub(super) kind: RequestKind,
    pub(super) content: Vec<u8>,
    pub(super) outcome: Outcome,
    pub(super) interim: u32,
    pub(super) codings: Vec<ContentCoding>,
}

/// Field lines that mean nothing, with folds, bare LF and names that are no tokens among them.
fn fields() -> impl Strategy<Value = String> {
    let value = "[ -~\u{e4}\t]{0,30}";
    let name = prop_oneof![
        20 => "[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,20}x",
        1 => "[a-z(@][a-z ()@/]{0,9}x ",
        1 => "",
    ];
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

/// The fields that say how a body of this length is delimited, in one of the ways to say that.
fn framing_fields(framing: &Framing, len: usize, way: usize, end: &str) -> String {
    let lines: &[&str] = match (framing, way % 4) {
        (Framing::UntilClose, 0) => &["Transfer-Encoding: chunked, gzip"],
        (Framing::UntilClose, 1) => &["Transfer-Encoding: identity", "Content-Length: 3"],
        (Framing::UntilClose, _) => &[],
        (Framing::Length, 0) => &["CONTENT-LENGTH:#\t"],
        (Framing::Length, 1) => &["Content-Length: #", "Content-Length: 0#"],
        (Framing::Length, 2) => &["Content-Length: # , #"],
        (Framing::Length, _) => &["Content-Length: #"],
        (Framing::Chunked(..), 0) => &["Content-Length: 3", "transfer-encoding:CHUNKED"],
        (Framing::Chunked(..), 1) => &["Transfer-Encoding: gzip", "Transfer-Encoding: , chunked"],
        (Framing::Chunked(..), 2) => &["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        (Framing::Chunked(..), _) => &["Transfer-Encoding: chunked"],
    };
    lines.iter().map(|line| line.replace('#', &len.to_string()) + end).collect()
}

/// Interim heads, how many they are, and whether one of them says `close`.
fn interims() -> impl Strategy<Value = (String, u32, bool)> {
    let closes = prop::bool::weighted(0.1);
    let interim = (prop_oneof![Just(100), 102..200u16], fields(), closes, "\r?\n")
        .prop_map(|(status, fields, closes, end)| {
            let close = if closes { format!("Connection: close{end}") } else { String::new() };
            (format!("HTTP/1.1 {status} Wait{end}{close}{fields}{end}"), closes)
        })
        .boxed();
    prop_oneof![2 => Just(0..1), 1 => Just(1..4)]
        .prop_flat_map(move |count| vec(interim.clone(), count))
        .prop_map(|interims| {
            let count = u32::try_from(interims.len()).expect("a few");
            let closes = interims.iter().any(|(_, closes)| *closes);
            (interims.into_iter().map(|(text, _)| text).collect(), count, closes)
        })
}

fn codings() -> impl Strategy<Value = (&'static str, &'static [ContentCoding])> {
    let values: &[(&str, &[ContentCoding])] = &[
        ("", &[]),
        ("Content-Encoding: gzip", &[Gzip]),
        ("content-encoding: br, Identity", &[Brotli]),
        ("Content-Encoding:deflate,x-gzip , zstd", &[Deflate, Gzip, Zstd]),
    ];
    prop::sample::select(values)
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

/// What a valid answer is made of.
#[derive(Debug, Clone)]
struct Parts {
    interims: (String, u32, bool),
    status: u16,
    is_1_0: bool,
    /// The field, and whether it says `close` and `keep-alive`.
    connection: (&'static str, bool, bool),
    codings: (&'static str, &'static [ContentCoding]),
    others: (String, String),
    framing: Framing,
    framing_way: usize,
    end: String,
    is_head: bool,
    body: Vec<u8>,
}

impl Parts {
    fn has_body(&self) -> bool {
        !self.is_head && !matches!(self.status, 204 | 304)
    }

    fn head(&self) -> String {
        let end = &self.end;
        let line = |text: &str| if text.is_empty() { String::new() } else { format!("{text}{end}") };
        let version = if self.is_1_0 { "HTTP/1.0" } else { "HTTP/1.1" };
        let framing = framing_fields(&self.framing, self.body.len(), self.framing_way, end);
        [
            self.interims.0.clone(),
            format!("{version} {} Some reason{end}", self.status),
            self.others.0.clone(),
            framing,
            line(self.connection.0),
            line(self.codings.0),
            self.others.1.clone(),
            end.clone(),
        ]
        .concat()
    }

    fn wire_body(&self) -> Vec<u8> {
        match &self.framing {
            _ if !self.has_body() => Vec::new(),
            Framing::Chunked(sizes, trailers) => chunked(&self.body, sizes, trailers, &self.end),
            Framing::Length | Framing::UntilClose => self.body.clone(),
        }
    }

    fn persists(&self) -> bool {
        let has_transfer_coding = match self.framing {
            Framing::Chunked(..) => true,
            Framing::UntilClose => self.framing_way % 4 < 2,
            Framing::Length => false,
        };
        let (_, close, keep_alive) = self.connection;
        let is_kept = if self.is_1_0 { keep_alive && !has_transfer_coding } else { true };
        is_kept && !close && !self.interims.2
    }

    fn answer(self) -> Answer {
        let head = self.head();
        let content = if self.has_body() { self.body.clone() } else { Vec::new() };
        let ends_by_close = self.has_body() && matches!(self.framing, Framing::UntilClose);
        let outcome = Outcome {
            status: self.status,
            body_bytes: content.len() as u64,
            head_bytes: head.len() as u64,
            reusable: self.persists() && !ends_by_close,
        };
        Answer {
            wire: [head.into_bytes(), self.wire_body()].concat(),
            kind: if self.is_head { HEAD } else { GET },
            content,
            outcome,
            interim: self.interims.1,
            codings: self.codings.1.to_vec(),
        }
    }
}

/// A valid answer.
pub(super) fn answer() -> impl Strategy<Value = Answer> {
    let status = prop_oneof![3 => Just(200u16), 1 => 200..1000u16, 1 => Just(204), 1 => Just(304)];
    let connection = prop_oneof![
        Just(("", false, false)),
        Just(("connection: Close", true, false)),
        Just(("Connection: x ,keep-alive", false, true)),
    ];
    let head = (interims(), status, any::<bool>(), connection, codings(), (fields(), fields()), "\r?\n");
    let body = (any::<bool>(), framing(), any::<usize>(), vec(any::<u8>(), 0..200));
    (head, body).prop_map(|(head, body)| {
        let (interims, status, is_1_0, connection, codings, others, end) = head;
        let (is_head, framing, framing_way, body) = body;
        let parts = Parts {
            interims,
            status,
            is_1_0,
            connection,
            codings,
            others,
            framing,
            framing_way,
            end,
            is_head,
            body,
        };
        parts.answer()
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
pub(super) const FILLERS: [&[u8]; 7] = [b"a", b" \n", b"\n ", b"a: b\r\n", b"\r\n", b"0", b"1\r\nx\r\n"];

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
pub(super) fn nearly_answers() -> impl Strategy<Value = Vec<u8>> {
    let soup = vec(prop::sample::select(&FRAGMENTS[..]), 0..20).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![
        3 => (answer(), vec(damage(), 0..4)).prop_map(|(answer, damages)| damaged(answer.wire, &damages)),
        1 => soup.clone(),
        2 => soup.prop_map(|soup| [&b"HTTP/1.1 200 OK\r\n"[..], &soup].concat()),
        1 => vec(any::<u8>(), 0..300),
    ]
}
