//! The listening server: accepts connections and ends them.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinError, JoinSet};

use crate::connection::Connection;
use crate::ledger::Ledger;
use crate::stats::{Counts, Stats};

/// How long nothing is accepted after a failure to accept; the usual one is that the process is out of
/// descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// What a server is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The address to listen on; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// The most connections open at once; further ones wait in the backlog, unaccepted and uncounted.
    pub connections_max: usize,
    /// The most connections that wait to be accepted; the system has a bound of its own
    /// (`net.core.somaxconn`).
    pub backlog: u32,
}

impl Options {
    /// The defaults, on this address.
    pub fn new(listen: SocketAddr) -> Self {
        Self { listen, connections_max: 65_536, backlog: 4_096 }
    }
}

impl Default for Options {
    /// A port of 127.0.0.1 that the system chooses.
    fn default() -> Self {
        Self::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

/// Why a server could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No socket could be made.
    #[error("couldn't make a socket for {listen}")]
    Socket {
        /// The address asked for.
        listen: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The address is in use, isn't this host's, or isn't allowed.
    #[error("couldn't listen on {listen}")]
    Listen {
        /// The address asked for.
        listen: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A server that is bound and counts, and doesn't serve yet: clients can connect already, and wait.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    local_addr: SocketAddr,
    connections_max: usize,
    counts: Arc<Counts>,
}

impl Server {
    /// Binds the address.
    ///
    /// # Errors
    /// When the system gives no socket or not this address.
    ///
    /// # Panics
    /// Outside a tokio runtime with its I/O and time drivers on.
    // It waits for nothing, and is async so that it can only be called where a runtime is.
    pub async fn bind(options: Options) -> Result<Self, BindError> {
        let Options { listen, connections_max, backlog } = options;
        let socket = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.map_err(|source| BindError::Socket { listen, source })?;
        let bind = || -> io::Result<(TcpListener, SocketAddr)> {
            // Connections of an earlier server that are still in TIME_WAIT must not hold the port.
            socket.set_reuseaddr(true)?;
            socket.bind(listen)?;
            let listener = socket.listen(backlog)?;
            let local_addr = listener.local_addr()?;
            Ok((listener, local_addr))
        };
        let (listener, local_addr) = bind().map_err(|source| BindError::Listen { listen, source })?;
        Ok(Self { listener, local_addr, connections_max, counts: Arc::new(Counts::new()) })
    }

    /// The address bound, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// A handle to the counts.
    pub fn stats(&self) -> Stats {
        Stats::new(Arc::clone(&self.counts))
    }

    /// Serves until `shutdown` is done, then ends every connection where it stands; returns once all have
    /// ended and are counted so.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let mut connections = JoinSet::new();
        loop {
            let has_room = connections.len() < self.connections_max;
            tokio::select! {
                () = &mut shutdown => break,
                Some(ended) = connections.join_next() => report(ended),
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(self.connection(stream).serve());
                    }
                    Err(error) => {
                        tracing::warn!(%error, "couldn't accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(self.listener);
        connections.abort_all();
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    }

    fn connection(&self, stream: TcpStream) -> Connection {
        // Without it small answers may wait for the client's acknowledgement. It fails only where the client
        // is gone already, and then the first read says so.
        let _ = stream.set_nodelay(true);
        Connection::new(stream, Ledger::open(Arc::clone(&self.counts)))
    }
}

/// Logs a connection that ended by a panic. In tests it ends the server, so that no panic passes unseen.
fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection's task panicked");
        if cfg!(test) {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}
