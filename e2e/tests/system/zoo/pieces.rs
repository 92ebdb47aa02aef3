//! Answers that come in pieces, cut anywhere.

use volley_e2e::zoo::{Animal, animal};

use super::HELLO;

const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=\"y\"\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n";

pub(super) fn animals() -> Vec<Animal> {
    [by_bytes(), cut_everywhere(), large()].concat()
}

fn by_bytes() -> Vec<Animal> {
    let dripped = |name, answer: &'static str| {
        animal(name, move |talk| {
            while talk.request()?.is_some() {
                talk.drip(answer)?;
            }
            Ok(())
        })
    };
    vec![
        dripped("an answer byte by byte", HELLO),
        dripped("a chunked answer byte by byte", CHUNKED),
        dripped(
            "lines that end with LF, byte by byte",
            "HTTP/1.1 200 OK\nX: a\n b\nContent-Length: 5\n\nhello",
        ),
        animal("a body that ends with the connection, byte by byte", |talk| {
            talk.request()?;
            talk.drip("HTTP/1.1 200 OK\r\n\r\nhello")?;
            talk.close()
        })
        .one_connection_each(),
        animal("a head, and the body a while later", |talk| {
            while talk.request()?.is_some() {
                talk.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")?;
                talk.pause_ms(20);
                talk.send("hello")?;
            }
            Ok(())
        }),
        animal("an answer a while later", |talk| {
            while talk.request()?.is_some() {
                talk.pause_ms(20);
                talk.send(HELLO)?;
            }
            Ok(())
        }),
    ]
}

/// The first answer is cut behind its first byte, the second one behind its second, and so on.
fn cut_everywhere() -> Vec<Animal> {
    let cut = |name, answer: &'static str| {
        animal(name, move |talk| {
            while let Some(request) = talk.request()? {
                let (front, rest) = answer.split_at(usize::try_from(request.on_connection).unwrap_or(0));
                talk.send(front)?;
                talk.pause_ms(2);
                talk.send(rest)?;
            }
            Ok(())
        })
        .asked(answer.len() as u64)
    };
    vec![cut("an answer cut at every place", HELLO), cut("a chunked answer cut at every place", CHUNKED)]
}

fn large() -> Vec<Animal> {
    let pieces = |name, head: &'static str, piece: String, end: &'static str| {
        animal(name, move |talk| {
            while talk.request()?.is_some() {
                talk.send(head)?;
                for _ in 0..100 {
                    talk.send(&piece)?;
                }
                talk.send(end)?;
            }
            Ok(())
        })
    };
    vec![
        pieces(
            "a hundred kilobytes in pieces",
            "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
            "x".repeat(1000),
            "",
        )
        .gives(200, 100_000),
        pieces(
            "ten megabytes in pieces",
            "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n",
            "x".repeat(100_000),
            "",
        )
        .gives(200, 10_000_000),
        pieces(
            "ten megabytes in chunks",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            format!("186A0\r\n{}\r\n", "x".repeat(100_000)),
            "0\r\n\r\n",
        )
        .gives(200, 10_000_000),
    ]
}
