//! Connections with bounds: how many there are, and how long the other side may refuse to read. A page that stopped
//! reading its stream is cut off; the browser dials again and resumes where it was.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// How long a connection may not take up a byte that is to be written.
const WRITE_WITHIN: Duration = Duration::from_secs(15);

/// A listener whose connections are bounded; more than there may be wait in its queue.
pub(super) struct TimedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
}

impl TimedListener {
    pub(super) fn new(listener: TcpListener, most: usize) -> Self {
        Self { listener, permits: Arc::new(Semaphore::new(most)) }
    }

    /// The next connection. Where none can be had, for want of a descriptor, it tries again.
    pub(super) async fn accept(&mut self) -> Timed<TcpStream> {
        let permit = self.permits.clone().acquire_owned().await.ok();
        let (stream, _) = Listener::accept(&mut self.listener).await;
        // Small answers are to leave at once; if that can't be had, they leave later.
        let _ = stream.set_nodelay(true);
        Timed { io: stream, stalled: None, write_within: WRITE_WITHIN, _permit: permit }
    }
}

/// A stream that fails when nothing could be written for too long.
pub(super) struct Timed<T> {
    io: T,
    stalled: Option<Pin<Box<Sleep>>>,
    write_within: Duration,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<T> Timed<T> {
    /// Starts the clock when a write has to wait, and stops it when one has gone through.
    fn watch<R>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.write_within)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Timed<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Timed<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.watch(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.watch(cx, result)
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stopped_reading_is_cut_off_and_a_slow_one_is_not() {
        let (near, mut far) = duplex(10);
        let write_within = Duration::from_secs(15);
        let mut timed = Timed { io: near, stalled: None, write_within, _permit: None };
        let reader = tokio::spawn(async move {
            for _ in 0..3 {
                sleep(Duration::from_secs(10)).await;
                far.read_exact(&mut [0; 10]).await.unwrap();
            }
            far
        });
        timed.write_all(&[7; 40]).await.unwrap();
        let begun = Instant::now();
        let _far = reader.await.unwrap();
        let error = timed.write_all(&[7; 40]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 15);
    }
}
