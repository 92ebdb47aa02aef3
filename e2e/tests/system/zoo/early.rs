//! Answers before the whole request is there, and `Expect: 100-continue`.

use volley_e2e::zoo::{Animal, Talk, animal, answers};

use super::{HELLO, reasons};

const TOO_LARGE: &str =
    "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno\n";
const GO_ON: &str = "HTTP/1.1 100 Continue\r\n\r\n";

pub(super) fn animals() -> Vec<Animal> {
    [large_bodies(), asked_first(), refused_first()].concat()
}

fn large_bodies() -> Vec<Animal> {
    let early = |name, answer: &'static str| {
        animal(name, move |talk| {
            talk.head()?;
            talk.send(answer)?;
            talk.close()
        })
        .posted_large()
        .one_connection_each()
    };
    vec![
        answers("a large body", HELLO).posted_large(),
        early("413 to a large body", TOO_LARGE).gives(413, 3),
        early("413 to a large body, without a word about closing", {
            "HTTP/1.1 413 -\r\nContent-Length: 3\r\n\r\nno\n"
        })
        .gives(413, 3),
        early("200 to a large body that isn't there yet", {
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
        }),
        early("413 that ends with the connection", "HTTP/1.1 413 -\r\n\r\nno\n").gives(413, 3),
        animal("103 to a large body that isn't there yet", |talk| {
            while let Some(request) = talk.head()? {
                talk.send("HTTP/1.1 103 -\r\n\r\n")?;
                talk.body(&request)?;
                talk.send(HELLO)?;
            }
            Ok(())
        })
        .posted_large(),
        animal("a large body that is never read", |talk| {
            talk.head()?;
            talk.pause_ms(600);
            Ok(())
        })
        .posted_large()
        .asked_at_once()
        .fails("total_timeout")
        .within(super::SHORT),
    ]
}

/// Asked with a body that is held back for a second, or until the server says so.
fn asks_first(animal: Animal, wait: &str) -> Animal {
    let seconds = if wait == "1s" { "1" } else { "0.1" };
    animal.with(
        &format!("method: POST\nbody: hello\nask_first: {wait}"),
        &["-d", "hello", "-H", "Expect: 100-continue", "--expect100-timeout", seconds],
    )
}

/// Takes a head that asks first. One that doesn't, or behind which the body comes at once, is told 400.
fn head_that_asks(talk: &mut Talk) -> std::io::Result<Option<volley_e2e::Request>> {
    let Some(request) = talk.head()? else { return Ok(None) };
    if request.header("expect") == Some("100-continue") && talk.is_silent_for_ms(20)? {
        return Ok(Some(request));
    }
    talk.send("HTTP/1.1 400 -\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")?;
    Ok(None)
}

fn asked_first() -> Vec<Animal> {
    let goes_on = |name, leave: &'static str| {
        animal(name, move |talk| {
            while let Some(request) = head_that_asks(talk)? {
                talk.send(leave)?;
                talk.body(&request)?;
                talk.send(HELLO)?;
            }
            Ok(())
        })
    };
    vec![
        asks_first(goes_on("100, as asked", GO_ON), "1s"),
        asks_first(goes_on("100, as asked, twice", "HTTP/1.1 100 -\r\n\r\nHTTP/1.1 100 -\r\n\r\n"), "1s"),
        asks_first(goes_on("no 100, though asked", ""), "100ms"),
        asks_first(
            animal("100 when the body is there already", |talk| {
                while let Some(request) = head_that_asks(talk)? {
                    talk.body(&request)?;
                    talk.send(GO_ON)?;
                    talk.send(HELLO)?;
                }
                Ok(())
            }),
            "100ms",
        ),
    ]
}

fn refused_first() -> Vec<Animal> {
    let refuses = |name, answer: &'static str| {
        let animal = animal(name, move |talk| {
            if head_that_asks(talk)?.is_some() {
                talk.send(answer)?;
            }
            talk.drain()
        });
        asks_first(animal, "1s").one_connection_each()
    };
    vec![
        refuses("417, as asked", "HTTP/1.1 417 -\r\nContent-Length: 0\r\n\r\n")
            .gives(417, 0)
            .without_curl("curl sends the request again without asking first"),
        refuses("401, as asked", "HTTP/1.1 401 -\r\nContent-Length: 0\r\n\r\n").gives(401, 0),
        refuses("200 without the body that was asked about", HELLO).without_curl(reasons::BODY_BEHIND),
        refuses("307 without the body that was asked about", {
            "HTTP/1.1 307 -\r\nLocation: /\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        })
        .gives(307, 0),
    ]
}
