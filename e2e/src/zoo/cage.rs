//! The server of one animal, for one visit: it accepts, counts, and lets the animal's script do the rest.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::{HandshakeKind, ServerConfig};
use socket2::{Domain, Socket, Type};

use super::animal::{Animal, Habitat, Script};
use super::talk::{PATIENCE, Talk, Wire};
use super::tls;
use crate::server::closed_port;

/// What a visit came to, as the server saw it.
#[derive(Debug, Default)]
pub struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
    full_handshakes: AtomicU64,
    resumed_handshakes: AtomicU64,
}

impl Counts {
    pub(super) fn note_request(&self) {
        self.requests.fetch_add(1, Ordering::SeqCst);
    }

    fn note_handshake(&self, kind: Option<HandshakeKind>) {
        match kind {
            Some(HandshakeKind::Resumed) => self.resumed_handshakes.fetch_add(1, Ordering::SeqCst),
            _ => self.full_handshakes.fetch_add(1, Ordering::SeqCst),
        };
    }

    /// A: connections accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// R: requests whose head came whole.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    /// Handshakes that came to their end: full ones and resumed ones.
    #[must_use]
    pub fn handshakes(&self) -> (u64, u64) {
        (self.full_handshakes.load(Ordering::SeqCst), self.resumed_handshakes.load(Ordering::SeqCst))
    }
}

/// A running server.
pub struct Cage {
    place: Place,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// Where it can be found.
enum Place {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
    Nobody(u16),
    Full(Full),
}

/// A listener whose queue is full: the kernel passes over whoever knocks.
struct Full {
    port: u16,
    _sockets: Vec<Socket>,
}

impl Full {
    fn open() -> io::Result<Self> {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        listener.bind(&loopback.into())?;
        listener.listen(0)?;
        let address = listener.local_addr()?;
        let mut sockets = vec![listener];
        // A queue of 0 has place for one; the others wait for a place, in vain.
        for _ in 0..4 {
            let waiting = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            waiting.set_nonblocking(true)?;
            let _ = waiting.connect(&address);
            sockets.push(waiting);
        }
        let port = address.as_socket().map_or(0, |address| address.port());
        Ok(Self { port, _sockets: sockets })
    }
}

struct Shared {
    script: Arc<Script>,
    tls: Option<Arc<ServerConfig>>,
    stopping: AtomicBool,
    counts: Arc<Counts>,
    /// One more handle of each open connection by its number, to shut it down by at the end.
    open: Mutex<BTreeMap<u64, Handle>>,
}

enum Handle {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Cage {
    /// Starts the animal's server; `folder` is where a Unix socket goes.
    ///
    /// # Panics
    /// If it can't listen.
    #[must_use]
    pub fn open(animal: &Animal, folder: &Path) -> Self {
        let shared = Arc::new(Shared {
            script: Arc::clone(&animal.script),
            tls: match &animal.habitat {
                Habitat::Tls(options) => Some(tls::server(options)),
                Habitat::Tcp(_) | Habitat::Unix | Habitat::Nobody | Habitat::Full => None,
            },
            stopping: AtomicBool::new(false),
            counts: Arc::default(),
            open: Mutex::default(),
        });
        let place = match animal.habitat {
            Habitat::Tcp(ip) => Place::Tcp(TcpListener::bind((ip, 0)).expect("a free port")),
            Habitat::Tls(_) => Place::Tcp(TcpListener::bind(("127.0.0.1", 0)).expect("a free port")),
            Habitat::Unix => {
                let path = folder.join("socket");
                Place::Unix(UnixListener::bind(&path).expect("a socket in a new folder"), path)
            }
            Habitat::Nobody => Place::Nobody(closed_port()),
            Habitat::Full => Place::Full(Full::open().expect("a free port")),
        };
        let acceptor = place.acceptor(&shared);
        Self { place, shared, acceptor }
    }

    /// The port; 0 where it is a Unix socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        match &self.place {
            Place::Tcp(listener) => listener.local_addr().expect("it is bound").port(),
            Place::Nobody(port) => *port,
            Place::Full(full) => full.port,
            Place::Unix(..) => 0,
        }
    }

    /// What it has seen by now.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }
}

impl Place {
    fn acceptor(&self, shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
        let shared = Arc::clone(shared);
        match self {
            Self::Tcp(listener) => {
                let listener = listener.try_clone().expect("a handle more");
                Some(thread::spawn(move || {
                    accept(&shared, || listener.accept().map(|(stream, _)| Handle::Tcp(stream)));
                }))
            }
            Self::Unix(listener, _) => {
                let listener = listener.try_clone().expect("a handle more");
                Some(thread::spawn(move || {
                    accept(&shared, || listener.accept().map(|(stream, _)| Handle::Unix(stream)));
                }))
            }
            Self::Nobody(_) | Self::Full(_) => None,
        }
    }

    /// Lets a waiting acceptor see that it should stop.
    fn wake(&self) {
        match self {
            Self::Tcp(listener) => drop(listener.local_addr().and_then(TcpStream::connect)),
            Self::Unix(_, path) => drop(UnixStream::connect(path)),
            Self::Nobody(_) | Self::Full(_) => {}
        }
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.place.wake();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Handle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the script have a connection, and ends it as the script wants.
    fn serve(&self, handle: Handle, number: u64) {
        let Ok(wire) = self.wire(handle) else {
            self.open().remove(&number);
            return;
        };
        let mut talk = Talk::new(wire, Arc::clone(&self.counts), number);
        // The client may end a connection whenever it likes.
        let _ = (self.script)(&mut talk);
        // The last handle must be the talk's, since only the last one's end is the connection's.
        self.open().remove(&number);
        if talk.resets
            && let Some(stream) = talk.tcp()
        {
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    fn wire(&self, handle: Handle) -> io::Result<Wire> {
        let stream = match handle {
            Handle::Unix(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(Wire::Unix(stream));
            }
            Handle::Tcp(stream) => stream,
        };
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let Some(config) = &self.tls else { return Ok(Wire::Tcp(stream)) };
        let stream = tls::accept(config, stream)?;
        self.counts.note_handshake(stream.conn.handshake_kind());
        Ok(Wire::Tls(Box::new(stream)))
    }
}

impl Handle {
    fn one_more(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    fn shut_down(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

fn accept(shared: &Arc<Shared>, next: impl Fn() -> io::Result<Handle>) {
    let mut threads = Vec::new();
    while let Ok(handle) = next() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let number = shared.counts.connections.fetch_add(1, Ordering::SeqCst) + 1;
        shared.open().extend(handle.one_more().map(|handle| (number, handle)));
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || shared.serve(handle, number)));
    }
    shared.open().values().for_each(Handle::shut_down);
    for thread in threads {
        let _ = thread.join();
    }
}
