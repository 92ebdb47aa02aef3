//! Ends of connections: idle ones, such with a request on them, in every phase, by close and by reset.

use std::io;

use volley_e2e::zoo::{Animal, Habitat, Talk, animal, closes};

use super::{HELLO, reasons};

type Ending = fn(&mut Talk) -> io::Result<()>;

pub(super) fn animals() -> Vec<Animal> {
    [idle(), under_a_request(), on_a_fresh_one(), by_reset(), nobody()].concat()
}

fn idle() -> Vec<Animal> {
    let polite = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    vec![
        closes("closed after each answer without a word", HELLO),
        closes("closed after each answer without a word, POST", HELLO).posted().paced(),
        closes("closed after each answer without a word, HEAD", head).headed().gives(200, 0),
        closes("closed a while after each answer", HELLO).paced(),
        closes("closed after each answer with a word", polite),
        closes("closed after each answer with a word, POST", polite).posted(),
        closes("closed after each chunked answer", {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        }),
        animal("closed after every second answer", |talk| {
            for _ in 0..2 {
                talk.request()?;
                talk.send(HELLO)?;
            }
            talk.close()
        })
        .asked(6)
        .connections(3..=3),
        animal("reset after each answer", |talk| {
            talk.request()?;
            talk.send(HELLO)?;
            talk.reset()
        })
        .paced()
        .one_connection_each(),
    ]
}

/// Each connection's second request is read, and then the connection ends.
fn under_a_request() -> Vec<Animal> {
    let at_the_second = |name, end: Ending| {
        animal(name, move |talk| {
            talk.request()?;
            talk.send(HELLO)?;
            talk.request()?;
            end(talk)
        })
    };
    let twice = "curl sends again what the server may have processed";
    vec![
        // The one that was cut off is sent again, and is the first on its new connection.
        at_the_second("closed under a request, GET", Talk::close).connections(3..=3).seen(5..=5),
        at_the_second("closed under a request, PUT", Talk::close)
            .with("method: PUT\nbody: hello", &["-X", "PUT", "-d", "hello"])
            .connections(3..=3)
            .seen(5..=5),
        at_the_second("reset under a request, GET", Talk::reset).connections(3..=3).seen(5..=5),
        at_the_second("closed under a request, POST", Talk::close)
            .posted()
            .asked(4)
            .fails_after(2, "closed_early")
            .connections(2..=2)
            .curl_says("exit 0, status 200, 5 bytes, A 4, R 7", twice),
        at_the_second("closed under a request, PATCH", Talk::close)
            .with("method: PATCH\nbody: hello", &["-X", "PATCH", "-d", "hello"])
            .asked(4)
            .fails_after(2, "closed_early")
            .connections(2..=2)
            .curl_says("exit 0, status 200, 5 bytes, A 4, R 7", twice),
        at_the_second("reset under a request, POST", Talk::reset)
            .posted()
            .asked(4)
            .fails_after(2, "reset")
            .connections(2..=2)
            .curl_says("exit 0, status 200, 5 bytes, A 4, R 7", twice),
        animal("closed within the second answer", |talk| {
            talk.request()?;
            talk.send(HELLO)?;
            talk.request()?;
            talk.send("HTTP/1.1 200 OK\r\nContent-")?;
            talk.close()
        })
        .asked(4)
        .fails_after(2, "truncated")
        .connections(2..=2)
        .curl_says("exit 0, status 200, 5,0,5,0 bytes, A 2, R 4", reasons::CUT_HEAD),
    ]
}

/// A request on a fresh connection is never sent again.
fn on_a_fresh_one() -> Vec<Animal> {
    let silent = |name| {
        animal(name, |talk| {
            talk.request()?;
            talk.close()
        })
    };
    vec![
        silent("closed under the first request, GET").fails("closed_early"),
        silent("closed under the first request, POST").posted().fails("closed_early"),
        silent("closed under the first request, HEAD").headed().fails("closed_early"),
        animal("closed before there was a request", Talk::close).fails("closed_early").seen(0..=0),
        closes("closed after an empty line", "\r\n").fails("closed_early").curl_says(
            "exit 1, status 0, 0 bytes, A 3, R 3",
            "curl takes the line for HTTP/0.9; nothing of an answer came",
        ),
        closes("closed after a byte", "H").fails("truncated"),
        closes("closed within the status line", "HTTP/1.1 20").fails("truncated"),
        closes("closed within the head", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n").fails("truncated"),
        closes("closed before the last line end of the head", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r")
            .fails("truncated"),
    ]
}

fn by_reset() -> Vec<Animal> {
    let after = |name, bytes: &'static str| {
        animal(name, move |talk| {
            talk.request()?;
            talk.send(bytes)?;
            talk.reset()
        })
        .fails("reset")
    };
    vec![
        animal("reset before there was a request", Talk::reset).fails("reset").seen(0..=0),
        after("reset under the first request", ""),
        after("reset under the first request, POST", "").posted(),
        after("reset within the status line", "HTTP/1.1 20"),
        after("reset within the head", "HTTP/1.1 200 OK\r\nContent-"),
        after("reset between head and body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        after("reset within the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"),
        after("reset within a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello"),
        after("reset within a large body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello"),
    ]
}

fn nobody() -> Vec<Animal> {
    vec![animal("nobody listens", |_| Ok(())).living(Habitat::Nobody).is_never_reached("connect_refused")]
}
