//! Lines out of pieces: finds the lines of a head or of a trailer section wherever the input is cut.
//!
//! A line that lies whole in the input is lent straight from it. Only a line that is cut is copied, and
//! only until its rest has come.

use super::cursor::Cursor;
use super::syntax::{find_lf, find_lf_or_nul};

/// The capacity that a section keeps from one answer to the next; a rare long line must not hold its
/// memory on every one of a thousand connections.
const KEPT_CAPACITY_BYTES: usize = 4096;

/// The section grew past its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// At its LF: the status line.
    AtOnce,
    /// At an LF that no white space follows, because a line that begins with white space belongs to the
    /// one before it (obs-fold, RFC 9112 section 5.2). An empty line ends at once.
    Folded,
}

/// The lines of one section and its size so far.
#[derive(Debug)]
pub(super) struct Section {
    /// A line whose end has not come yet, or the line that was lent out last.
    kept: Vec<u8>,
    /// Whether `kept` was lent out whole and is to be dropped before the next line.
    lent: bool,
    /// Bytes of the section's finished lines, line ends included.
    bytes: usize,
    max_bytes: usize,
}

impl Section {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { kept: Vec::new(), lent: false, bytes: 0, max_bytes }
    }

    /// Forgets everything and starts a new section.
    #[inline]
    pub(super) fn begin(&mut self, max_bytes: usize) {
        self.kept.clear();
        self.lent = false;
        self.bytes = 0;
        self.max_bytes = max_bytes;
        if self.kept.capacity() > KEPT_CAPACITY_BYTES {
            self.kept = Vec::new();
        }
    }

    /// Bytes of the section's finished lines, line ends included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What has come of the line that is not finished yet.
    pub(super) fn unfinished(&self) -> &[u8] {
        if self.lent { &[] } else { &self.kept }
    }

    #[cfg(test)]
    pub(super) fn capacity_bytes(&self) -> usize {
        self.kept.capacity()
    }

    /// As much of the input as may be read without this section's help: none where a line began in an
    /// earlier piece, and no more than there is room for.
    #[inline]
    pub(super) fn clear_part<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        if self.unfinished().is_empty() {
            &input[..input.len().min(self.max_bytes - self.bytes)]
        } else {
            &[]
        }
    }

    /// Counts lines that were read off the [`Self::clear_part`].
    pub(super) fn count_clear(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// The next line, without its CRLF or bare LF (RFC 9112 section 2.2); folds are left in it as they
    /// came. Nothing when the input ends before the line does, and then all of the input is kept.
    ///
    /// # Errors
    ///
    /// [`TooLong`] when the line would take the section past its bound; nothing of it is kept then.
    pub(super) fn line<'a, 'input: 'a>(
        &'a mut self,
        input: &mut Cursor<'input>,
        ending: Ending,
    ) -> Result<Option<&'a [u8]>, TooLong> {
        if self.lent {
            self.kept.clear();
            self.lent = false;
        }
        let rest = input.rest();
        let Some(end) = line_end(&self.kept, rest, ending) else {
            self.room_for(self.kept.len() + rest.len())?;
            self.kept.extend_from_slice(input.take_rest());
            return Ok(None);
        };
        self.bytes = self.room_for(self.kept.len() + end)?;
        if self.kept.is_empty() {
            return Ok(Some(without_end(input.take(end))));
        }
        self.kept.extend_from_slice(input.take(end));
        self.lent = true;
        Ok(Some(without_end(&self.kept)))
    }

    /// The section's size with so many bytes more.
    fn room_for(&self, bytes: usize) -> Result<usize, TooLong> {
        let bytes = self.bytes + bytes;
        if bytes > self.max_bytes { Err(TooLong) } else { Ok(bytes) }
    }
}

/// The first line of the input with its end, where that line is sure to be whole, isn't folded and has no
/// NUL: the quick way for what nearly every line is. The rest is left to [`Section::line`].
#[inline]
pub(super) fn whole_line(input: &[u8]) -> Option<&[u8]> {
    if let [b'\r', b'\n', ..] = input {
        return Some(&input[..2]);
    }
    let end = find_lf_or_nul(input)? + 1;
    match input.get(end) {
        Some(&next) if !is_fold(next) && input[end - 1] == b'\n' => Some(&input[..end]),
        _ => None,
    }
}

fn is_fold(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Where in the input the line ends (the index after its LF) that began with `kept`.
fn line_end(kept: &[u8], input: &[u8], ending: Ending) -> Option<usize> {
    // An LF at the end of what is kept was left undecided, for want of the byte behind it.
    if kept.ends_with(b"\n") && !is_fold(*input.first()?) {
        return Some(0);
    }
    match (kept, input) {
        ([], [b'\r', b'\n', ..]) => return Some(2),
        ([] | [b'\r'], [b'\n', ..]) => return Some(1),
        _ => {}
    }
    let mut end = 0;
    loop {
        end += find_lf(&input[end..])? + 1;
        if ending == Ending::AtOnce || !is_fold(*input.get(end)?) {
            return Some(end);
        }
    }
}

#[inline]
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r', b'\n'] | [line @ .., b'\n'] => line,
        line => line,
    }
}
