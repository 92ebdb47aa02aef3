//! Status lines, from odd ones to such that are none.

use volley_e2e::zoo::{Animal, answers};

use super::reasons;

/// What follows the status line of a small answer.
const REST: &str = "\r\nContent-Length: 5\r\n\r\nhello";

fn with_line(name: &'static str, line: &str) -> Animal {
    answers(name, format!("{line}{REST}"))
}

pub(super) fn animals() -> Vec<Animal> {
    [good(), statuses(), versions(), no_codes()].concat()
}

fn good() -> Vec<Animal> {
    vec![
        with_line("a usual status line", "HTTP/1.1 200 OK"),
        with_line("no reason", "HTTP/1.1 200 "),
        with_line("no reason and no space before it", "HTTP/1.1 200"),
        with_line("a reason of one mark", "HTTP/1.1 200 -"),
        with_line("a reason in lower case", "HTTP/1.1 200 ok"),
        with_line(
            "a reason of several words and marks",
            "HTTP/1.1 200 Good \"as\" (gold); 404, really: yes!",
        ),
        answers(
            "a reason with bytes beyond ASCII",
            [b"HTTP/1.1 200 \xc3\xa4\xff\x80", REST.as_bytes()].concat(),
        ),
        with_line("a reason of a thousand bytes", &format!("HTTP/1.1 200 {}", "x".repeat(1000))),
        with_line("a tab in the reason", "HTTP/1.1 200 O\tK"),
        with_line("several spaces before the code", "HTTP/1.1   200 OK"),
        with_line("the reason glued to the code", "HTTP/1.1 200OK"),
    ]
}

fn statuses() -> Vec<Animal> {
    vec![
        with_line("status 299", "HTTP/1.1 299 -").gives(299, 5),
        with_line("a redirect that nobody follows", "HTTP/1.1 302 Found\r\nLocation: /other").gives(302, 5),
        with_line("status 404", "HTTP/1.1 404 Not Found").gives(404, 5),
        with_line("status 417 to nobody's expectation", "HTTP/1.1 417 -").gives(417, 5),
        with_line("status 500", "HTTP/1.1 500 Oh").gives(500, 5),
        with_line("status 600", "HTTP/1.1 600 -").gives(600, 5),
        with_line("status 999", "HTTP/1.1 999 Request denied").gives(999, 5),
    ]
}

fn versions() -> Vec<Animal> {
    vec![
        with_line("HTTP/1.2", "HTTP/1.2 200 OK").fails("protocol"),
        with_line("HTTP/1.10", "HTTP/1.10 200 OK").fails("protocol"),
        with_line("HTTP/2.0 in letters", "HTTP/2.0 200 OK")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::HTTP_2_HEADS),
        with_line("HTTP/2 in letters", "HTTP/2 200")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::HTTP_2_HEADS),
        with_line("HTTP/0.9 with a status line", "HTTP/0.9 200 OK").fails("protocol"),
        with_line("the version in lower case", "http/1.1 200 OK")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 3, R 3", reasons::VERSION_IN_CASE),
        with_line("ICY", "ICY 200 OK").fails("protocol"),
    ]
}

fn no_codes() -> Vec<Animal> {
    vec![
        with_line("status 000", "HTTP/1.1 000 -").fails("protocol"),
        with_line("status 099", "HTTP/1.1 099 -").fails("protocol"),
        with_line("status 1000", "HTTP/1.1 1000 -").fails("protocol"),
        with_line("a status of two digits", "HTTP/1.1 20 OK").fails("protocol"),
        with_line("a status with a letter", "HTTP/1.1 2o0 OK").fails("protocol"),
        with_line("a negative status", "HTTP/1.1 -200 OK").fails("protocol"),
        with_line("no status", "HTTP/1.1").fails("protocol"),
        with_line("a tab before the code", "HTTP/1.1\t200 OK").fails("protocol"),
        with_line("a code without a version", "200 OK").fails("protocol"),
        answers("no head at all", "hello, this is a body\n").fails("protocol"),
        answers("another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n").fails("protocol"),
        answers("two hundred bytes of 0xff", [0xff; 200]).fails("protocol"),
    ]
}
