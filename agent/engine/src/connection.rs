//! One connection to the target: its bytes, over TCP or a Unix socket, in clear or by TLS.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConnection;

use crate::HeardTls;
use crate::recorder::{Gauges, Tally};

/// Bytes to and from the target.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    TlsOverTcp(Box<TlsStream<TcpStream>>),
    TlsOverUnix(Box<TlsStream<UnixStream>>),
    #[cfg(test)]
    Pipe(tokio::io::DuplexStream),
}

/// Does the same with whatever a [`Stream`] is.
macro_rules! with {
    ($stream:expr, $bytes:ident => $done:expr) => {
        match $stream {
            Stream::Tcp($bytes) => $done,
            Stream::Unix($bytes) => $done,
            Stream::TlsOverTcp($bytes) => $done,
            Stream::TlsOverUnix($bytes) => $done,
            #[cfg(test)]
            Stream::Pipe($bytes) => $done,
        }
    };
}

/// What became of a connection while it lay idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Nothing: a request may be tried on it.
    Quiet,
    /// The target closed it.
    Closed,
    /// The target said something that nobody asked for; a later answer could not be told from it.
    Noisy,
}

/// An open connection; it is counted as long as it lives.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    gauges: Rc<Gauges>,
    /// What is counted of the address that it goes to.
    tally: Rc<Tally>,
    is_used: bool,
    ended_cleanly: bool,
}

impl Connection {
    pub(crate) fn new(stream: Stream, gauges: &Rc<Gauges>, tally: &Rc<Tally>) -> Self {
        gauges.connections.up();
        let (gauges, tally) = (Rc::clone(gauges), Rc::clone(tally));
        Self { stream, gauges, tally, is_used: false, ended_cleanly: true }
    }

    /// Whether a request was written on it before: whoever writes one says so by [`Self::mark_used`].
    #[inline]
    pub(crate) fn is_reused(&self) -> bool {
        self.is_used
    }

    /// An exchange on it has ended.
    #[inline]
    pub(crate) fn mark_used(&mut self) {
        self.is_used = true;
    }

    /// Counts a request, of which a byte at least was written, for the address that the connection goes to.
    #[inline]
    pub(crate) fn count_request(&self) {
        self.tally.requests.up();
    }

    /// Whether the end that was received, if one was, is known to be the target's own: by TLS it says so, and whoever cuts
    /// the connection can't (RFC 8446 section 6.1).
    #[inline]
    pub(crate) fn ended_cleanly(&self) -> bool {
        self.ended_cleanly
    }

    /// What its handshake has settled, where there was one.
    #[cold]
    pub(crate) fn settled(&self) -> Option<HeardTls> {
        match &self.stream {
            Stream::TlsOverTcp(stream) => Some(settled(stream.get_ref().1)),
            Stream::TlsOverUnix(stream) => Some(settled(stream.get_ref().1)),
            _ => None,
        }
    }

    /// What became of it while it lay idle. What TLS itself has to say, such as session tickets, is taken in. Costs a system
    /// call only where the event loop has already heard from the target.
    #[inline]
    pub(crate) fn idle(&mut self, buffer: &mut [u8]) -> Idle {
        match &mut self.stream {
            Stream::Tcp(stream) => Idle::of(stream.try_read(buffer)),
            Stream::Unix(stream) => Idle::of(stream.try_read(buffer)),
            Stream::TlsOverTcp(stream) => Idle::of_stream(stream, buffer),
            Stream::TlsOverUnix(stream) => Idle::of_stream(stream, buffer),
            #[cfg(test)]
            Stream::Pipe(pipe) => Idle::of_stream(pipe, buffer),
        }
    }

    /// Writes what it takes of these bytes. With TLS they may not all be on their way before [`Self::poll_flush`] says so.
    #[inline]
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        with!(&mut self.stream, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    /// Makes sure that all that was written is on its way: at once, but for TLS.
    #[inline]
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::TlsOverTcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::TlsOverUnix(stream) => Pin::new(stream).poll_flush(cx),
            _ => Poll::Ready(Ok(())),
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
        match with!(&mut self.stream, stream => Pin::new(stream).poll_read(cx, &mut space)) {
            // So rustls calls an end without close_notify; no socket says this of itself.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.ended_cleanly = false;
                Poll::Ready(Ok(0))
            }
            poll => poll.map_ok(|()| space.filled().len()),
        }
    }

    /// The same for bytes that nobody looks at: of TCP the kernel drops them and copies nothing. The buffer says how many are
    /// taken at most; what is in it then means nothing.
    pub(crate) fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Tcp(stream) => poll_truncated(stream, cx, buffer),
            _ => self.poll_receive(cx, buffer),
        }
    }
}

impl Idle {
    fn of(heard: io::Result<usize>) -> Self {
        match heard {
            Ok(1..) => Self::Noisy,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Self::Quiet,
            Ok(0) | Err(_) => Self::Closed,
        }
    }

    fn of_stream(stream: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> Self {
        // Whoever waits for bytes later says so itself.
        let mut cx = Context::from_waker(Waker::noop());
        let mut space = ReadBuf::new(buffer);
        match Pin::new(stream).poll_read(&mut cx, &mut space) {
            Poll::Pending => Self::Quiet,
            Poll::Ready(heard) => Self::of(heard.map(|()| space.filled().len())),
        }
    }
}

fn settled(session: &ClientConnection) -> HeardTls {
    let text = |name: Option<&str>| name.unwrap_or_default().to_owned();
    let group = session.negotiated_key_exchange_group().map(|group| format!("{:?}", group.name()));
    HeardTls {
        version: text(session.protocol_version().and_then(|version| version.as_str())),
        suite: text(session.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str())),
        group,
        certificate: session.peer_certificates().and_then(|chain| Some(chain.first()?.to_vec())),
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
        match &mut self.stream {
            Stream::TlsOverTcp(stream) => say_goodbye(stream),
            Stream::TlsOverUnix(stream) => say_goodbye(stream),
            _ => {}
        }
    }
}

/// Tells the target that the connection ends here (RFC 8446 section 6.1, RFC 9112 section 9.8), as far as it can be told at
/// once. Where a request is still being written there is no good end to tell of.
fn say_goodbye(stream: &mut TlsStream<impl AsyncWrite + Unpin>) {
    let (socket, session) = stream.get_mut();
    if !session.wants_write() {
        session.send_close_notify();
        // Whoever has gone doesn't hear it.
        let _ = session.write_tls(&mut AtOnce(socket));
    }
}

/// Writes what a socket takes without waiting.
struct AtOnce<'a, S>(&'a mut S);

impl<S: AsyncWrite + Unpin> io::Write for AtOnce<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut cx = Context::from_waker(Waker::noop());
        match Pin::new(&mut *self.0).poll_write(&mut cx, bytes) {
            Poll::Ready(written) => written,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
