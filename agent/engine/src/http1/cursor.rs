//! A place in one piece of input.

/// A place in one piece of input.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where a head begins in this piece.
    head_start: Option<usize>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, head_start: None }
    }

    /// How much of the piece is used up.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What is left of the piece.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Takes note that a head begins here.
    pub(super) fn begin_head(&mut self) {
        self.head_start = Some(self.at);
    }

    /// The head so far, where it began in this piece.
    pub(super) fn head(&self) -> Option<&'a [u8]> {
        self.head_start.map(|start| &self.bytes[start..self.at])
    }

    /// Moves past the next `count` bytes and gives them.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> &'a [u8] {
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        taken
    }

    /// Moves to the end of the piece and gives what was left of it.
    pub(super) fn take_rest(&mut self) -> &'a [u8] {
        self.take(self.rest().len())
    }
}
