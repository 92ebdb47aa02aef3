//! What is to be written to a connection, and which of it are answers' bodies, so that what could not be
//! written can be taken back from the counts.

use std::io::{self, IoSlice};
use std::ops::Range;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Where a body, or a piece of one, lies in the buffer, and the status of the answer that ends with it.
#[derive(Debug)]
struct Mark {
    body: Range<usize>,
    ends: Option<u16>,
}

/// Bytes to be written, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    marks: Vec<Mark>,
    /// Bytes of a body that are being written from elsewhere, after the buffer.
    direct_unsent: usize,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The buffer, to append what belongs to no body.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends a whole answer, whose body begins at `body_at`.
    pub(crate) fn push_answer(&mut self, answer: &[u8], body_at: usize, status: u16) {
        let start = self.bytes.len() + body_at;
        self.bytes.extend_from_slice(answer);
        self.marks.push(Mark { body: start..self.bytes.len(), ends: Some(status) });
    }

    /// Appends a piece of a body.
    pub(crate) fn push_body(&mut self, piece: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(piece);
        self.marks.push(Mark { body: start..self.bytes.len(), ends: None });
    }

    /// Everything of the answer has been appended.
    pub(crate) fn end_answer(&mut self, status: u16) {
        let end = self.bytes.len();
        self.marks.push(Mark { body: end..end, ends: Some(status) });
    }

    /// Writes everything.
    pub(crate) async fn flush(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        while self.sent < self.bytes.len() {
            self.sent += at_least_one(stream.write(&self.bytes[self.sent..]).await?)?;
        }
        self.clear();
        Ok(())
    }

    /// Writes everything, and after it a piece of a body, which is not copied.
    pub(crate) async fn flush_with(&mut self, stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
        self.direct_unsent = piece.len();
        while self.sent < self.bytes.len() {
            let both = [IoSlice::new(&self.bytes[self.sent..]), IoSlice::new(piece)];
            let written = at_least_one(stream.write_vectored(&both).await?)?;
            let buffered = written.min(self.bytes.len() - self.sent);
            self.sent += buffered;
            self.direct_unsent -= written - buffered;
        }
        while self.direct_unsent > 0 {
            let rest = &piece[piece.len() - self.direct_unsent..];
            self.direct_unsent -= at_least_one(stream.write(rest).await?)?;
        }
        self.clear();
        Ok(())
    }

    /// Bytes of bodies that were given and not written.
    pub(crate) fn unsent_body_bytes(&self) -> u64 {
        let buffered =
            self.marks.iter().map(|mark| mark.body.end.saturating_sub(mark.body.start.max(self.sent)));
        (buffered.sum::<usize>() + self.direct_unsent) as u64
    }

    /// The statuses of the answers that were given whole and not written whole.
    pub(crate) fn unsent_answers(&self) -> impl Iterator<Item = u16> {
        let unsent = self.marks.iter().filter(|mark| mark.body.end > self.sent);
        unsent.filter_map(|mark| mark.ends)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.marks.clear();
        self.sent = 0;
    }
}

fn at_least_one(written: usize) -> io::Result<usize> {
    if written == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) }
}
