//! A relay between agents and a coordinator that does to their connections what bad networks do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// What a relay does to each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Lets it live for a second or two.
    Drops,
    /// Lets bytes through late, so that a round trip takes 300 ms more.
    Delays,
    /// Lets bytes through in small pieces, some 25 KB a second.
    Trickles,
}

impl Fault {
    fn lifetime(self) -> Duration {
        match self {
            Self::Drops => Duration::from_millis(1_700),
            Self::Delays | Self::Trickles => Duration::from_secs(3_600),
        }
    }

    fn delay(self) -> Duration {
        match self {
            Self::Delays => Duration::from_millis(150),
            Self::Drops | Self::Trickles => Duration::ZERO,
        }
    }

    /// Bytes at a time, and the pause after them.
    fn pieces(self) -> (usize, Duration) {
        match self {
            Self::Trickles => (128, Duration::from_millis(5)),
            Self::Drops | Self::Delays => (usize::MAX, Duration::ZERO),
        }
    }

    /// How many connections it drops in a run at the least.
    pub(crate) fn least_dropped(self) -> u64 {
        match self {
            Self::Drops => 3,
            Self::Delays | Self::Trickles => 0,
        }
    }
}

/// A relay to one address. It ends when it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    dropped: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn start(to: SocketAddr, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let dropped = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn({
            let dropped = Arc::clone(&dropped);
            async move {
                // One agent has one connection at a time.
                while let Ok((from, _)) = listener.accept().await {
                    let Ok(to) = TcpStream::connect(to).await else { continue };
                    if timeout(fault.lifetime(), carry(from, to, fault)).await.is_err() {
                        dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        Self { address, dropped, task }
    }

    /// Where to dial.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that it dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries bytes both ways until either side ends. Dropping it closes both connections.
async fn carry(one: TcpStream, other: TcpStream, fault: Fault) {
    let ((from_one, to_one), (from_other, to_other)) = (one.into_split(), other.into_split());
    tokio::select! {
        () = one_way(from_one, to_other, fault) => {}
        () = one_way(from_other, to_one, fault) => {}
    }
}

async fn one_way(mut from: OwnedReadHalf, to: OwnedWriteHalf, fault: Fault) {
    // Bounded, so that a slow way slows its sender down.
    let (late, arrived) = mpsc::channel::<(Instant, Vec<u8>)>(64);
    let read = async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let bytes = buffer[..length].to_vec();
            if late.send((Instant::now() + fault.delay(), bytes)).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, deliver(arrived, to, fault));
}

async fn deliver(mut arrived: mpsc::Receiver<(Instant, Vec<u8>)>, mut to: OwnedWriteHalf, fault: Fault) {
    let (size, pause) = fault.pieces();
    while let Some((at, bytes)) = arrived.recv().await {
        sleep_until(at).await;
        for piece in bytes.chunks(size.min(bytes.len())) {
            if to.write_all(piece).await.is_err() {
                return;
            }
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
    }
}
