//! What it costs to read answers: `cargo bench -p volley-engine --bench http1_parse`.
//!
//! Each case is timed in interleaved rounds, so that a change of the machine's speed meets all of them
//! alike; the best and the median round are printed in nanoseconds an answer. httparse, which only
//! splits a head into fields, stands beside it for scale.

use std::hint::black_box;
use std::time::Instant;

use volley_engine::http1::{Parser, RequestKind};

const ROUNDS: usize = 21;
const ANSWERS_PER_ROUND: u32 = 100_000;

/// What nginx answers for a small static file.
const NGINX: &[u8] = b"HTTP/1.1 200 OK\r\n\
    Server: nginx/1.22.1\r\n\
    Date: Mon, 30 Nov 2026 11:43:00 GMT\r\n\
    Content-Type: text/plain\r\n\
    Content-Length: 11\r\n\
    Last-Modified: Mon, 30 Nov 2026 11:40:00 GMT\r\n\
    Connection: keep-alive\r\n\
    ETag: \"692c2c10-b\"\r\n\
    Accept-Ranges: bytes\r\n\
    \r\n\
    hello world";

/// Where the seconds of Date stand in it.
const SECONDS: usize = 66;

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\n\
    Server: nginx/1.22.1\r\n\
    Date: Mon, 30 Nov 2026 11:43:00 GMT\r\n\
    Content-Type: text/plain\r\n\
    Transfer-Encoding: chunked\r\n\
    Connection: keep-alive\r\n\
    \r\n\
    b\r\nhello world\r\n0\r\n\r\n";

const KIND: RequestKind = RequestKind { is_head: false, keep_alive: true, http_1_0: false };

/// One way to read one answer; gives the number of content bytes, so that none is optimised away.
type Read = fn(&mut Parser, &[u8]) -> u64;

const CASES: [(&str, Read); 5] = [
    ("nginx, the same head again", |parser, _| receive(parser, &[NGINX])),
    ("nginx, another head each time", |parser, nginx| receive(parser, &[nginx])),
    ("nginx, cut inside a line", |parser, nginx| receive(parser, &[&nginx[..100], &nginx[100..]])),
    ("chunked, the same head again", |parser, _| receive(parser, &[CHUNKED])),
    ("httparse on the nginx head", |_, nginx| {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut response = httparse::Response::new(&mut headers);
        let status = response.parse(black_box(nginx)).expect("a valid head");
        status.unwrap() as u64
    }),
];

fn receive(parser: &mut Parser, pieces: &[&[u8]]) -> u64 {
    parser.reset(KIND);
    let mut outcome = None;
    for piece in pieces {
        outcome = parser.receive(black_box(piece)).expect("a valid answer");
    }
    outcome.expect("a whole answer").body_bytes
}

fn round(read: Read, parser: &mut Parser) -> f64 {
    // Two answers in turn, with another second in Date.
    let answers = [NGINX, &[&NGINX[..SECONDS], b"07", &NGINX[SECONDS + 2..]].concat()];
    let begin = Instant::now();
    for n in 0..ANSWERS_PER_ROUND as usize {
        black_box(read(parser, answers[n % 2]));
    }
    begin.elapsed().as_nanos() as f64 / f64::from(ANSWERS_PER_ROUND)
}

fn main() {
    let mut parser = Parser::new(KIND);
    let mut rounds_ns = CASES.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((_, read), rounds_ns) in CASES.iter().zip(&mut rounds_ns) {
            rounds_ns.push(round(*read, &mut parser));
        }
    }
    println!("{:<32} {:>8} {:>8}   ns an answer of {} bytes", "", "best", "median", NGINX.len());
    for ((name, _), mut rounds_ns) in CASES.iter().zip(rounds_ns) {
        rounds_ns.sort_by(f64::total_cmp);
        println!("{name:<32} {:>8.1} {:>8.1}", rounds_ns[0], rounds_ns[ROUNDS / 2]);
    }
}
