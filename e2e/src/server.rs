//! The scripted target: a raw-socket server that does exactly what a test says, byte by byte, and knows what it saw.
//!
//! It counts accepted connections (A) and complete requests by path (R). One blocking thread a connection: the tests
//! use few connections, and a script that blocks is the easiest to read.

mod peer;
mod reply;
mod request;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use reply::{Reply, Then};
pub use request::Request;

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server that answers each request as its script says.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    script: Box<Script>,
    stopping: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    accepted: u64,
    requests: BTreeMap<String, u64>,
    /// One more handle of each open connection by its number, to shut it down by at the end.
    open: BTreeMap<u64, TcpStream>,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Starts on a free port of loopback.
    ///
    /// # Panics
    /// If loopback has no free port.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_on("127.0.0.1", script)
    }

    /// Starts on a free port of an address of this host.
    ///
    /// # Panics
    /// If it has none.
    pub fn start_on(ip: &str, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((ip, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            stopping: AtomicBool::new(false),
            seen: Mutex::default(),
        });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// The URL of a path that begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A: connections accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.seen().accepted
    }

    /// R: complete requests, whatever their path.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.seen().requests.values().sum()
    }

    /// R of one path.
    #[must_use]
    pub fn requests_to(&self, path: &str) -> u64 {
        self.shared.seen().requests.get(path).copied().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then sees that it should stop.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// A port of loopback at which nobody listens.
///
/// # Panics
/// If loopback has no free port.
#[must_use]
pub fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port of loopback");
    listener.local_addr().expect("a bound listener has an address").port()
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let connection = note_connection(shared, &stream);
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            // The client may end a connection whenever it likes.
            let end = serve(&stream, connection, &shared);
            // The last handle must be the one below, since only the last one's end is the connection's.
            shared.seen().open.remove(&connection);
            if matches!(end, Ok(Then::Reset)) {
                reset(&stream);
            }
        }));
    }
    for stream in shared.seen().open.values() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn note_connection(shared: &Shared, stream: &TcpStream) -> u64 {
    let mut seen = shared.seen();
    seen.accepted += 1;
    let number = seen.accepted;
    seen.open.extend(stream.try_clone().map(|stream| (number, stream)));
    number
}

/// Answers requests until the connection ends; gives how the script wants it to.
fn serve(mut stream: &TcpStream, connection: u64, shared: &Shared) -> io::Result<Then> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::new();
    let mut on_connection = 0;
    while let Some(mut request) = next_request(stream, &mut unread)? {
        on_connection += 1;
        request.connection = connection;
        request.on_connection = on_connection;
        *shared.seen().requests.entry(request.path.clone()).or_default() += 1;
        let reply = (shared.script)(&request);
        thread::sleep(reply.delay);
        stream.write_all(&reply.bytes)?;
        match reply.then {
            Then::Keep => continue,
            Then::Close => stream.shutdown(Shutdown::Both)?,
            Then::Hang => hang(stream)?,
            Then::Reset => {}
        }
        return Ok(reply.then);
    }
    Ok(Then::Close)
}

/// The next whole request; `None` once the client has closed.
fn next_request(mut stream: &TcpStream, unread: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let between = (stream.peer_addr()?, stream.local_addr()?);
    let mut buffer = [0; 64 * 1024];
    loop {
        if let Some((request, used)) = Request::parse(unread, between) {
            unread.drain(..used);
            return Ok(Some(request));
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            bytes => unread.extend_from_slice(&buffer[..bytes]),
        }
    }
}

/// Lets the connection end with RST when `stream` is dropped. That makes the client's kernel throw away what it has not
/// read, so the client gets a moment to read what was sent before: it may be a part of what a test is about.
fn reset(stream: &TcpStream) {
    thread::sleep(Duration::from_millis(5));
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Says nothing more until the client closes.
fn hang(mut stream: &TcpStream) -> io::Result<()> {
    let mut buffer = [0; 1024];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
