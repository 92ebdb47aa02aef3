//! The echo target: answers of a chosen status, size, delay and count, by path.
//!
//! An HTTP/1.1 server fast enough to be loaded on one core, that keeps true counts of what it received, so
//! that a load generator's counts can be held against them, and that can misbehave on demand. It has its own
//! reader and writer of HTTP, since it must be exact about bytes: it refuses what RFC 9112 forbids a client
//! to send.
//!
//! # Answers
//!
//! Any method gets the same answer, HEAD without the body.
//!
//! | path | answer |
//! |---|---|
//! | `/`, `/static`, any path that isn't below | 200, `hello` |
//! | `/bytes/{n}` | n bytes, each the letter `x`, at most 1073741824 |
//! | `/delay/{duration}` | after the delay: `250ms`, `1s`, `1m30s`; at most an hour, to about a millisecond |
//! | `/status/{code}` | this status, 200 to 599 |
//! | `/counter` | a number that rises by one with each request; the first is 1 |
//! | `/echo` | the request as JSON: method, path, query, headers, body, `body_bytes`; 413 for a body over 64 KiB |
//! | `/close` | `hello` with `Connection: close` |
//! | `/fail/{percent}` | of each 100 requests in a row exactly so many get 500, evenly spread |
//! | `/chunked/{n}` | n bytes, chunked |
//! | `/stats` | GET: the counts as JSON, see [`Snapshot`]; DELETE: sets them to zero. Not counted itself |
//!
//! The query may say more, on any path but `/stats`, and what it says comes after what the path says:
//! `/echo?delay=20ms&status=503`. Unknown names in it say nothing.
//!
//! | parameter | meaning |
//! |---|---|
//! | `bytes`, `delay`, `status`, `fail`, `chunked` | as the path of that name |
//! | `delay-from={n}` | the delay holds from the n-th request to this path on |
//! | `framing=length` | the body's length stands in the head (the default) |
//! | `framing=chunked` | chunked, in chunks of 16 KiB; for HTTP/1.0 as `close` |
//! | `framing=close` | the body ends with the connection, which the head says |
//! | `framing=bare` | the same after a bare status line of HTTP/1.0, with no field |
//! | `chunk={n}` | the size of each chunk but the last, 1 to 65536 |
//! | `fault=hang` | no answer; the connection stays open until the client closes it |
//! | `fault=hangup` | no answer; the connection is closed |
//! | `fault=reset` | no answer; the connection is reset |
//! | `fault=garbage` | bytes that are no HTTP, then closed |
//! | `fault=cut` | half of the body, then closed (the head without its end, where half a body would seem whole) |
//! | `fault=cut-reset` | half of the body, then reset |
//! | `fault=close-after` | the whole answer, then closed without saying so |
//!
//! Each parameter works as a path too (`/fault/hang`, `/framing/close`). A value that can't be is answered 400
//! with the reason; that is an answer like others. What is no HTTP is answered 400, 414, 431, 501 or 505 and
//! the connection closed. While an answer is delayed, the client's closing of its sending side is taken as
//! its going away.
//!
//! # Counts
//!
//! Requests count once they are received whole, under their path without the query. An answer counts before
//! its bytes are handed to the kernel, and is taken back where they could not be: a client that has seen an
//! answer finds it counted. [`Snapshot`] says what each count is, and how they add up.
//!
//! # Example
//!
//! ```
//! # async fn example() -> Result<(), volley_echo::BindError> {
//! let server = volley_echo::Server::bind(volley_echo::Options::default()).await?;
//! let (url, stats) = (format!("http://{}/", server.local_addr()), server.stats());
//! let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
//! let served = tokio::spawn(server.serve(async { stopped.await.unwrap_or(()) }));
//! // … load on `url` …
//! drop(stop);
//! assert!(served.await.is_ok());
//! assert_eq!(stats.snapshot().requests, 0);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod answer;
mod bad_request;
mod chunked;
mod connection;
mod duration;
mod head;
mod input;
mod ledger;
mod outbox;
mod prepared;
mod render;
mod reply;
mod server;
mod stats;

pub use server::{BindError, Options, Server};
pub use stats::{OTHER_PATHS, PATH_BYTES_MAX, PATHS_MAX, Snapshot, Stats};

#[cfg(test)]
mod tests;
