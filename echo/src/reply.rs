//! The sending of answers: ready ones, streamed ones, and those that misbehave.

use std::borrow::Cow;
use std::io::Write;

use crate::answer::{Answer, Body, Fault, Framing};
use crate::connection::{Connection, ECHO_BYTES_MAX, End, OUTBOX_BYTES};
use crate::prepared::{Asked, FILL, HELLO, READY_BODY_BYTES_MAX, Request, StatsRequest};
use crate::render::{self, AnswerHead, Persist};

/// Bytes that no client can take for HTTP.
const GARBAGE: &[u8] = b"\x00\x16\x03 this is no HTTP \xff\xfe\r\n\r\n";

/// A body to send.
enum Payload {
    Bytes(Cow<'static, [u8]>),
    Fill(u64),
}

impl Payload {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Fill(bytes) => *bytes,
        }
    }

    /// Some bytes that begin at this one, at least one and at most so many. `from` is below the length.
    fn piece(&self, from: u64, bytes_max: u64) -> &[u8] {
        let rest = match self {
            Self::Bytes(bytes) => &bytes[usize::try_from(from).unwrap_or(usize::MAX)..],
            Self::Fill(_) => &FILL[..],
        };
        &rest[..usize::try_from(bytes_max).unwrap_or(usize::MAX).min(rest.len())]
    }
}

impl Connection {
    /// Answers a request that has been counted.
    pub(crate) async fn answer(&mut self, request: &Request, asked: &Asked) -> Result<(), End> {
        let answer = &asked.answer;
        if !answer.delay.is_zero() && asked.path.so_far() >= answer.delay_from {
            self.wait(answer.delay).await?;
        }
        if let Some(ready) = &asked.ready {
            self.ledger.begin(answer.status);
            self.ledger.body_sent(ready.bytes.len() - ready.body_at);
            self.outbox.push_answer(&ready.bytes, ready.body_at, answer.status);
            self.ledger.end();
        } else {
            self.send_nothing_whole(answer.fault).await?;
            self.send(request, answer).await?;
        }
        if request.persist == Persist::Close || answer.fault == Some(Fault::CloseAfter) {
            return Err(self.last_answered());
        }
        Ok(())
    }

    /// Answers a request to `/stats`, which counts nowhere.
    pub(crate) fn answer_stats(&mut self, request: &Request, stats: StatsRequest) -> Result<(), End> {
        self.ledger.uncount_connection();
        let counts = self.ledger.counts();
        let (status, body) = match stats {
            StatsRequest::Read => (200, render::json(&counts.snapshot())),
            StatsRequest::Reset => {
                counts.reset();
                (204, Vec::new())
            }
            StatsRequest::Refused => (405, Vec::new()),
        };
        let head = AnswerHead {
            status,
            framing: Framing::Length,
            body_bytes: body.len() as u64,
            content_type: render::JSON,
            persist: request.persist,
            allow: (stats == StatsRequest::Refused).then_some("GET, HEAD, DELETE"),
        };
        render::head(self.outbox.buffer(), head);
        if request.sends_body(status) {
            self.outbox.buffer().extend_from_slice(&body);
        }
        if request.persist == Persist::Close { Err(self.last_answered()) } else { Ok(()) }
    }

    /// The faults in which no answer begins.
    async fn send_nothing_whole(&mut self, fault: Option<Fault>) -> Result<(), End> {
        match fault {
            None | Some(Fault::Cut | Fault::CutReset | Fault::CloseAfter) => return Ok(()),
            Some(Fault::Hang) => {
                self.flush().await?;
                self.drain(usize::MAX).await?;
                return Err(End::Gone);
            }
            Some(Fault::Reset) => {
                self.flush().await?;
                return Err(End::Reset);
            }
            Some(Fault::Garbage) => self.outbox.buffer().extend_from_slice(GARBAGE),
            Some(Fault::Hangup) => {}
        }
        Err(self.last_answered())
    }

    /// Sends an answer that is not ready.
    async fn send(&mut self, request: &Request, answer: &Answer) -> Result<(), End> {
        let (status, body) = self.payload(request, answer);
        let sends_body = request.sends_body(status);
        self.ledger.begin(status);
        render::head(self.outbox.buffer(), request.answer_head(answer, status, body.len()));
        if let Some(fault) = answer.fault.filter(|fault| matches!(fault, Fault::Cut | Fault::CutReset)) {
            return Err(self.cut(answer, &body, sends_body, fault).await?);
        }
        if sends_body {
            self.send_body(answer, &body, body.len()).await?;
            if answer.framing == Framing::Chunked {
                self.outbox.buffer().extend_from_slice(b"0\r\n\r\n");
            }
        }
        self.outbox.end_answer(status);
        self.ledger.end();
        Ok(())
    }

    /// Sends half of the answer that has begun: half of its body, or, where the client couldn't tell that
    /// from a whole one, its head without the end.
    async fn cut(
        &mut self,
        answer: &Answer,
        body: &Payload,
        sends_body: bool,
        fault: Fault,
    ) -> Result<End, End> {
        let shows = matches!(answer.framing, Framing::Length | Framing::Chunked) || fault == Fault::CutReset;
        if sends_body && body.len() > 0 && shows {
            self.send_body(answer, body, body.len() / 2).await?;
        } else {
            let head_cut = self.outbox.len() - b"\r\n".len();
            self.outbox.buffer().truncate(head_cut);
        }
        self.flush().await?;
        Ok(if fault == Fault::CutReset { End::Reset } else { self.last_answered() })
    }

    /// The status and the body of an answer that is not ready.
    fn payload(&mut self, request: &Request, answer: &Answer) -> (u16, Payload) {
        let counts = self.ledger.counts();
        let fails = answer.fail_percent > 0 && counts.next_fails(answer.fail_percent);
        let status = if fails { 500 } else { answer.status };
        let bytes = match &answer.body {
            Body::Fill(bytes) => return (status, Payload::Fill(*bytes)),
            Body::Hello => Cow::Borrowed(HELLO),
            Body::Problem(text) => Cow::Owned(text.clone().into_bytes()),
            Body::Counter => Cow::Owned(counts.next_counter().to_string().into_bytes()),
            Body::Echo => return self.echo(request, status),
        };
        (status, Payload::Bytes(bytes))
    }

    /// The request as JSON, or why it is too long for that.
    fn echo(&mut self, request: &Request, status: u16) -> (u16, Payload) {
        let body = std::mem::take(&mut self.kept_body);
        if body.len() > ECHO_BYTES_MAX {
            let problem = format!("{{\"error\":\"the body is longer than {ECHO_BYTES_MAX} bytes\"}}\n");
            return (413, Payload::Bytes(Cow::Owned(problem.into_bytes())));
        }
        (status, Payload::Bytes(Cow::Owned(render::echo(&request.head, &body))))
    }

    /// Sends the first bytes of a body, to that end.
    async fn send_body(&mut self, answer: &Answer, body: &Payload, end: u64) -> Result<(), End> {
        let mut at = 0;
        while at < end {
            let piece = body.piece(at, end - at);
            at += if answer.framing == Framing::Chunked {
                self.send_chunk(piece, answer.chunk_bytes).await?
            } else {
                self.send_piece(piece).await?
            };
        }
        Ok(())
    }

    async fn send_piece(&mut self, piece: &[u8]) -> Result<u64, End> {
        self.ledger.body_sent(piece.len());
        if piece.len() as u64 <= READY_BODY_BYTES_MAX {
            self.outbox.push_body(piece);
        } else {
            self.outbox.flush_with(&mut self.stream, piece).await?;
        }
        Ok(piece.len() as u64)
    }

    async fn send_chunk(&mut self, piece: &[u8], chunk_bytes: u64) -> Result<u64, End> {
        let piece = &piece[..piece.len().min(usize::try_from(chunk_bytes).unwrap_or(usize::MAX))];
        // Writing to memory can't fail.
        let _ = write!(self.outbox.buffer(), "{:x}\r\n", piece.len());
        self.ledger.body_sent(piece.len());
        self.outbox.push_body(piece);
        self.outbox.buffer().extend_from_slice(b"\r\n");
        if self.outbox.len() >= OUTBOX_BYTES {
            self.flush().await?;
        }
        Ok(piece.len() as u64)
    }
}
