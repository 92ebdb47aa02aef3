//! A target that does what a test tells it, on raw sockets, and counts what it saw.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

/// What a target counted.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    connections: AtomicU64,
    requests: AtomicU64,
}

impl Seen {
    /// Connections accepted.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// Whole requests, heads with their bodies.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

/// One accepted connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    seen: Arc<Seen>,
    read: Vec<u8>,
}

impl Peer {
    /// Waits for a whole request and counts it; its head, or nothing when the client is gone.
    pub(crate) fn request(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
                let body = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                    .unwrap_or(0);
                if self.read.len() >= end + 4 + body {
                    self.read.drain(..end + 4 + body);
                    self.seen.requests.fetch_add(1, Ordering::SeqCst);
                    return Some(head);
                }
            }
            self.more()?;
        }
    }

    /// Waits for the head of a request; doesn't count it and doesn't read its body.
    pub(crate) fn head(&mut self) -> Option<()> {
        while !self.read.windows(4).any(|four| four == b"\r\n\r\n") {
            self.more()?;
        }
        Some(())
    }

    /// Waits for a whole request and counts it; `look` is given its body piece by piece, and nothing of it is kept. Gives
    /// the body's length, or nothing when the client is gone before its end.
    pub(crate) fn streamed(&mut self, mut look: impl FnMut(&[u8])) -> Option<usize> {
        self.head()?;
        let end = self.read.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
        let mut left: usize = length;
        self.read.drain(..end + 4);
        let mut piece = vec![0; 256 * 1024];
        while left > 0 {
            if self.read.is_empty() {
                let most = left.min(piece.len());
                let bytes = self.stream.read(&mut piece[..most]).ok().filter(|&bytes| bytes > 0)?;
                look(&piece[..bytes]);
                left -= bytes;
            } else {
                let bytes = left.min(self.read.len());
                look(&self.read[..bytes]);
                self.read.drain(..bytes);
                left -= bytes;
            }
        }
        self.seen.requests.fetch_add(1, Ordering::SeqCst);
        Some(length)
    }

    /// Whether the client says nothing for so long.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let heard = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(None).unwrap();
        self.body_bytes() == 0
            && heard.is_err_and(|error| {
                matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            })
    }

    /// Bytes that came behind the head that is waiting.
    fn body_bytes(&self) -> usize {
        let end = self.read.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(0, |end| self.read.len() - end - 4)
    }

    fn more(&mut self) -> Option<()> {
        let mut piece = [0; 16 * 1024];
        let bytes = self.stream.read(&mut piece).ok().filter(|&bytes| bytes > 0)?;
        self.read.extend_from_slice(&piece[..bytes]);
        Some(())
    }

    pub(crate) fn say(&mut self, text: &str) -> Option<()> {
        self.stream.write_all(text.as_bytes()).ok()
    }

    /// Answers 200 with a body of 5 bytes.
    pub(crate) fn hello(&mut self) -> Option<()> {
        self.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }

    /// Waits until the client closes.
    pub(crate) fn drain(&mut self) {
        let mut piece = [0; 64 * 1024];
        while self.stream.read(&mut piece).is_ok_and(|bytes| bytes > 0) {}
    }

    /// Closes with a RST instead of a FIN.
    pub(crate) fn reset(&self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Closes for writing only.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

/// A listening target; its thread ends with it.
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
    /// The local port of the connection after which no other is accepted; 0 before the end.
    last: Arc<AtomicU16>,
    accepting: Option<JoinHandle<()>>,
}

impl Target {
    /// Serves each connection by `serve`, which closes it by returning.
    pub(crate) fn new(serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::on(listener(4096), serve)
    }

    /// The same on another of this machine's addresses.
    pub(crate) fn at(ip: IpAddr, serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind((ip, 0)).unwrap(), serve)
    }

    fn on(listener: TcpListener, serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let (seen, last) = (Arc::<Seen>::default(), Arc::<AtomicU16>::default());
        let serve = Arc::new(serve);
        let accepting = {
            let (seen, last) = (Arc::clone(&seen), Arc::clone(&last));
            thread::spawn(move || {
                for stream in listener.incoming() {
                    let stream = stream.unwrap();
                    // Of one that was reset already nothing can be asked; the last one is not.
                    if stream.peer_addr().is_ok_and(|peer| peer.port() == last.load(Ordering::SeqCst)) {
                        return;
                    }
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    let (seen, serve) = (Arc::clone(&seen), Arc::clone(&serve));
                    stream.set_nodelay(true).unwrap();
                    thread::spawn(move || serve(&mut Peer { stream, seen, read: Vec::new() }));
                }
            })
        };
        Self { address, seen, last, accepting: Some(accepting) }
    }

    /// Answers every request with 200 and `hello`.
    pub(crate) fn hello() -> Self {
        Self::new(|peer| while peer.request().and_then(|_| peer.hello()).is_some() {})
    }

    /// Takes requests and never answers.
    pub(crate) fn silent() -> Self {
        Self::new(|peer| while peer.request().is_some() {})
    }

    pub(crate) fn seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// What it has seen once it has accepted every connection that was made: connections are accepted in their order, and
    /// those of a run that is over may still wait for that.
    pub(crate) fn seen_at_end(mut self) -> Arc<Seen> {
        self.end();
        Arc::clone(&self.seen)
    }

    fn end(&mut self) {
        let Some(accepting) = self.accepting.take() else { return };
        let any: IpAddr = match self.address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let last = Socket::new(Domain::for_address(self.address), Type::STREAM, None).unwrap();
        last.bind(&SocketAddr::new(any, 0).into()).unwrap();
        let port = last.local_addr().unwrap().as_socket().unwrap().port();
        self.last.store(port, Ordering::SeqCst);
        last.connect(&self.address.into()).unwrap();
        accepting.join().unwrap();
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end();
    }
}

/// A listener with room for this many connections that nobody has accepted yet.
pub(crate) fn listener(backlog: i32) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    socket.listen(backlog).unwrap();
    TcpListener::from(socket)
}

/// An address on which nobody listens.
pub(crate) fn closed_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
