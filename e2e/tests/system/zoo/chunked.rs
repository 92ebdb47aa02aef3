//! The chunked transfer coding, as it may be and as it may not.

use volley_e2e::zoo::{Animal, answers, closes};

use super::reasons;

const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunked(name: &'static str, body: &str) -> Animal {
    answers(name, format!("{HEAD}{body}"))
}

fn cut(name: &'static str, body: &str) -> Animal {
    closes(name, format!("{HEAD}{body}")).fails("truncated")
}

pub(super) fn animals() -> Vec<Animal> {
    [sizes(), wrong_sizes(), extensions(), trailers(), ends(), codings()].concat()
}

fn sizes() -> Vec<Animal> {
    vec![
        chunked("one chunk", "5\r\nhello\r\n0\r\n\r\n"),
        chunked("five chunks", "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"),
        chunked("no chunk but the last", "0\r\n\r\n").gives(200, 0),
        chunked("a size in lower case", "a\r\n0123456789\r\n0\r\n\r\n").gives(200, 10),
        chunked("a size in upper case", "A\r\n0123456789\r\n0\r\n\r\n").gives(200, 10),
        chunked("a size with zeros before it", "0000000000005\r\nhello\r\n0\r\n\r\n"),
        chunked("a last chunk of many zeros", "5\r\nhello\r\n0000\r\n\r\n"),
        chunked("white space behind a size", "5 \t \r\nhello\r\n0  \r\n\r\n"),
        chunked("a chunk of 64 KiB", &format!("10000\r\n{}\r\n0\r\n\r\n", "x".repeat(65536)))
            .gives(200, 65536),
        chunked("a thousand chunks", &format!("{}0\r\n\r\n", "1\r\nx\r\n".repeat(1000))).gives(200, 1000),
        chunked("chunks that end with LF", "5\nhello\n0\n\n"),
    ]
}

fn wrong_sizes() -> Vec<Animal> {
    vec![
        chunked("a size that is no number", "xyz\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        chunked("a size with a letter too many", "5g\r\nhello\r\n0\r\n\r\n")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::BEHIND_A_SIZE),
        chunked("a negative size", "-5\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        chunked("a size with 0x before it", "0x5\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        chunked("no size", "\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        chunked("a space before a size", " 5\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        chunked("a size of seventeen digits", "10000000000000000\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        chunked("a size of seventeen digits, most of them zeros", "00000000000000005\r\nhello\r\n0\r\n\r\n")
            .fails("protocol"),
        cut("a size of 2^60", "1000000000000000\r\nhello"),
        cut("a size of 2^64 - 1", "ffffffffffffffff\r\nhello"),
    ]
}

fn extensions() -> Vec<Animal> {
    let long = |name, length| chunked(name, &format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(length)));
    vec![
        chunked("an extension", "5;a=b\r\nhello\r\n0;c\r\n\r\n"),
        chunked("an extension in quotes", "5;a=\"b; c, d\"\r\nhello\r\n0\r\n\r\n"),
        chunked("an extension behind white space", "5 ; a = b\r\nhello\r\n0\r\n\r\n"),
        chunked("a semicolon and no extension", "5;\r\nhello\r\n0\r\n\r\n"),
        long("an extension of 4,000 bytes", 4000),
        long("an extension of 10,000 bytes", 10_000)
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", "extensions are bounded"),
        chunked("a bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::BARE_CR),
    ]
}

fn trailers() -> Vec<Animal> {
    let with = |name, trailers: &str| chunked(name, &format!("5\r\nhello\r\n0\r\n{trailers}\r\n"));
    vec![
        with("a trailer", "Expires: never\r\n"),
        with("ten trailers", &"X: y\r\n".repeat(10)),
        with("a trailer of a length", "Content-Length: 7\r\n"),
        with("a trailer that says close", "Connection: close\r\n"),
        with("a folded trailer", "X: y\r\n z\r\n"),
        with("a trailer without a colon", "what\r\n").fails("protocol"),
        with("a trailer of 100 KiB", &format!("X: {}\r\n", "y".repeat(100 << 10))).fails("protocol"),
        cut("the end among the trailers", "5\r\nhello\r\n0\r\nX: y\r\n"),
    ]
}

fn ends() -> Vec<Animal> {
    vec![
        chunked("a chunk without its line end", "5\r\nhello0\r\n\r\n").fails("protocol"),
        chunked("a chunk longer than its size", "3\r\nhello\r\n0\r\n\r\n").fails("protocol"),
        cut("a chunk shorter than its size", "9\r\nhello"),
        cut("no last chunk", "5\r\nhello\r\n"),
        cut("a last chunk that is cut", "5\r\nhello\r\n0"),
        cut("a last line that is cut", "5\r\nhello\r\n0\r\n"),
        cut("no chunk at all", ""),
        chunked("bytes behind the last chunk", "5\r\nhello\r\n0\r\n\r\nmore")
            .one_connection_each()
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::SURPLUS),
    ]
}

fn codings() -> Vec<Animal> {
    let coded = |name, coding: &str| {
        answers(name, format!("HTTP/1.1 200 OK\r\n{coding}\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
    };
    vec![
        coded("chunked in odd case", "transfer-encoding: CHUNKED"),
        coded("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        coded("identity and chunked", "Transfer-Encoding: identity, chunked"),
        coded("chunked with a parameter", "Transfer-Encoding: chunked;q=1").fails("protocol"),
        closes("a coding that isn't chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello"),
        answers("chunked of HTTP/1.0", {
            let head = HEAD.replace("HTTP/1.1 200 OK", "HTTP/1.0 200 OK\r\nConnection: keep-alive");
            format!("{head}5\r\nhello\r\n0\r\n\r\n")
        })
        .one_connection_each()
        .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::CHUNKED_HTTP_1_0),
    ]
}
