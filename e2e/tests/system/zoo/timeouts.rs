//! What takes too long, and what takes long but not too long.

use volley_e2e::zoo::{Animal, Habitat, Talk, animal, answers};

use super::{HELLO, SHORT};

const NO_SUCH: &str = "curl has no such time-out";

pub(super) fn animals() -> Vec<Animal> {
    [total(), first_byte(), idle(), connecting()].concat()
}

/// Answers with these bytes, if any, and no more.
fn stalls(name: &'static str, bytes: &'static str) -> Animal {
    animal(name, move |talk| {
        talk.request()?;
        talk.send(bytes)?;
        talk.drain()
    })
    .asked_at_once()
}

/// Answers with these bytes, 50 ms apart.
fn trickles(name: &'static str, head: &'static str, bytes: &'static str) -> Animal {
    animal(name, move |talk| {
        while talk.request()?.is_some() {
            talk.send(head)?;
            for byte in bytes.bytes() {
                talk.pause_ms(50);
                talk.send([byte])?;
            }
        }
        Ok(())
    })
    .asked_at_once()
}

const TEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";

fn total() -> Vec<Animal> {
    vec![
        stalls("never answers", "").fails("total_timeout").within(SHORT),
        stalls("never answers, POST", "").posted().fails("total_timeout").within(SHORT),
        stalls("stalls after an interim answer", "HTTP/1.1 103 -\r\n\r\n")
            .fails("total_timeout")
            .within(SHORT),
        stalls("stalls within the head", "HTTP/1.1 200 OK\r\nContent-").fails("total_timeout").within(SHORT),
        stalls("stalls between head and body", TEN).fails("total_timeout").within(SHORT),
        stalls("stalls within the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            .fails("total_timeout")
            .within(SHORT),
        stalls("stalls within a large body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello")
            .fails("total_timeout")
            .within(SHORT),
        stalls("stalls where only the close could end it", "HTTP/1.1 200 OK\r\n\r\nhello")
            .fails("total_timeout")
            .within(SHORT),
        stalls("stalls before the last chunk", {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        })
        .fails("total_timeout")
        .within(SHORT),
        trickles("a head that trickles", "", "HTTP/1.1 200 OK\r\n").fails("total_timeout").within(SHORT),
        trickles("a body that trickles", TEN, "0123456789").fails("total_timeout").within(SHORT),
        animal("answers when it is too late", |talk| {
            talk.request()?;
            talk.pause_ms(500);
            talk.send(HELLO)?;
            talk.drain()
        })
        .asked_at_once()
        .fails("total_timeout")
        .within(SHORT),
    ]
}

fn first_byte() -> Vec<Animal> {
    let bound = |animal: Animal| animal.with("first_byte_timeout: 200ms", &[]).without_curl(NO_SUCH);
    vec![
        bound(stalls("never answers, and the first byte is waited for", "")).fails("first_byte_timeout"),
        bound(stalls("never answers a POST, and the first byte is waited for", "").posted())
            .fails("first_byte_timeout"),
        bound(trickles("the first byte comes soon, and the last one doesn't", TEN, "0123456789"))
            .gives(200, 10),
    ]
}

fn idle() -> Vec<Animal> {
    let bound = |animal: Animal| animal.with("idle_timeout: 200ms", &[]).without_curl(NO_SUCH);
    vec![
        bound(stalls("stands still within the head", "HTTP/1.1 200 OK\r\nContent-")).fails("idle_timeout"),
        bound(stalls("stands still within the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"))
            .fails("idle_timeout"),
        bound(stalls(
            "stands still within a large body",
            "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello",
        ))
        .fails("idle_timeout"),
        bound(trickles("a body that trickles, and never stands still", TEN, "0123456789")).gives(200, 10),
        bound(animal("an answer that takes long to begin and isn't idle", |talk| {
            while talk.request()?.is_some() {
                talk.pause_ms(400);
                talk.send(HELLO)?;
            }
            Ok(())
        }))
        .asked_at_once(),
    ]
}

fn connecting() -> Vec<Animal> {
    let bound = |animal: Animal| animal.with("connect_timeout: 300ms", &["--connect-timeout", "0.3"]);
    vec![
        bound(answers("nobody takes the connection", HELLO).living(Habitat::Full).asked_at_once())
            .is_never_reached("connect_timeout"),
        bound(animal("nobody answers in the handshake", Talk::drain).asked_at_once())
            .at("https://127.0.0.1:{port}/")
            .fails("connect_timeout")
            .seen(0..=0),
    ]
}
