//! One connection, and the exchange of one request and its answer over it.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use volley_stats::ErrorKind;

use crate::failure;
use crate::http1::{EofError, Outcome, Parser, Prepared, RequestKind};
use crate::recorder::Gauges;

/// An open connection; it is counted as long as it lives.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    gauges: Rc<Gauges>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, gauges: &Rc<Gauges>) -> Self {
        gauges.connections.up();
        Self { stream, gauges: Rc::clone(gauges) }
    }

    /// Whether a request may be tried on it after it lay idle: the target hasn't closed it, nor said anything that
    /// nobody asked for. Costs a system call only where the event loop has already heard from the target.
    #[inline]
    pub(crate) fn is_quiet(&self, buffer: &mut [u8]) -> bool {
        let heard = self.stream.try_read(buffer);
        matches!(heard, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.gauges.connections.down();
    }
}

/// How far one attempt at a request is. It serves one user's requests, one after the other.
#[derive(Debug)]
pub(crate) struct Exchange {
    parser: Parser,
    bytes_sent: usize,
    bytes_received: u64,
    /// Writing failed; an answer may be there all the same.
    write_failure: Option<ErrorKind>,
}

impl Exchange {
    pub(crate) fn new() -> Self {
        let parser = Parser::new(RequestKind { is_head: false, keep_alive: false });
        Self { parser, bytes_sent: 0, bytes_received: 0, write_failure: None }
    }

    /// Gets ready for an attempt at this request.
    #[inline]
    pub(crate) fn begin(&mut self, request: &Prepared) {
        self.parser.reset(request.kind());
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.write_failure = None;
    }

    /// Bytes of the request that were written.
    pub(crate) fn bytes_sent(&self) -> u64 {
        self.bytes_sent as u64
    }

    /// Bytes that were read.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Whether a failed attempt on a re-used connection may be made again on a fresh one: the target may have closed
    /// the connection before it saw the request (RFC 9112 section 9.3.1), and seeing it twice would do no harm.
    pub(crate) fn may_be_repeated(&self, kind: ErrorKind, request: &Prepared) -> bool {
        let by_close = matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset | ErrorKind::Write);
        by_close && self.bytes_received == 0 && (request.is_idempotent() || self.bytes_sent == 0)
    }

    /// Writes and reads until the answer is whole. Both go on side by side, since a target may answer before it has
    /// read a large request, and may stop reading until its answer is taken.
    ///
    /// A short read or write takes back the readiness that tokio knows of, so no call is made just to hear that there
    /// is nothing: a small request and its answer cost one `send` and one `recv`.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        request: &[u8],
        buffer: &mut [u8],
    ) -> Poll<Result<Outcome, ErrorKind>> {
        if self.bytes_sent < request.len() && self.write_failure.is_none() {
            self.poll_send(cx, connection, request);
        }
        loop {
            let mut space = ReadBuf::new(buffer);
            if ready!(Pin::new(&mut connection.stream).poll_read(cx, &mut space)).is_err() {
                return Poll::Ready(Err(self.write_failure.unwrap_or(ErrorKind::Reset)));
            }
            let piece = space.filled();
            if piece.is_empty() {
                return Poll::Ready(self.at_eof());
            }
            self.bytes_received += piece.len() as u64;
            match self.parser.receive(piece) {
                Ok(None) => {}
                Ok(Some(outcome)) => {
                    let reusable = outcome.reusable && self.bytes_sent == request.len();
                    return Poll::Ready(Ok(Outcome { reusable, ..outcome }));
                }
                Err(_) => return Poll::Ready(Err(ErrorKind::Protocol)),
            }
        }
    }

    /// Writes what the connection takes. A failure is only noted: the answer that explains it may be waiting.
    fn poll_send(&mut self, cx: &mut Context<'_>, connection: &mut Connection, request: &[u8]) {
        while self.bytes_sent < request.len() {
            let rest = &request[self.bytes_sent..];
            match Pin::new(&mut connection.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(bytes)) => self.bytes_sent += bytes,
                Poll::Ready(Err(error)) => {
                    self.write_failure = Some(failure::of_writing(&error));
                    return;
                }
                Poll::Pending => return,
            }
        }
    }

    #[cold]
    fn at_eof(&mut self) -> Result<Outcome, ErrorKind> {
        self.parser.on_eof().map_err(|error| match error {
            EofError::BeforeFirstByte => self.write_failure.unwrap_or(ErrorKind::ClosedEarly),
            EofError::InHead | EofError::Truncated { .. } => ErrorKind::Truncated,
            EofError::Protocol(_) => ErrorKind::Protocol,
        })
    }
}
