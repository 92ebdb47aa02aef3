//! Interim answers (1xx) before the final one, and upgrades that nobody asked for.

use volley_e2e::zoo::{Animal, animal, answers, closes};

use super::{HELLO, reasons};

const HINT: &str = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n";

pub(super) fn animals() -> Vec<Animal> {
    [before(), too_many(), endings(), upgrades()].concat()
}

fn before() -> Vec<Animal> {
    let of = |name, interim: &str| answers(name, format!("{interim}{HELLO}"));
    vec![
        of("100 that nobody asked for", "HTTP/1.1 100 Continue\r\n\r\n"),
        of("102", "HTTP/1.1 102 Processing\r\n\r\n"),
        of("103 with a link", HINT),
        of("two 103s", &HINT.repeat(2)),
        of("199", "HTTP/1.1 199 -\r\nX: y\r\n\r\n"),
        of("100, 102 and 103", &format!("HTTP/1.1 100 -\r\n\r\nHTTP/1.1 102 -\r\n\r\n{HINT}")),
        of("103 of HTTP/1.0", "HTTP/1.0 103 -\r\n\r\n").curl_says(
            "exit 0, status 200, 5 bytes, A 3, R 3",
            "the final answer decides, and that is one of HTTP/1.1",
        ),
        of("103 with a length that is nobody's", "HTTP/1.1 103 -\r\nContent-Length: 5\r\n\r\n"),
        of("103 that says chunked", "HTTP/1.1 103 -\r\nTransfer-Encoding: chunked\r\n\r\n"),
        of("100 without lines, LF only", "HTTP/1.1 100 Continue\n\n"),
        animal("103, and the answer a while later", |talk| {
            while talk.request()?.is_some() {
                talk.send(HINT)?;
                talk.pause_ms(20);
                talk.send(HELLO)?;
            }
            Ok(())
        }),
        animal("103 byte by byte", |talk| {
            while talk.request()?.is_some() {
                talk.drip(HINT)?;
                talk.send(HELLO)?;
            }
            Ok(())
        }),
    ]
}

fn too_many() -> Vec<Animal> {
    let of = |name, count| answers(name, format!("{}{HELLO}", "HTTP/1.1 102 -\r\n\r\n".repeat(count)));
    vec![
        of("a hundred interim answers", 100),
        of("a hundred and one interim answers", 101)
            .fails("protocol")
            .curl_says("exit 0, status 200, 5 bytes, A 1, R 3", "interim answers without end are bounded"),
    ]
}

fn endings() -> Vec<Animal> {
    vec![
        closes("103 and then the end", HINT).fails("truncated"),
        closes("half of a 103 and then the end", "HTTP/1.1 103 Early").fails("truncated"),
        answers("103 that says close", format!("HTTP/1.1 103 -\r\nConnection: close\r\n\r\n{HELLO}"))
            .one_connection_each(),
        animal("103 and then a reset", |talk| {
            talk.request()?;
            talk.send(HINT)?;
            talk.reset()
        })
        .fails("reset"),
    ]
}

fn upgrades() -> Vec<Animal> {
    let switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    vec![
        answers("101 that nobody asked for", switched)
            .fails("protocol")
            .curl_says("exit 28, status 101, 0 bytes, A 1, R 1", reasons::SWITCHED),
        answers("101 and an answer behind it", format!("{switched}{HELLO}"))
            .fails("protocol")
            .curl_says("exit 28, status 101, 43 bytes, A 1, R 1", reasons::SWITCHED),
        answers("101 and HTTP/2", format!("{}\0\0\0\x04\0\0\0\0\0", switched.replace("websocket", "h2c")))
            .fails("protocol")
            .curl_says("exit 28, status 101, 9 bytes, A 1, R 1", reasons::SWITCHED),
        answers(
            "an offer of h2c",
            "HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello",
        ),
        answers(
            "an offer of other versions",
            "HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":443\"; ma=60, h2=\":443\"\r\nContent-Length: 5\r\n\r\nhello",
        ),
        answers(
            "426, an upgrade demanded",
            "HTTP/1.1 426 -\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade\r\nContent-Length: 5\r\n\r\nhello",
        )
        .gives(426, 5),
    ]
}
