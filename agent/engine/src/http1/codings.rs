//! The codings that an answer's content went through: `Content-Encoding`.

use super::syntax::elements;

/// Most codings that are told apart; curl undoes five, and more than two are never met in earnest.
const MAX_CODINGS: usize = 4;

/// A content coding that can be undone (RFC 9110 section 8.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentCoding {
    /// `gzip`, and `x-gzip`, which means the same (RFC 9110 section 8.4.1.3).
    Gzip,
    /// `deflate` (RFC 9110 section 8.4.1.2).
    Deflate,
    /// `br` (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878).
    Zstd,
}

impl ContentCoding {
    /// Names are case-insensitive (RFC 9110 section 8.4.1).
    fn from_name(name: &[u8]) -> Option<Self> {
        const NAMES: [(&[u8], ContentCoding); 5] = [
            (b"gzip", ContentCoding::Gzip),
            (b"x-gzip", ContentCoding::Gzip),
            (b"deflate", ContentCoding::Deflate),
            (b"br", ContentCoding::Brotli),
            (b"zstd", ContentCoding::Zstd),
        ];
        let known = NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        known.map(|&(_, coding)| coding)
    }
}

/// The content codings of one answer, in the order in which the server applied them (RFC 9110 section
/// 8.4), so that the last one is undone first. Codings that change nothing are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codings {
    applied: [ContentCoding; MAX_CODINGS],
    count: u8,
    is_unknown: bool,
}

impl Codings {
    /// The content is what it seems to be.
    pub const NONE: Self = Self { applied: [ContentCoding::Gzip; MAX_CODINGS], count: 0, is_unknown: false };

    /// The codings, first applied first. Nothing where one was named that is not known, or more than
    /// four were: then the content can't be read.
    pub fn applied(&self) -> Option<&[ContentCoding]> {
        if self.is_unknown { None } else { Some(&self.applied[..usize::from(self.count)]) }
    }

    /// Whether the content is what it seems to be: nothing has to be undone.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Takes in the value of one `Content-Encoding` line; several lines are one list (RFC 9110 section
    /// 5.3). `none` is no registered name and stands for `identity` with curl too; empty elements are
    /// nothing (RFC 9110 section 5.6.1.2).
    pub(super) fn add_list(&mut self, value: &[u8]) {
        for name in elements(value) {
            let changes_nothing = name.is_empty()
                || name.eq_ignore_ascii_case(b"identity")
                || name.eq_ignore_ascii_case(b"none");
            if !changes_nothing {
                self.add(ContentCoding::from_name(name));
            }
        }
    }

    fn add(&mut self, coding: Option<ContentCoding>) {
        match (coding, self.applied.get_mut(usize::from(self.count))) {
            (Some(coding), Some(free)) => {
                *free = coding;
                self.count += 1;
            }
            _ => self.is_unknown = true,
        }
    }
}
