//! How connections come about: which address is next, where from, over what, and what was counted of it.
//!
//! Each worker has a [`Dialer`] of its own. A slot begins with the address of its number and goes on to the next with each
//! connection, over all addresses of all destinations; where one fails the next is tried, as long as the time for connecting
//! lasts. Names are resolved before the run; and, where the plan wants that, again for connections.

mod lookup;
mod own_certificate;
mod site;
mod sources;
mod tls;
mod tunnel;
mod zone;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::HandshakeKind;
use volley_plan::Resolve;
use volley_stats::ErrorKind;

use crate::connection::{Connection, Stream};
use crate::control::Control;
use crate::recorder::{Gauges, Tally};
use crate::{Clock, failure, nanoseconds};

pub(crate) use lookup::{Lookup, LookupError};
pub(crate) use site::Site;
pub(crate) use sources::{SourceError, Sources};
pub(crate) use tls::{Material, Tls, TlsError};
pub(crate) use tunnel::PROXY_AUTHORIZATION;

/// Where requests go.
#[derive(Debug)]
pub(crate) enum Target {
    /// Sockets.
    Sockets(Dialer),
    /// A scripted one at the other end of pipes in memory.
    #[cfg(test)]
    Virtual(crate::virtual_time::Target, Rc<Gauges>),
}

impl Target {
    /// Opens a connection. If it is given up before it comes to an end, the attempt says how far it came.
    pub(crate) async fn dial(&self, attempt: &mut Attempt) -> Result<Connection, ErrorKind> {
        match self {
            Self::Sockets(dialer) => dialer.dial(attempt).await,
            #[cfg(test)]
            Self::Virtual(target, gauges) => {
                let pipe = target.connect().await.map_err(|error| failure::of_connecting(&error))?;
                attempt.dialled.opened += 1;
                let tally = gauges.tallies.of("virtual");
                tally.connections.up();
                Ok(Connection::new(Stream::Pipe(pipe), gauges, &tally))
            }
        }
    }
}

/// How long the parts of opening a connection took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Resolving names, where that was done.
    pub(crate) resolving_ns: Option<u64>,
    /// Connecting, with the attempts at other addresses that failed before.
    pub(crate) connecting_ns: u64,
    /// The TLS handshake, where there was one.
    pub(crate) tls_ns: Option<u64>,
}

impl Opened {
    /// The same as somebody saw it who came later, and waited only for the last `waited_ns` of it.
    pub(crate) fn last(self, waited_ns: u64) -> Self {
        let mut left_ns = waited_ns;
        let mut take = |part_ns: u64| {
            let taken_ns = part_ns.min(left_ns);
            left_ns -= taken_ns;
            taken_ns
        };
        let tls_ns = self.tls_ns.map(&mut take);
        let connecting_ns = take(self.connecting_ns);
        Self { tls_ns, connecting_ns, resolving_ns: self.resolving_ns.map(take) }
    }
}

/// How a TLS session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// With everything.
    Full,
    /// With what an earlier one had settled.
    Resumed,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dialled {
    /// Connections that were opened, those on which the handshake failed among them.
    pub(crate) opened: u64,
    /// The handshake that was completed.
    pub(crate) handshake: Option<Handshake>,
}

/// How far an attempt at a connection has come.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The number of the address that is next; beyond the last one they begin anew.
    way: usize,
    from_ns: u64,
    resolved_ns: Option<u64>,
    /// When the latest handshake began.
    connected_ns: Option<u64>,
    dialled: Dialled,
    trying: Option<Rc<Tally>>,
}

impl Attempt {
    /// One that begins now, at the address of this number.
    pub(crate) fn new(way: usize, now_ns: u64) -> Self {
        let (dialled, trying) = (Dialled::default(), None);
        Self { way, from_ns: now_ns, resolved_ns: None, connected_ns: None, dialled, trying }
    }

    /// The number at which the next attempt begins.
    pub(crate) fn next_way(&self) -> usize {
        if self.trying.is_some() { self.way.wrapping_add(1) } else { self.way }
    }

    /// Its time was over before it came to an end, which is a failure of the address that was being tried.
    pub(crate) fn timed_out(&self) {
        if let Some(tally) = &self.trying {
            tally.failures.up();
        }
    }

    pub(crate) fn dialled(&self) -> &Dialled {
        &self.dialled
    }

    /// How long its parts took, now that the connection is there.
    pub(crate) fn opened(&self, now_ns: u64) -> Opened {
        let connecting_from_ns = self.resolved_ns.unwrap_or(self.from_ns);
        Opened {
            resolving_ns: self.resolved_ns.map(|at_ns| at_ns.saturating_sub(self.from_ns)),
            connecting_ns: self.connected_ns.unwrap_or(now_ns).saturating_sub(connecting_from_ns),
            tls_ns: self.connected_ns.map(|at_ns| now_ns.saturating_sub(at_ns)),
        }
    }
}

/// What a worker's dialer is made of; it crosses to the worker's thread.
#[derive(Debug)]
pub(crate) struct DialPlan {
    pub(crate) lookup: Arc<Lookup>,
    /// What was found before the run, at least one.
    pub(crate) sites: Vec<Site>,
    pub(crate) resolve: Resolve,
    pub(crate) tls: Option<Tls>,
}

/// An address that is connected to, and what is counted of it.
#[derive(Clone, Debug)]
struct Way {
    site: Site,
    tally: Rc<Tally>,
}

/// When names are resolved again.
#[derive(Debug)]
enum Again {
    Never,
    EachTime,
    /// So long after the last time, which this was. One slot does it, while the others use what is known.
    After {
        interval_ns: u64,
        last_ns: Cell<u64>,
    },
}

/// Opens the connections of one worker.
#[derive(Debug)]
pub(crate) struct Dialer {
    lookup: Arc<Lookup>,
    again: Again,
    known: RefCell<Rc<[Way]>>,
    /// Whether somebody was told that resolving fails.
    has_warned: Cell<bool>,
    tls: Option<Tls>,
    clock: Clock,
    control: Arc<Control>,
    gauges: Rc<Gauges>,
}

impl Dialer {
    pub(crate) fn new(plan: DialPlan, clock: Clock, control: Arc<Control>, gauges: &Rc<Gauges>) -> Self {
        let DialPlan { lookup, sites, resolve, tls } = plan;
        let again = match resolve {
            _ if !lookup.has_names() => Again::Never,
            Resolve::Once => Again::Never,
            Resolve::EachConnection => Again::EachTime,
            Resolve::Every(interval) => {
                Again::After { interval_ns: nanoseconds(interval), last_ns: Cell::new(clock.now_ns()) }
            }
        };
        let known = RefCell::new(ways(sites, gauges));
        let (has_warned, gauges) = (Cell::new(false), Rc::clone(gauges));
        Self { lookup, again, known, has_warned, tls, clock, control, gauges }
    }

    async fn dial(&self, attempt: &mut Attempt) -> Result<Connection, ErrorKind> {
        let ways = self.ways(attempt).await?;
        let mut failure = ErrorKind::Resolve;
        for _ in 0..ways.len() {
            let (way, round) = (&ways[attempt.way % ways.len()], attempt.way / ways.len());
            attempt.trying = Some(Rc::clone(&way.tally));
            let connected = self.connect(way, round, attempt).await;
            attempt.trying = None;
            attempt.way = attempt.way.wrapping_add(1);
            match connected {
                Ok(stream) => return Ok(Connection::new(stream, &self.gauges, &way.tally)),
                Err(kind) => failure = kind,
            }
            way.tally.failures.up();
        }
        Err(failure)
    }

    /// The addresses for a connection, resolved anew where it is time to.
    async fn ways(&self, attempt: &mut Attempt) -> Result<Rc<[Way]>, ErrorKind> {
        match &self.again {
            Again::Never => {}
            Again::EachTime => {
                let found = self.look_up().await;
                attempt.resolved_ns = Some(self.clock.now_ns());
                return found.map_err(|error| self.warn(&error)).map_err(|()| ErrorKind::Resolve);
            }
            Again::After { interval_ns, last_ns } => {
                if attempt.from_ns >= last_ns.get().saturating_add(*interval_ns) {
                    last_ns.set(attempt.from_ns);
                    match self.look_up().await {
                        Ok(found) => *self.known.borrow_mut() = found,
                        Err(error) => self.warn(&error),
                    }
                    attempt.resolved_ns = Some(self.clock.now_ns());
                }
            }
        }
        Ok(Rc::clone(&self.known.borrow()))
    }

    /// Asks the resolver on a thread that may wait, and holds what it says against what may be loaded.
    #[cold]
    async fn look_up(&self) -> Result<Rc<[Way]>, LookupError> {
        let lookup = Arc::clone(&self.lookup);
        let looking = tokio::task::spawn_blocking(move || lookup.sites());
        let sites = looking.await.map_err(|error| LookupError::GivenUp(error.into()))??;
        let admitted = self.control.admit(sites)?;
        Ok(ways(admitted.sites, &self.gauges))
    }

    /// Says it once: names that can't be resolved are asked for again and again.
    fn warn(&self, error: &LookupError) {
        if !self.has_warned.replace(true) {
            tracing::warn!(
                error = crate::sentence(error),
                "an address of the target could not be found during the run"
            );
        }
    }

    async fn connect(&self, way: &Way, round: usize, attempt: &mut Attempt) -> Result<Stream, ErrorKind> {
        match &way.site {
            Site::Tcp { address, .. } => {
                let socket = self.connect_tcp(*address, round).await;
                let mut socket = socket.map_err(|error| failure::of_connecting(&error))?;
                opened(way, attempt);
                if let Some(tunnel) = self.lookup.tunnel() {
                    tunnel.open(&mut socket).await?;
                }
                match &self.tls {
                    None => Ok(Stream::Tcp(socket)),
                    Some(tls) => self.secure(tls, socket, attempt).await.map(Stream::TlsOverTcp),
                }
            }
            Site::Unix(path) => {
                let socket = UnixStream::connect(path).await;
                let socket = socket.map_err(|error| failure::of_connecting(&error))?;
                opened(way, attempt);
                match &self.tls {
                    None => Ok(Stream::Unix(socket)),
                    Some(tls) => self.secure(tls, socket, attempt).await.map(Stream::TlsOverUnix),
                }
            }
        }
    }

    async fn connect_tcp(&self, address: SocketAddr, round: usize) -> io::Result<TcpStream> {
        let socket = match self.lookup.sources().of(address, round) {
            None => TcpStream::connect(address).await?,
            Some(source) => sources::connect(source, address).await?,
        };
        // It fails only where the connection has failed already, which the exchange will tell better.
        let _ = socket.set_nodelay(true);
        Ok(socket)
    }

    /// On the heap, so that slots in clear text don't carry the room for it.
    async fn secure<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        tls: &Tls,
        socket: S,
        attempt: &mut Attempt,
    ) -> Result<Box<TlsStream<S>>, ErrorKind> {
        attempt.connected_ns = Some(self.clock.now_ns());
        let stream = Box::pin(tls.handshake(socket)).await;
        let stream = stream.map_err(|error| failure::of_handshake(&error))?;
        attempt.dialled.handshake = Some(match stream.get_ref().1.handshake_kind() {
            Some(HandshakeKind::Resumed) => Handshake::Resumed,
            _ => Handshake::Full,
        });
        Ok(Box::new(stream))
    }
}

fn ways(sites: Vec<Site>, gauges: &Gauges) -> Rc<[Way]> {
    let way = |site: Site| Way { tally: gauges.tallies.of(&site.to_string()), site };
    sites.into_iter().map(way).collect()
}

fn opened(way: &Way, attempt: &mut Attempt) {
    attempt.dialled.opened += 1;
    way.tally.connections.up();
}

#[cfg(test)]
mod tests;
