//! The scripted target of a world: it says when each request is answered, and keeps what it saw.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::World;

/// Room on the way to the target and back.
const PIPE_BYTES: usize = 64 * 1024;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A request as the target saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// When it was there whole, in run time.
    pub(crate) at_ns: u64,
    pub(crate) connection: u32,
    pub(crate) path: String,
    /// The number of its iteration, where the request tells it.
    pub(crate) n: Option<u64>,
}

/// When a request is answered that came at this run time, with this path; never, where it gives nothing.
pub(crate) type AnsweredAt = Rc<dyn Fn(&Seen) -> Option<u64>>;

/// A target.
#[derive(Clone)]
pub(crate) struct Target {
    world: &'static World,
    start_ns: u64,
    answered_at: AnsweredAt,
    seen: Rc<RefCell<Vec<Seen>>>,
    connections: Rc<Cell<u32>>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("connections", &self.connections).finish_non_exhaustive()
    }
}

impl Target {
    pub(crate) fn new(world: &'static World, start_ns: u64, answered_at: AnsweredAt) -> Self {
        Self { world, start_ns, answered_at, seen: Rc::default(), connections: Rc::default() }
    }

    /// Everything that it saw, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }

    pub(crate) async fn connect(&self) -> io::Result<DuplexStream> {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let connection = self.connections.replace(self.connections.get() + 1);
        tokio::task::spawn_local(self.clone().serve(theirs, connection));
        Ok(ours)
    }

    async fn serve(self, mut stream: DuplexStream, connection: u32) {
        let mut read = Vec::new();
        while let Some((path, n)) = next_request(&mut stream, &mut read).await {
            let seen = Seen { at_ns: self.world.now_ns() - self.start_ns, connection, path, n };
            let answered_at = (self.answered_at)(&seen);
            self.seen.borrow_mut().push(seen);
            match answered_at {
                Some(at_ns) => self.world.sleep_until(self.start_ns + at_ns).await,
                None => std::future::pending().await,
            }
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}

/// The path of the next request, and the number that it tells in its line `x-n`; nothing when there is none.
async fn next_request(stream: &mut DuplexStream, read: &mut Vec<u8>) -> Option<(String, Option<u64>)> {
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = read.drain(..end + 4).collect();
            let head = String::from_utf8(head).ok()?;
            let n = head.lines().find_map(|line| line.strip_prefix("x-n: ")?.parse().ok());
            return head.split(' ').nth(1).map(|path| (path.to_owned(), n));
        }
        if stream.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
}
