//! The connections of agents. One on which no agent is attached is cut off in time, whether its other side says nothing
//! at all or only what keeps an HTTP/2 connection open.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep};
use tonic::transport::server::Connected;

use super::timed::{Timed, TimedListener};

/// How long a connection may be there without an agent.
const ATTACH_WITHIN: Duration = Duration::from_secs(10);

/// Whether agents are attached over a connection. Clones tell of the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presence(Arc<AtomicUsize>);

/// As long as this is there, so is an agent.
#[derive(Debug)]
pub(crate) struct Present(Presence);

impl Presence {
    /// An agent is attached.
    pub(crate) fn enter(&self) -> Present {
        self.0.fetch_add(1, Ordering::Relaxed);
        Present(self.clone())
    }

    fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that fails where no agent is attached to it for too long.
pub(super) struct Watched<T> {
    io: T,
    presence: Presence,
    look: Pin<Box<Sleep>>,
}

impl<T> Watched<T> {
    fn new(io: T) -> Self {
        Self { io, presence: Presence::default(), look: Box::pin(sleep(ATTACH_WITHIN)) }
    }

    /// Looks now and then whether an agent is there. To be called whenever the connection is read, which is always.
    fn watch(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.look.as_mut().poll(cx).is_ready() {
            if !self.presence.is_any() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no agent is attached"));
            }
            self.look.as_mut().reset(Instant::now() + ATTACH_WITHIN);
        }
        Ok(())
    }
}

/// The connections that are made to a listener, `most` at a time.
pub(super) fn incoming(
    listener: TcpListener,
    most: usize,
) -> impl Stream<Item = io::Result<Watched<Timed<TcpStream>>>> + Send {
    stream::unfold(TimedListener::new(listener, most), |mut listener| async move {
        let stream = listener.accept().await;
        Some((Ok(Watched::new(stream)), listener))
    })
}

impl<T> Connected for Watched<T> {
    type ConnectInfo = Presence;

    fn connect_info(&self) -> Presence {
        self.presence.clone()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.watch(cx)?;
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_lasts_as_long_as_an_agent_is_there() {
        let (near, _far) = duplex(10);
        let mut watched = Watched::new(near);
        let present = watched.connect_info().enter();
        let begun = Instant::now();
        tokio::spawn(async move {
            sleep(Duration::from_secs(25)).await;
            drop(present);
        });
        let error = watched.read_u8().await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
        let (near, _far) = duplex(10);
        let begun = Instant::now();
        assert_eq!(Watched::new(near).read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 10);
    }
}
