//! When a connection may be used again: bodies that end with it, HTTP/1.0, and what Connection says.

use volley_e2e::zoo::{Animal, animal, answers, closes};

use super::{HELLO, reasons};

pub(super) fn animals() -> Vec<Animal> {
    [until_close(), http_1_0(), lists()].concat()
}

fn until_close() -> Vec<Animal> {
    vec![
        closes("a body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\nhello"),
        closes("the same with close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"),
        closes("the same with keep-alive", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhello"),
        closes("no body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\n").gives(200, 0),
        closes("a mebibyte that ends with the connection", {
            format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20))
        })
        .gives(200, 1 << 20),
        closes("a 404 that ends with the connection", "HTTP/1.1 404 -\r\n\r\nhello").gives(404, 5),
        animal("a body that ends with a reset", |talk| {
            talk.request()?;
            talk.send("HTTP/1.1 200 OK\r\n\r\nhello")?;
            talk.reset()
        })
        .fails("reset"),
    ]
}

fn http_1_0() -> Vec<Animal> {
    let old = |name, lines: &str| answers(name, format!("HTTP/1.0 200 OK\r\n{lines}\r\n\r\nhello"));
    vec![
        closes("HTTP/1.0 without a header", "HTTP/1.0 200 OK\r\n\r\nhello"),
        closes("HTTP/1.0 with a length", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        old("HTTP/1.0 that isn't closed", "Content-Length: 5").one_connection_each(),
        old("HTTP/1.0 with keep-alive", "Content-Length: 5\r\nConnection: keep-alive"),
        old("HTTP/1.0 with Keep-Alive in capitals", "Content-Length: 5\r\nCONNECTION: KEEP-ALIVE"),
        old("HTTP/1.0 with keep-alive and close", "Content-Length: 5\r\nConnection: keep-alive, close")
            .one_connection_each()
            .curl_says(
                "exit 0, status 200, 5 bytes, A 1, R 3",
                "RFC 9112 section 9.3: close goes before keep-alive",
            ),
        closes(
            "HTTP/1.0 with keep-alive and no length",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello",
        ),
        closes("half of a body of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            .fails("truncated"),
    ]
}

fn lists() -> Vec<Animal> {
    let says = |name, lines: &str| {
        answers(name, format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{lines}\r\n\r\nhello"))
    };
    vec![
        says("Connection: close, and no close", "Connection: close").one_connection_each(),
        says("Connection: Close in odd case", "cOnNeCtIoN: cLoSe").one_connection_each(),
        says("Connection: keep-alive", "Connection: keep-alive"),
        says("Connection with both", "Connection: keep-alive, close").one_connection_each(),
        says("Connection with both in two lines", "Connection: keep-alive\r\nConnection: close")
            .one_connection_each(),
        says("Connection: close among others", "Connection: x-y ,, close ,z").one_connection_each(),
        says("Connection with something that begins like close", "Connection: closed, not-close").curl_says(
            "exit 0, status 200, 5 bytes, A 3, R 3",
            "curl finds close in the middle of other words",
        ),
        says("Connection: close, folded", "Connection: keep-alive,\r\n close")
            .one_connection_each()
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", reasons::FOLDED_CLOSE),
        says("Keep-Alive with its bounds", "Keep-Alive: timeout=5, max=100\r\nConnection: Keep-Alive"),
        says("an empty Connection", "Connection:"),
        says("Proxy-Connection: close", "Proxy-Connection: close"),
        animal("a visitor who wants no keep-alive, and gets none", |talk| {
            let Some(request) = talk.request()? else { return Ok(()) };
            let says_close = request.header("connection") == Some("close");
            talk.send(if says_close { HELLO } else { "HTTP/1.1 400 -\r\nContent-Length: 0\r\n\r\n" })?;
            talk.close()
        })
        .with("keep_alive: false", &["-H", "Connection: close"])
        .one_connection_each(),
        answers("a visitor who wants no keep-alive, and gets it", HELLO)
            .with("keep_alive: false", &["-H", "Connection: close"])
            .one_connection_each()
            .curl_says(
                "exit 0, status 200, 5 bytes, A 1, R 3",
                "curl does not look at the headers that it was given",
            ),
    ]
}
