//! One connection to the target, and the way to one.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::recorder::Gauges;

/// Where requests go.
#[derive(Debug)]
pub(crate) enum Target {
    /// The addresses of the target's name, at least one.
    Addresses(Vec<SocketAddr>),
    /// A scripted one at the other end of pipes in memory.
    #[cfg(test)]
    Virtual(crate::virtual_time::Target),
}

impl Target {
    /// How many ways there are to it.
    pub(crate) fn ways(&self) -> usize {
        match self {
            Self::Addresses(addresses) => addresses.len(),
            #[cfg(test)]
            Self::Virtual(_) => 1,
        }
    }

    /// Connects by one of the ways.
    pub(crate) async fn connect(&self, way: usize) -> io::Result<Stream> {
        match self {
            Self::Addresses(addresses) => {
                let stream = TcpStream::connect(addresses[way]).await?;
                // It fails only where the connection has failed already, which the exchange will tell better.
                let _ = stream.set_nodelay(true);
                Ok(Stream::Tcp(stream))
            }
            #[cfg(test)]
            Self::Virtual(target) => target.connect().await.map(Stream::Pipe),
        }
    }
}

/// Bytes to and from the target.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(test)]
    Pipe(tokio::io::DuplexStream),
}

/// An open connection; it is counted as long as it lives.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    gauges: Rc<Gauges>,
}

impl Connection {
    pub(crate) fn new(stream: Stream, gauges: &Rc<Gauges>) -> Self {
        gauges.connections.up();
        Self { stream, gauges: Rc::clone(gauges) }
    }

    /// Whether a request may be tried on it after it lay idle: the target hasn't closed it, nor said anything that
    /// nobody asked for. Costs a system call only where the event loop has already heard from the target.
    #[inline]
    pub(crate) fn is_quiet(&mut self, buffer: &mut [u8]) -> bool {
        match &mut self.stream {
            Stream::Tcp(stream) => {
                let heard = stream.try_read(buffer);
                matches!(heard, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            }
            #[cfg(test)]
            Stream::Pipe(pipe) => {
                let mut cx = Context::from_waker(std::task::Waker::noop());
                Pin::new(pipe).poll_read(&mut cx, &mut ReadBuf::new(buffer)).is_pending()
            }
        }
    }

    /// Writes what it takes of these bytes.
    #[inline]
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(test)]
            Stream::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
        }
    }

    /// Reads what there is, as far as it fits the buffer, and says how much that was: nothing at the end.
    ///
    /// A short read takes back the readiness that tokio knows of, so no call is made just to hear that there is nothing:
    /// a small answer costs one `recv`.
    #[inline]
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut space = ReadBuf::new(buffer);
        let poll = match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut space),
            #[cfg(test)]
            Stream::Pipe(pipe) => Pin::new(pipe).poll_read(cx, &mut space),
        };
        poll.map_ok(|()| space.filled().len())
    }

    /// The same for bytes that nobody looks at: the kernel drops them and copies nothing. The buffer says how many are
    /// taken at most, and stays as it was.
    pub(crate) fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Tcp(stream) => poll_truncated(stream, cx, buffer),
            #[cfg(test)]
            Stream::Pipe(_) => self.poll_receive(cx, buffer),
        }
    }
}

/// `recv` with `MSG_TRUNC`, which for TCP means to throw away (tcp(7)).
fn poll_truncated(stream: &TcpStream, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    let most = buffer.len();
    loop {
        std::task::ready!(stream.poll_read_ready(cx))?;
        let mut taken = None;
        let received = stream.try_io(Interest::READABLE, || {
            let (_, bytes) = rustix::net::recv(stream, &mut *buffer, RecvFlags::TRUNC)?;
            taken = Some(bytes);
            // As with a short read: this was all there is, and tokio is to wait for more.
            if bytes > 0 && bytes < most { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match (taken, received) {
            (Some(bytes), _) => return Poll::Ready(Ok(bytes)),
            (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Poll::Ready(Err(error));
            }
            (None, _) => {}
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.gauges.connections.down();
    }
}
