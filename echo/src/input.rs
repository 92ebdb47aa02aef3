//! What was read from a connection and not yet used.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::head::HEAD_BYTES_MAX;

/// The buffer's first size, in bytes: enough for most heads, small enough for thousands of connections.
const FIRST_BYTES: usize = 4 * 1024;

/// The buffer's greatest size, in bytes. A head of the greatest size fits with room to spare, so that a read
/// is never asked for nothing.
const BYTES_MAX: usize = 2 * HEAD_BYTES_MAX;

/// A buffer of bytes read and not yet used.
#[derive(Debug)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; FIRST_BYTES], start: 0, end: 0 }
    }

    /// The bytes read and not yet used.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// No more can be read until some is used.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start == BYTES_MAX
    }

    /// These first bytes have been used.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Forgets what was read and not used.
    pub(crate) fn clear(&mut self) {
        self.start = self.end;
    }

    /// Skips empty lines before a request line (RFC 9112 section 2.2).
    pub(crate) fn skip_empty_lines(&mut self) {
        while self.bytes().starts_with(b"\r\n") {
            self.consume(2);
        }
    }

    /// Makes the buffer large, for a body that is large.
    pub(crate) fn widen(&mut self) {
        if self.buffer.len() < HEAD_BYTES_MAX {
            self.buffer.resize(HEAD_BYTES_MAX, 0);
        }
    }

    /// Reads some bytes; 0 says that the client has closed its side. Must not be called when full.
    pub(crate) async fn fill(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        self.make_room();
        let read = stream.read(&mut self.buffer[self.end..]).await?;
        self.end += read;
        Ok(read)
    }

    fn make_room(&mut self) {
        if self.start > 0 && (self.is_empty() || self.end == self.buffer.len()) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize((2 * self.end).min(BYTES_MAX), 0);
        }
    }
}
