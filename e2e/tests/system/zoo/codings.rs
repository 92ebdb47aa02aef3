//! Content codings of bodies that a check reads, and of such that nobody reads; and the checks themselves.

use volley_e2e::zoo::{Animal, answers};

const TEXT: &str = "hello world";
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x57\x28\
    \xcf\x2f\xca\x49\x01\x00\x85\x11\x4a\x0d\x0b\x00\x00\x00";
const ZLIB: &[u8] = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x57\x28\xcf\x2f\xca\x49\x01\x00\x1a\x0b\x04\x5d";
/// Deflate without zlib's frame, as some servers understand `deflate`.
const DEFLATE: &[u8] = b"\xcb\x48\xcd\xc9\xc9\x57\x28\xcf\x2f\xca\x49\x01\x00";
/// One block that isn't compressed (RFC 7932 section 9.2), and the empty last one.
const BROTLI: &[u8] = b"\xa0\x00\x10hello world\x03";
/// One raw block (RFC 8878 section 3.1.1.2).
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x0b\x59\x00\x00hello world";

/// A body of its declared length.
fn coded(name: &'static str, coding: &str, body: &[u8]) -> Animal {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    answers(name, [head.as_bytes(), body].concat()).gives(200, body.len() as u64)
}

/// One that is read, and is the text.
fn right(name: &'static str, coding: &str, body: &[u8]) -> Animal {
    coded(name, coding, body).decoded_to(TEXT)
}

/// One that is read, and can't be decoded.
fn wrong(name: &'static str, coding: &str, body: &[u8]) -> Animal {
    right(name, coding, body).disappoints("decode", 200, body.len() as u64)
}

pub(super) fn animals() -> Vec<Animal> {
    [decoded(), not_decoded(), unread(), checks()].concat()
}

fn decoded() -> Vec<Animal> {
    let gzip_in_chunks = [
        format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
            GZIP.len()
        )
        .as_bytes(),
        GZIP,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    vec![
        right("gzip", "gzip", GZIP),
        right("x-gzip", "x-gzip", GZIP),
        right("gzip in capitals", "GZIP", GZIP),
        right("deflate", "deflate", ZLIB),
        right("deflate without its frame", "deflate", DEFLATE),
        right("br", "br", BROTLI),
        right("zstd", "zstd", ZSTD),
        right("identity", "identity", TEXT.as_bytes()),
        right("gzip and identity", "gzip, identity", GZIP),
        answers("gzip in chunks", gzip_in_chunks).gives(200, GZIP.len() as u64).decoded_to(TEXT),
    ]
}

fn not_decoded() -> Vec<Animal> {
    let mut bad_sum = GZIP.to_vec();
    bad_sum[25] ^= 1;
    vec![
        wrong("plain text that is called gzip", "gzip", TEXT.as_bytes()),
        wrong("plain text that is called deflate", "deflate", TEXT.as_bytes()),
        wrong("plain text that is called br", "br", TEXT.as_bytes()),
        wrong("plain text that is called zstd", "zstd", TEXT.as_bytes()),
        wrong("half of gzip", "gzip", &GZIP[..18]).curl_says(
            "exit 0, status 200, 18 bytes, A 1, R 3",
            "curl doesn't mind that a coded body is cut",
        ),
        wrong("half of br", "br", &BROTLI[..8])
            .curl_says("exit 0, status 200, 8 bytes, A 1, R 3", "curl doesn't mind that a coded body is cut"),
        wrong("half of zstd", "zstd", &ZSTD[..12]).curl_says(
            "exit 0, status 200, 12 bytes, A 1, R 3",
            "curl doesn't mind that a coded body is cut",
        ),
        wrong("gzip with a wrong sum", "gzip", &bad_sum),
        wrong("a coding that nobody knows", "snappy", TEXT.as_bytes()),
        wrong("gzip that is called br", "br", GZIP),
        wrong("gzip once that is called gzip twice", "gzip, gzip", GZIP),
    ]
}

fn unread() -> Vec<Animal> {
    vec![
        coded("gzip that nobody reads", "gzip", GZIP),
        coded("plain text that is called gzip and that nobody reads", "gzip", TEXT.as_bytes()),
        coded("an unknown coding that nobody reads", "snappy", TEXT.as_bytes()),
        answers("HEAD of gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 31\r\n\r\n")
            .headed()
            .gives(200, 0),
    ]
}

const CURL_CHECKS_NOTHING: &str = "curl checks nothing";

fn checks() -> Vec<Animal> {
    let hello = |name, status: u16| {
        answers(name, format!("HTTP/1.1 {status} -\r\nContent-Length: 5\r\n\r\nhello")).gives(status, 5)
    };
    let checked = |animal: Animal, check: &str| {
        animal.with(&format!("check: {{ {check} }}"), &[]).without_curl(CURL_CHECKS_NOTHING)
    };
    vec![
        checked(hello("another body than the check's", 200), "body: { is: other }")
            .disappoints("check", 200, 5),
        checked(hello("a body that has the check's text", 200), "body: { contains: ell }"),
        checked(hello("a body without the check's text", 200), "body: { contains: elk }")
            .disappoints("check", 200, 5),
        checked(hello("a body of the check's length", 200), "body: { bytes: 5 }"),
        checked(hello("a body of another length", 200), "body: { bytes: 6 }").disappoints("check", 200, 5),
        checked(hello("404 that the check allows", 404), "status: 404").allowed(),
        checked(hello("404 among those that the check allows", 404), "status: [200, \"4xx\"]").allowed(),
        checked(hello("200 that the check doesn't allow", 200), "status: 404").disappoints("status", 200, 5),
    ]
}
