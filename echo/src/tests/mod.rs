//! The server over real sockets: `answers` by path, `wire` for how requests may come and what is refused,
//! `faults` for what it does wrong on demand, `counts` for what it says that it received.

mod answers;
mod counts;
mod faults;
mod wire;

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{Options, Server, Snapshot, Stats};

/// A served target.
struct Target {
    addr: SocketAddr,
    stats: Stats,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Target {
    async fn start() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        let server = Server::bind(options).await.unwrap();
        let (addr, stats) = (server.local_addr(), server.stats());
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(server.serve(async { stopped.await.unwrap() }));
        Self { addr, stats, stop, served }
    }

    async fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends these bytes over a new connection, ends the sending side, and gives what comes back until the
    /// end.
    async fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        read_to_end(&mut stream).await
    }

    /// Ends the server. Every connection has been settled then, so the counts are final, and they must add
    /// up.
    async fn stop(self) -> Snapshot {
        self.stop.send(()).unwrap();
        self.served.await.unwrap();
        let counts = self.stats.snapshot();
        let answers = counts.answers() + counts.requests_unanswered;
        assert_eq!(counts.requests + counts.requests_malformed, answers, "{counts:?}");
        assert_eq!((counts.connections_open, counts.requests_in_progress), (0, 0), "{counts:?}");
        counts
    }
}

async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    bytes
}

/// Reads exactly what is expected, no more: for connections that stay open.
async fn expect(stream: &mut TcpStream, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

/// A request without a body, on a connection to be kept.
fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// The same, on a connection to be closed.
fn get_close(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
}

/// An answer with a plain body, on a connection that is kept.
fn kept(status: &str, body: &str) -> String {
    let length = body.len();
    let kind = "Content-Type: text/plain; charset=utf-8";
    format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// The same, on a connection that is closed.
fn closed(status: &str, body: &str) -> String {
    let length = body.len();
    let kind = "Content-Type: text/plain; charset=utf-8";
    format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}
