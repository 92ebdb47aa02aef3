//! The scripted target of a world: it says when each request is answered, and keeps what it saw.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::ops::Range;
use std::rc::Rc;

use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::World;

/// Room on the way to the target and back.
const PIPE_BYTES: usize = 64 * 1024;
/// The usual answer.
pub(crate) const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A request as the target saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// When it was there whole, in run time.
    pub(crate) at_ns: u64,
    pub(crate) connection: u32,
    /// Its path. The body of one that asked first is a request of its own, with [`BODY`] as its path.
    pub(crate) path: String,
    /// The number of its iteration, where the request tells it.
    pub(crate) n: Option<u64>,
}

/// In place of a path: the body that an earlier request had asked about.
pub(crate) const BODY: &str = "body";

/// The pieces in which a request is answered that came at this run time, with this path, each with its run time; none where
/// it isn't.
pub(crate) type Answers = Rc<dyn Fn(&Seen) -> Vec<(u64, &'static [u8])>>;

/// A target.
#[derive(Clone)]
pub(crate) struct Target {
    world: &'static World,
    start_ns: u64,
    answers: Answers,
    /// Within these run times it takes no connection, and refuses those that were tried at their end.
    refuses: Range<u64>,
    seen: Rc<RefCell<Vec<Seen>>>,
    connections: Rc<Cell<u32>>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("connections", &self.connections).finish_non_exhaustive()
    }
}

impl Target {
    pub(crate) fn new(world: &'static World, start_ns: u64, answers: Answers, refuses: Range<u64>) -> Self {
        Self { world, start_ns, answers, refuses, seen: Rc::default(), connections: Rc::default() }
    }

    /// Everything that it saw, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }

    pub(crate) async fn connect(&self) -> io::Result<DuplexStream> {
        if self.refuses.contains(&self.world.now_ns().saturating_sub(self.start_ns)) {
            self.world.sleep_until(self.start_ns + self.refuses.end).await;
            return Err(Errno::CONNREFUSED.into());
        }
        let (ours, theirs) = duplex(PIPE_BYTES);
        let connection = self.connections.replace(self.connections.get() + 1);
        tokio::task::spawn_local(self.clone().serve(theirs, connection));
        Ok(ours)
    }

    async fn serve(self, mut stream: DuplexStream, connection: u32) {
        let mut read = Vec::new();
        let mut asked_bytes = 0;
        while let Some(Request { path, n, body_bytes }) = next(&mut stream, &mut read, asked_bytes).await {
            asked_bytes = body_bytes;
            let seen = Seen { at_ns: self.world.now_ns() - self.start_ns, connection, path, n };
            let answer = (self.answers)(&seen);
            self.seen.borrow_mut().push(seen);
            for (at_ns, piece) in answer {
                self.world.sleep_until(self.start_ns + at_ns).await;
                if stream.write_all(piece).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// What comes next on a connection.
struct Request {
    path: String,
    n: Option<u64>,
    /// So long a body follows once there is leave.
    body_bytes: usize,
}

/// The body that was asked about, or else the next request, and the number that it tells in its line `x-n`; nothing when
/// there is none.
async fn next(stream: &mut DuplexStream, read: &mut Vec<u8>, asked_bytes: usize) -> Option<Request> {
    if asked_bytes > 0 {
        take(stream, read, asked_bytes).await?;
        return Some(Request { path: BODY.to_owned(), n: None, body_bytes: 0 });
    }
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = read.drain(..end + 4).collect();
            let head = String::from_utf8(head).ok()?;
            let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
            let n = line("x-n: ").and_then(|n| n.parse().ok());
            let body_bytes = line("Content-Length: ").map_or(0, |bytes| bytes.parse().expect("a length"));
            let path = head.split(' ').nth(1)?.to_owned();
            if line("Expect: ").is_some() {
                return Some(Request { path, n, body_bytes });
            }
            take(stream, read, body_bytes).await?;
            return Some(Request { path, n, body_bytes: 0 });
        }
        more(stream, read).await?;
    }
}

/// Reads a body away.
async fn take(stream: &mut DuplexStream, read: &mut Vec<u8>, bytes: usize) -> Option<()> {
    while read.len() < bytes {
        more(stream, read).await?;
    }
    read.drain(..bytes);
    Some(())
}

async fn more(stream: &mut DuplexStream, read: &mut Vec<u8>) -> Option<()> {
    (stream.read_buf(read).await.ok()? > 0).then_some(())
}
