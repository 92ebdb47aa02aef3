//! The lines of a head: their ends, folds, names, odd bytes, and how much there may be of them.

use volley_e2e::zoo::{Animal, answers};

use super::reasons;

fn with_lines(name: &'static str, lines: &str) -> Animal {
    answers(name, format!("HTTP/1.1 200 OK\r\n{lines}\r\nContent-Length: 5\r\n\r\nhello"))
}

fn with_bytes(name: &'static str, line: &[u8]) -> Animal {
    let head = [b"HTTP/1.1 200 OK\r\n", line, b"\r\nContent-Length: 5\r\n\r\nhello"].concat();
    answers(name, head)
}

pub(super) fn animals() -> Vec<Animal> {
    [ends(), folds(), names(), odd_bytes(), limits()].concat()
}

fn ends() -> Vec<Animal> {
    vec![
        answers("lines that end with LF", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
        answers("lines that end with either", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\nhello"),
        answers("lines that end with CR", "HTTP/1.1 200 OK\rContent-Length: 5\r\rhello")
            .fails("total_timeout")
            .asked_at_once()
            .within(super::SHORT),
        with_lines("a bare CR in a value", "X: a\rb"),
        with_lines("a CR too many at the end of a line", "X: y\r"),
        with_lines("Content-Length behind a CR", "X: y\rContent-Length: 1"),
    ]
}

fn folds() -> Vec<Animal> {
    vec![
        with_lines("a folded value", "X: a\r\n b\r\n\tc"),
        with_lines("a fold in the first line", "X: a\r\n   b"),
        answers("a length behind a fold", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello")
            .curl_says("exit 8, status 200, 0 bytes, A 3, R 3", reasons::FOLDED_LENGTH),
        answers(
            "a fold right behind the status line",
            "HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 5\r\n\r\nhello",
        )
        .fails("protocol"),
        with_lines("a fold of white space only", "X: a\r\n  "),
    ]
}

fn names() -> Vec<Animal> {
    vec![
        with_lines("white space before a colon", "X : y"),
        with_lines("no colon", "what is this").fails("protocol"),
        with_lines("no name", ": value"),
        with_lines("no value", "X:"),
        with_lines("a space in a name", "Some Header: y"),
        with_lines("marks in a name", "X!#$%&'*+-.^_`|~: y"),
        with_lines("brackets in a name", "X(y)[z]: y"),
        with_bytes("a name beyond ASCII", b"X-\xc3\xa4: y"),
        with_bytes("a control character in a name", b"X\x01: y")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::CONTROL_IN_NAME),
        with_lines("names in lower case", "server: x\r\ndate: y"),
        with_lines("the same name many times", "Set-Cookie: a=b; Path=/\r\n".repeat(100).trim_end()),
        with_lines("two dates", "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nDate: yesterday"),
    ]
}

fn odd_bytes() -> Vec<Animal> {
    vec![
        with_bytes("a NUL in a value", b"X: a\0b").fails("protocol"),
        with_bytes("a NUL in a name", b"X\0Y: z").fails("protocol"),
        answers("a NUL in the status line", "HTTP/1.1 200 O\0K\r\nContent-Length: 5\r\n\r\nhello")
            .fails("protocol"),
        with_bytes("bytes beyond ASCII in a value", b"X: \xff\xfe\x80\xc3"),
        with_bytes("control characters in a value", b"X: \x01\x02\x1b[31m\x7f"),
        with_lines("quotes and marks in a value", "X: \"a\\\"b\", <c>; d='e', {f}"),
        with_lines("white space around a value", "X: \t  y \t "),
    ]
}

fn limits() -> Vec<Animal> {
    let many = |count: usize| {
        let lines: Vec<String> = (0..count).map(|nth| format!("X-{nth}: y")).collect();
        lines.join("\r\n")
    };
    let long = |bytes: usize| format!("X: {}", "y".repeat(bytes));
    vec![
        with_lines("199 header lines and a length", &many(199)),
        with_lines("300 header lines", &many(300))
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", "at most 200 lines; curl takes 5,000"),
        with_lines("a line of 60 KiB", &long(60 << 10)),
        with_lines("a line of 100 KiB", &long(100 << 10)).fails("protocol"),
        with_lines("a head of 60 KiB", &vec![long(6 << 10); 10].join("\r\n")),
        with_lines("a head of 100 KiB", &vec![long(10 << 10); 10].join("\r\n"))
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", "at most 64 KiB; curl takes 300"),
        answers("a head without an end", format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(100_000)))
            .fails("protocol"),
        answers("a status line without an end", format!("HTTP/1.1 200 {}", "x".repeat(1 << 20)))
            .fails("protocol"),
    ]
}
