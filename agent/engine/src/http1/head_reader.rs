//! Reads heads, interim ones and the final one, and the trailer section, which has the same lines.

use super::cursor::Cursor;
use super::error::ProtocolError;
use super::head::{Head, check_opening, split_field};
use super::known::KnownHead;
use super::lines::{Ending, Section, TooLong, whole_line, without_end};
use super::response::{MAX_FIELDS, MAX_HEAD_BYTES, MAX_INTERIM, MAX_TRAILER_BYTES};

/// Where the reader stands in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    StatusLine,
    Fields,
}

/// Reads up to the end of an answer's final head.
#[derive(Debug)]
pub(super) struct HeadReader {
    place: Place,
    head: Head,
    section: Section,
    known: KnownHead,
    /// Field lines of this head so far.
    fields: u32,
    /// Interim heads so far.
    interim: u32,
    /// Whether one of them said `Connection: close`.
    interim_closes: bool,
    /// Bytes of the heads so far that are whole.
    bytes: u64,
}

impl HeadReader {
    pub(super) fn new() -> Self {
        Self {
            place: Place::StatusLine,
            head: Head::EMPTY,
            section: Section::new(MAX_HEAD_BYTES),
            known: KnownHead::NONE,
            fields: 0,
            interim: 0,
            interim_closes: false,
            bytes: 0,
        }
    }

    /// Waits for another answer's head.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.place = Place::StatusLine;
        self.begin_section(MAX_HEAD_BYTES);
        self.interim = 0;
        self.interim_closes = false;
        self.bytes = 0;
    }

    /// The last head whose status line was read.
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// Whether the connection persists after this answer, as far as its heads say. An interim one that says
    /// `close` is taken at its word, as curl does.
    pub(super) fn persists(&self) -> bool {
        self.head.persists() && !self.interim_closes
    }

    /// Bytes up to the end of the final head, once that is whole.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many interim heads have come whole.
    pub(super) fn interim(&self) -> u32 {
        self.interim
    }

    /// Whether nothing of an answer has come; an empty line before it is nothing of it.
    pub(super) fn is_untouched(&self) -> bool {
        self.place == Place::StatusLine
            && self.interim == 0
            && matches!(self.section.unfinished(), [] | [b'\r'])
    }

    /// Reads on and says whether the final head is whole; if it isn't, the input is used up.
    #[inline]
    pub(super) fn advance(&mut self, input: &mut Cursor<'_>) -> Result<bool, ProtocolError> {
        loop {
            if self.place == Place::StatusLine {
                if self.known_head(input) {
                    return Ok(true);
                }
                if !self.status_line(input)? {
                    return Ok(false);
                }
            }
            if !self.field_lines(input)? {
                return Ok(false);
            }
            if self.end_of_head(input)? {
                return Ok(true);
            }
        }
    }

    /// Takes a head as read where it is the one that was read last.
    #[inline]
    fn known_head(&mut self, input: &mut Cursor<'_>) -> bool {
        let clear = self.section.clear_part(input.rest());
        let Some((head, len)) = self.known.at_front_of(clear) else {
            return false;
        };
        self.head = head.clone();
        self.bytes += (self.section.bytes() + len) as u64;
        input.take(len);
        true
    }

    /// Reads a status line and says whether it is whole.
    fn status_line(&mut self, input: &mut Cursor<'_>) -> Result<bool, ProtocolError> {
        loop {
            if self.section.unfinished().is_empty() {
                input.begin_head();
            }
            match self.section.line(input, Ending::AtOnce) {
                // Empty lines before an answer are skipped, as servers skip them before a request (RFC
                // 9112 section 2.2): they are left over from an answer that was a line end too long.
                Ok(Some([])) => {}
                Ok(Some(line)) => {
                    self.head = Head::from_status_line(line)?;
                    self.place = Place::Fields;
                    return Ok(true);
                }
                Ok(None) => return self.check_opening(&[]).map(|()| false),
                Err(TooLong) => {
                    return self.check_opening(input.rest()).and(Err(ProtocolError::HeadTooLong));
                }
            }
        }
    }

    /// Checks what has come of the status line, kept or at the input's front. An empty line, or the CR
    /// that may begin one, is no wrong opening.
    fn check_opening(&self, input: &[u8]) -> Result<(), ProtocolError> {
        let line = || self.section.unfinished().iter().chain(input).copied();
        let is_empty = matches!(
            (line().next(), line().nth(1)),
            (None | Some(b'\n'), _) | (Some(b'\r'), None | Some(b'\n'))
        );
        if is_empty { Ok(()) } else { check_opening(line()) }
    }

    /// Reads field lines and says whether the head ended with them.
    fn field_lines(&mut self, input: &mut Cursor<'_>) -> Result<bool, ProtocolError> {
        loop {
            if self.whole_field_lines(input)? {
                return Ok(true);
            }
            match self.section.line(input, Ending::Folded) {
                Ok(Some([])) => return Ok(true),
                Ok(Some(line)) => {
                    count_field(&mut self.fields)?;
                    check_nul(line)?;
                    self.head.field(line)?;
                }
                Ok(None) => return Ok(false),
                Err(TooLong) => return Err(ProtocolError::HeadTooLong),
            }
        }
    }

    /// The same for the lines that are whole in the input, not folded and without NUL, nearly always all
    /// of them.
    fn whole_field_lines(&mut self, input: &mut Cursor<'_>) -> Result<bool, ProtocolError> {
        let clear = self.section.clear_part(input.rest());
        let mut used = 0;
        let mut is_end = false;
        while !is_end && let Some(line) = whole_line(&clear[used..]) {
            used += line.len();
            let text = without_end(line);
            is_end = text.is_empty();
            if !is_end {
                count_field(&mut self.fields)?;
                self.head.field(text)?;
            }
        }
        input.take(used);
        self.section.count_clear(used);
        Ok(is_end)
    }

    /// Closes a head and says whether it is the final one.
    fn end_of_head(&mut self, input: &Cursor<'_>) -> Result<bool, ProtocolError> {
        self.bytes += self.section.bytes() as u64;
        self.begin_section(MAX_HEAD_BYTES);
        if self.head.status() == 101 {
            return Err(ProtocolError::Upgrade);
        }
        if !self.head.is_interim() {
            if let Some(bytes) = input.head() {
                self.known.learn(bytes, &self.head);
            }
            return Ok(true);
        }
        self.interim += 1;
        self.interim_closes |= self.head.closes();
        self.place = Place::StatusLine;
        if self.interim > MAX_INTERIM { Err(ProtocolError::TooManyInterim) } else { Ok(false) }
    }

    /// Gets ready for a trailer section.
    pub(super) fn begin_trailers(&mut self) {
        self.begin_section(MAX_TRAILER_BYTES);
    }

    /// Reads the trailer section (RFC 9112 section 7.1.2) and says whether it is whole. Its form is
    /// checked; its fields mean nothing for the framing.
    pub(super) fn trailers(&mut self, input: &mut Cursor<'_>) -> Result<bool, ProtocolError> {
        loop {
            match self.section.line(input, Ending::Folded) {
                Ok(Some([])) => return Ok(true),
                Ok(Some(line)) => {
                    count_field(&mut self.fields)?;
                    check_nul(line)?;
                    split_field(line)?;
                }
                Ok(None) => return Ok(false),
                Err(TooLong) => return Err(ProtocolError::TrailersTooLong),
            }
        }
    }

    #[inline]
    fn begin_section(&mut self, max_bytes: usize) {
        self.section.begin(max_bytes);
        self.fields = 0;
    }

    #[cfg(test)]
    pub(super) fn capacity_bytes(&self) -> usize {
        self.section.capacity_bytes() + self.known.capacity_bytes()
    }
}

#[inline]
fn count_field(fields: &mut u32) -> Result<(), ProtocolError> {
    *fields += 1;
    if *fields > MAX_FIELDS { Err(ProtocolError::TooManyFields) } else { Ok(()) }
}

/// A NUL makes the whole invalid with curl; RFC 9110 section 5.5 would have it read as a space too.
fn check_nul(line: &[u8]) -> Result<(), ProtocolError> {
    if line.contains(&0) { Err(ProtocolError::Nul) } else { Ok(()) }
}
