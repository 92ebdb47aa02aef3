//! One connection: receives a request whole, counts it, answers it, and again.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

use crate::bad_request::BadRequest;
use crate::chunked::Chunked;
use crate::head::{self, BodyFraming, HEAD_BYTES_MAX};
use crate::input::Input;
use crate::ledger::Ledger;
use crate::outbox::Outbox;
use crate::prepared::{Prepared, Route};
use crate::render;

/// The longest body that `/echo` gives back, in bytes; a longer one is answered 413.
pub(crate) const ECHO_BYTES_MAX: usize = 64 * 1024;

/// Answers to pipelined requests are gathered up to so many bytes before they are written.
pub(crate) const OUTBOX_BYTES: usize = 64 * 1024;

/// How long, and for how many bytes, a connection that is closed with bytes unread is read on. Without that
/// the kernel resets it, and the client may lose the answer (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 4 * 1024 * 1024;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Once everything is written.
    Close,
    /// Once everything is written and the client has stopped sending.
    Linger,
    /// With a reset, so that the client sees an error.
    Reset,
    /// It has failed, or the client is gone: there is nobody to write to.
    Gone,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        // Which error it was says nothing about this side: each means that the client went away.
        Self::Gone
    }
}

/// One accepted connection.
pub(crate) struct Connection {
    /// Before the stream, so that it is dropped first: a client that has seen the end finds it counted.
    pub(crate) ledger: Ledger,
    pub(crate) stream: TcpStream,
    pub(crate) input: Input,
    pub(crate) outbox: Outbox,
    /// The body of a request that is to be echoed; one byte longer than it may be where it is too long.
    pub(crate) kept_body: Vec<u8>,
    /// Bytes of the input that are known to hold no end of a head.
    scanned: usize,
    /// A head has been received, and its body not yet whole.
    in_body: bool,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, ledger: Ledger) -> Self {
        Self {
            ledger,
            stream,
            input: Input::new(),
            outbox: Outbox::default(),
            kept_body: Vec::new(),
            scanned: 0,
            in_body: false,
        }
    }

    /// Serves the connection to its end.
    pub(crate) async fn serve(mut self) {
        let Err(end) = self.answer_all().await;
        // A failure to end it properly is the client's going away, once more.
        let _ = self.finish(end).await;
    }

    async fn answer_all(&mut self) -> Result<Infallible, End> {
        let mut last = None;
        loop {
            let mut prepared = self.receive_head(last.take()).await?;
            if prepared.request.body != BodyFraming::None {
                self.receive_body(&prepared).await?;
            }
            match &mut prepared.route {
                Route::Stats(stats) => self.answer_stats(&prepared.request, *stats)?,
                Route::Answer(asked) => {
                    self.ledger.request(&mut asked.path);
                    self.answer(&prepared.request, asked).await?;
                }
            }
            if self.outbox.len() >= OUTBOX_BYTES {
                self.flush().await?;
            }
            last = Some(prepared);
        }
    }

    async fn receive_head(&mut self, mut last: Option<Prepared>) -> Result<Prepared, End> {
        loop {
            self.input.skip_empty_lines();
            if let Some(last) = last.take_if(|last| self.input.bytes().starts_with(&last.request.head)) {
                self.input.consume(last.request.head.len());
                self.scanned = 0;
                return Ok(last);
            }
            match self.read_head() {
                Ok(Some(prepared)) => return Ok(prepared),
                Ok(None) => self.fill().await?,
                Err(bad) => return Err(self.refuse(bad)),
            }
        }
    }

    /// Reads a head that differs from the last one; `None` where it has not come whole.
    fn read_head(&mut self) -> Result<Option<Prepared>, BadRequest> {
        let bytes = self.input.bytes();
        let Some(end) = head::find_end(bytes, self.scanned)? else {
            if bytes.len() >= HEAD_BYTES_MAX {
                return Err(head::too_large(bytes));
            }
            self.scanned = bytes.len();
            return Ok(None);
        };
        self.scanned = 0;
        if end > HEAD_BYTES_MAX {
            return Err(BadRequest::HeadTooLarge);
        }
        let prepared = Prepared::new(&bytes[..end], &self.ledger)?;
        self.input.consume(end);
        Ok(Some(prepared))
    }

    async fn receive_body(&mut self, prepared: &Prepared) -> Result<(), End> {
        self.in_body = true;
        if prepared.request.expects_continue && self.input.is_empty() {
            self.outbox.buffer().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        match prepared.request.body {
            BodyFraming::None => {}
            BodyFraming::Length(bytes) => self.receive_length(prepared, bytes).await?,
            BodyFraming::Chunked => self.receive_chunked(prepared).await?,
        }
        self.in_body = false;
        Ok(())
    }

    async fn receive_length(&mut self, prepared: &Prepared, bytes: u64) -> Result<(), End> {
        let mut left = bytes;
        loop {
            let piece = self.input.bytes();
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            keep(&mut self.kept_body, prepared, &piece[..take]);
            self.count_body(prepared, take);
            self.input.consume(take);
            left -= take as u64;
            if left == 0 {
                return Ok(());
            }
            self.input.widen();
            self.fill().await?;
        }
    }

    async fn receive_chunked(&mut self, prepared: &Prepared) -> Result<(), End> {
        let mut decoder = Chunked::new();
        loop {
            let mut data_bytes = 0;
            let fed = decoder.feed(self.input.bytes(), |data| {
                data_bytes += data.len();
                keep(&mut self.kept_body, prepared, data);
            });
            self.count_body(prepared, data_bytes);
            match fed {
                Ok(used) => self.input.consume(used),
                Err(bad) => return Err(self.refuse(bad)),
            }
            if decoder.is_done() {
                return Ok(());
            }
            self.fill().await?;
        }
    }

    fn count_body(&self, prepared: &Prepared, bytes: usize) {
        if bytes > 0 && prepared.counts() {
            self.ledger.body_received(bytes);
        }
    }

    /// Puts the answer to what is no request into the outbox.
    fn refuse(&mut self, bad: BadRequest) -> End {
        self.in_body = false;
        self.input.clear();
        let (answer, body_at) = render::refusal(bad);
        self.ledger.malformed();
        self.ledger.begin(bad.status());
        self.ledger.body_sent(answer.len() - body_at);
        self.outbox.push_answer(&answer, body_at, bad.status());
        self.ledger.end();
        End::Linger
    }

    /// Reads some more, once everything is written.
    async fn fill(&mut self) -> Result<(), End> {
        self.flush().await?;
        match self.input.fill(&mut self.stream).await? {
            0 => Err(End::Gone),
            _ => Ok(()),
        }
    }

    pub(crate) async fn flush(&mut self) -> Result<(), End> {
        Ok(self.outbox.flush(&mut self.stream).await?)
    }

    /// How to end the connection after the last answer, which is in the outbox.
    pub(crate) fn last_answered(&mut self) -> End {
        if self.input.is_empty() {
            return End::Close;
        }
        self.input.clear();
        End::Linger
    }

    /// Waits out a delay, and for the client's going away meanwhile: what it sends is kept, its end of
    /// sending is taken as its end.
    pub(crate) async fn wait(&mut self, delay: Duration) -> Result<(), End> {
        self.flush().await?;
        let delay = sleep(delay);
        tokio::pin!(delay);
        loop {
            if self.input.is_full() {
                delay.await;
                return Ok(());
            }
            tokio::select! {
                biased;
                () = &mut delay => return Ok(()),
                read = self.input.fill(&mut self.stream) => if read? == 0 { return Err(End::Gone) },
            }
        }
    }

    /// Reads and forgets, until the client closes its side.
    pub(crate) async fn drain(&mut self, bytes_max: usize) -> Result<(), End> {
        let mut drained = 0;
        while drained < bytes_max {
            self.input.clear();
            match self.input.fill(&mut self.stream).await? {
                0 => break,
                read => drained += read,
            }
        }
        Ok(())
    }

    async fn finish(&mut self, end: End) -> Result<(), End> {
        match end {
            End::Gone => {}
            End::Reset => self.stream.set_zero_linger()?,
            End::Close => self.flush().await?,
            End::Linger => {
                self.flush().await?;
                tokio::io::AsyncWriteExt::shutdown(&mut self.stream).await?;
                let drained = self.drain(LINGER_BYTES);
                // Past this time a reset is what the client gets.
                let _ = timeout_at(Instant::now() + LINGER, drained).await;
                self.input.clear();
            }
        }
        Ok(())
    }
}

impl Drop for Connection {
    /// Settles the account, also where the task was aborted in the middle of an answer.
    fn drop(&mut self) {
        let partial = self.ledger.is_even() && (self.in_body || !self.input.is_empty());
        self.ledger.settle(&self.outbox, partial);
    }
}

/// Keeps a piece of a body that is to be echoed, up to one byte more than may be.
fn keep(kept: &mut Vec<u8>, prepared: &Prepared, piece: &[u8]) {
    if prepared.keeps_body() {
        let room = ECHO_BYTES_MAX + 1 - kept.len();
        kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}
