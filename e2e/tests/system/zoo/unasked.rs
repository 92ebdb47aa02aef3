//! What nobody asked for: bytes before an answer, behind it, and before there was a request.

use volley_e2e::zoo::{Animal, animal, answers};

use super::{HELLO, reasons};

const TIMED_OUT: &str = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

pub(super) fn animals() -> Vec<Animal> {
    [before(), behind(), idle()].concat()
}

fn before() -> Vec<Animal> {
    let after = |name, bytes: &str| answers(name, format!("{bytes}{HELLO}"));
    vec![
        after("an empty line before the answer", "\r\n")
            .curl_says("exit 1, status 0, 0 bytes, A 3, R 3", reasons::EMPTY_LINE),
        after("three empty lines before the answer", "\r\n\n\r\n")
            .curl_says("exit 1, status 0, 0 bytes, A 3, R 3", reasons::EMPTY_LINE),
        after("a word before the answer", "oops").fails("protocol"),
        after("a line before the answer", "oops\r\n").fails("protocol"),
        after("a space before the answer", " ").fails("protocol"),
        after("a NUL before the answer", "\0").fails("protocol"),
        animal("an answer before the request", |talk| {
            talk.send(HELLO)?;
            talk.request()?;
            talk.close()
        })
        .one_connection_each(),
    ]
}

fn behind() -> Vec<Animal> {
    let large = "x".repeat(200 << 10);
    vec![
        answers("two answers to one request", HELLO.repeat(2)).one_connection_each(),
        answers("an answer and a line end", format!("{HELLO}\r\n")).one_connection_each(),
        answers("an answer and a byte", format!("{HELLO}x")).one_connection_each(),
        answers(
            "a large answer and a second one",
            format!("HTTP/1.1 200 OK\r\nContent-Length: 204800\r\n\r\n{large}{HELLO}"),
        )
        .gives(200, 200 << 10)
        .one_connection_each()
        .without_curl(reasons::NEXT_ANSWER),
    ]
}

/// With a pause between requests, in which the surplus comes.
fn idle() -> Vec<Animal> {
    let later = |name, surplus: &'static str| {
        animal(name, move |talk| {
            talk.request()?;
            talk.send(HELLO)?;
            talk.pause_ms(20);
            talk.send(surplus)?;
            talk.drain()
        })
        .paced()
        .one_connection_each()
        .without_curl(reasons::NEXT_ANSWER)
    };
    vec![
        later("a second answer a while later", HELLO),
        later("a byte a while later", "x"),
        later("an interim answer a while later", "HTTP/1.1 100 Continue\r\n\r\n"),
        animal("408 to an idle connection, and the end", |talk| {
            talk.request()?;
            talk.send(HELLO)?;
            talk.pause_ms(20);
            talk.send(TIMED_OUT)?;
            talk.close()
        })
        .paced()
        .one_connection_each()
        .without_curl(reasons::NEXT_ANSWER),
    ]
}
