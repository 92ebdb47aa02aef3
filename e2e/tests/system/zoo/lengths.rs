//! Content-Length, right and wrong, and answers that have no body whatever they say.

use volley_e2e::zoo::{Animal, answers, closes};

use super::reasons;

fn with_length(name: &'static str, lines: &str) -> Animal {
    answers(name, format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\nhello"))
}

pub(super) fn animals() -> Vec<Animal> {
    [right(), wrong_form(), wrong_number(), with_coding(), heads(), without_body()].concat()
}

fn right() -> Vec<Animal> {
    vec![
        with_length("a length in capitals", "CONTENT-LENGTH: 5"),
        with_length("a length without a space", "Content-Length:5"),
        with_length("a length among spaces and tabs", "Content-Length: \t 5 \t "),
        with_length("a length with zeros before it", "Content-Length: 0000000000000000000000005"),
        with_length("the same length twice in a line", "Content-Length: 5, 5"),
        with_length("the same length in two lines", "Content-Length: 5\r\nContent-Length: 5"),
        with_length(
            "the same length in three lines",
            "Content-Length: 5\r\nX: y\r\ncontent-length: 5\r\nContent-Length: 5",
        ),
        answers("a length of nothing", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").gives(200, 0),
        answers(
            "a length of a mebibyte",
            format!("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n{}", "x".repeat(1 << 20)),
        )
        .gives(200, 1 << 20),
    ]
}

fn wrong_form() -> Vec<Animal> {
    vec![
        with_length("two lengths in a line", "Content-Length: 5, 6")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::NOT_ONE_NUMBER),
        with_length("two lengths in two lines", "Content-Length: 5\r\nContent-Length: 6")
            .fails("protocol")
            .curl_says("exit 28, status 200, 5 bytes, A 1, R 1", reasons::LAST_LENGTH),
        with_length("a negative length", "Content-Length: -5").fails("protocol"),
        with_length("a length with a plus", "Content-Length: +5")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::NOT_ONE_NUMBER),
        with_length("an empty length", "Content-Length:").fails("protocol"),
        with_length("a length of 2^64", "Content-Length: 18446744073709551616")
            .fails("protocol")
            .curl_says("exit 28, status 200, 5 bytes, A 1, R 1", reasons::TOO_LONG_A_LENGTH),
        with_length("a length with its unit", "Content-Length: 5 bytes")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::NOT_ONE_NUMBER),
        with_length("a hexadecimal length", "Content-Length: 0x5")
            .fails("protocol")
            .curl_says("exit 0, status 200, 0 bytes, A 1, R 3", reasons::NOT_ONE_NUMBER),
        with_length("a decimal fraction for a length", "Content-Length: 5.0")
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::NOT_ONE_NUMBER),
        with_length("white space between length and colon", "Content-Length : 5")
            .fails("protocol")
            .curl_says("exit 28, status 200, 5 bytes, A 1, R 1", reasons::SPACE_BEFORE_COLON),
    ]
}

fn wrong_number() -> Vec<Animal> {
    vec![
        closes("half of a body and then the end", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            .fails("truncated"),
        closes("nothing of a body and then the end", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
            .fails("truncated"),
        closes("most of a mebibyte and then the end", {
            format!("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n{}", "x".repeat((1 << 20) - 1))
        })
        .fails("truncated"),
        closes(
            "a length of 2^63 and then the end",
            "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nx",
        )
        .fails("truncated")
        .curl_says("exit 0, status 200, 1 bytes, A 3, R 3", reasons::TOO_LONG_A_LENGTH),
        with_length("a body longer than its length", "Content-Length: 3").gives(200, 3).one_connection_each(),
        with_length("a body without a length of its own", "Content-Length: 0")
            .gives(200, 0)
            .one_connection_each()
            .curl_says("exit 0, status 200, 0 bytes, A 1, R 3", reasons::SURPLUS),
    ]
}

fn with_coding() -> Vec<Animal> {
    let chunked = |name, lines: &str| {
        answers(name, format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
    };
    vec![
        chunked("a length and chunked", "Content-Length: 3\r\nTransfer-Encoding: chunked"),
        chunked("chunked and a length", "Transfer-Encoding: chunked\r\nContent-Length: 3000"),
        chunked(
            "chunked and two lengths",
            "Content-Length: 3\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
        ),
        chunked("chunked and a length that is none", "Transfer-Encoding: chunked\r\nContent-Length: x")
            .curl_says("exit 8, status 200, 0 bytes, A 3, R 3", reasons::CHUNKED_BEFORE_LENGTH),
    ]
}

fn heads() -> Vec<Animal> {
    let head = |name, answer: &str| answers(name, answer).headed().gives(200, 0);
    vec![
        head("HEAD with a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        head("HEAD without a length", "HTTP/1.1 200 OK\r\n\r\n"),
        head("HEAD that says chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        head("HEAD with a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")
            .curl_says("exit 8, status 200, 0 bytes, A 3, R 3", reasons::HEAD_HAS_NO_BODY),
        head("HEAD with two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        head("HEAD that says close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").one_connection_each(),
        head("HEAD with a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            .one_connection_each()
            .curl_says("exit 0, status 200, 0 bytes, A 1, R 3", reasons::SURPLUS),
        answers("HEAD with 404", "HTTP/1.1 404 -\r\nContent-Length: 9\r\n\r\n").headed().gives(404, 0),
    ]
}

fn without_body() -> Vec<Animal> {
    let of = |name, status, answer: &str| answers(name, answer).gives(status, 0);
    vec![
        of("204", 204, "HTTP/1.1 204 No Content\r\n\r\n"),
        of("204 with a length of 0", 204, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"),
        of("204 with a length", 204, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
        of("204 that says chunked", 204, "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
        of("204 with a body", 204, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")
            .one_connection_each()
            .curl_says("exit 0, status 204, 0 bytes, A 1, R 3", reasons::SURPLUS),
        of("205 with a length of 0", 205, "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"),
        of(
            "205 with an empty chunked body",
            205,
            "HTTP/1.1 205 -\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        closes("205 that ends with the connection", "HTTP/1.1 205 Reset Content\r\n\r\n").gives(205, 0),
        of("304", 304, "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"),
        of("304 with a length", 304, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        of("304 that says chunked", 304, "HTTP/1.1 304 -\r\nTransfer-Encoding: chunked\r\n\r\n"),
        of("304 with a body", 304, "HTTP/1.1 304 -\r\nContent-Length: 5\r\n\r\nhello")
            .one_connection_each()
            .curl_says("exit 0, status 304, 0 bytes, A 1, R 3", reasons::SURPLUS),
    ]
}
