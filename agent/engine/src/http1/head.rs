//! The head of an answer: its status, and the three fields that say where it ends and what becomes of
//! the connection. All other fields are checked for form and passed over.

use super::error::ProtocolError;
use super::request::RequestKind;
use super::syntax::{decimal, elements, is_name, token_len};

/// How an answer's body is delimited (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is no body.
    None,
    /// This many bytes.
    Length(u64),
    /// By chunked transfer coding.
    Chunked,
    /// Everything up to the server's close.
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentLength {
    Absent,
    Known(u64),
    /// Only an error where it would count, which is known when the whole head has been seen.
    Invalid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Absent,
    /// The last coding is not chunked.
    Other,
    Chunked,
    Invalid,
}

/// What was learnt from the lines of a head so far.
#[derive(Debug, Clone)]
pub(super) struct Head {
    status: u16,
    http_1_0: bool,
    content_length: ContentLength,
    coding: Coding,
    close: bool,
    keep_alive: bool,
}

/// The opening that every acceptable status line has.
const OPENING: &[u8] = b"HTTP/1.";
/// The part of it without which the line is no HTTP at all.
const PROTOCOL_LEN: usize = b"HTTP/".len();

/// Checks that a line which may not be whole yet can still become a status line, so that a server which
/// speaks something else is found out by its first bytes and not by a time-out.
///
/// # Errors
///
/// [`ProtocolError::StatusLine`] or [`ProtocolError::Version`], by the first byte that differs.
pub(super) fn check_opening(line: impl Iterator<Item = u8>) -> Result<(), ProtocolError> {
    match line.zip(OPENING).position(|(got, &wanted)| got != wanted) {
        None => Ok(()),
        Some(at) => Err(opening_error(at)),
    }
}

/// What is wrong with a line that is a status line only up to here.
fn opening_error(at: usize) -> ProtocolError {
    if at < PROTOCOL_LEN { ProtocolError::StatusLine } else { ProtocolError::Version }
}

impl Head {
    pub(super) const EMPTY: Self = Self {
        status: 0,
        http_1_0: false,
        content_length: ContentLength::Absent,
        coding: Coding::Absent,
        close: false,
        keep_alive: false,
    };

    /// Reads `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 section 4).
    ///
    /// The space before an absent reason may be missing, as many servers have it. A minor version above
    /// 1 is taken as 1 (RFC 9110 section 2.5).
    pub(super) fn from_status_line(line: &[u8]) -> Result<Self, ProtocolError> {
        let Some(rest) = line.strip_prefix(OPENING) else {
            check_opening(line.iter().copied())?;
            return Err(opening_error(line.len()));
        };
        let [minor @ b'0'..=b'9', b' ', rest @ ..] = rest else {
            return Err(ProtocolError::Version);
        };
        let ([hundreds, tens, ones] | [hundreds, tens, ones, b' ', ..]) = rest else {
            return Err(ProtocolError::StatusCode);
        };
        let status = [hundreds, tens, ones]
            .into_iter()
            .try_fold(0u16, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u16::from(byte - b'0')));
        match status {
            Some(status @ 100..) => Ok(Self { status, http_1_0: *minor == b'0', ..Self::EMPTY }),
            _ => Err(ProtocolError::StatusCode),
        }
    }

    /// Takes in one field line.
    #[inline(always)]
    pub(super) fn field(&mut self, line: &[u8]) -> Result<(), ProtocolError> {
        let (name, value) = split_field(line)?;
        match name.len() {
            10 if is_name(name, b"connection") => self.connection(value),
            14 if is_name(name, b"content-length") => self.content_length(value),
            17 if is_name(name, b"transfer-encoding") => self.transfer_encoding(value),
            _ => {}
        }
        Ok(())
    }

    /// `Connection` (RFC 9110 section 7.6.1): of its options only these two mean something here.
    #[inline(never)]
    fn connection(&mut self, value: &[u8]) {
        if value == b" keep-alive" {
            self.keep_alive = true;
            return;
        }
        for option in elements(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// `Content-Length`: a repeated number is one number, whether in one line or in several (RFC 9112
    /// section 6.3, rule 5).
    #[inline(never)]
    fn content_length(&mut self, value: &[u8]) {
        for element in elements(value) {
            self.content_length = match (self.content_length, decimal(element)) {
                (ContentLength::Absent, Some(length)) => ContentLength::Known(length),
                (ContentLength::Known(known), Some(length)) if known == length => continue,
                _ => ContentLength::Invalid,
            };
        }
    }

    /// `Transfer-Encoding` (RFC 9112 section 6.1): only the last coding matters for the framing, and
    /// chunked isn't applied to what is chunked already and has no parameters (section 7).
    #[inline(never)]
    fn transfer_encoding(&mut self, value: &[u8]) {
        if self.coding == Coding::Absent {
            self.coding = Coding::Other;
        }
        for element in elements(value).filter(|element| !element.is_empty()) {
            let name = &element[..token_len(element)];
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            let is_bare = name.len() == element.len();
            self.coding = match (self.coding, is_chunked) {
                (Coding::Invalid, _) | (Coding::Chunked, true) => Coding::Invalid,
                (_, true) if is_bare => Coding::Chunked,
                (_, true) => Coding::Invalid,
                (_, false) => Coding::Other,
            };
        }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Whether this is a 1xx, with the final answer still to come (RFC 9110 section 15.2).
    pub(super) fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// The body's framing, by the rules of RFC 9112 section 6.3 in their order.
    pub(super) fn framing(&self, request: RequestKind) -> Result<Framing, ProtocolError> {
        if request.is_head || self.is_interim() || matches!(self.status, 204 | 304) {
            return Ok(Framing::None);
        }
        match (self.coding, self.content_length) {
            (Coding::Chunked, _) => Ok(Framing::Chunked),
            (Coding::Other, _) => Ok(Framing::UntilClose),
            (Coding::Invalid, _) => Err(ProtocolError::TransferEncoding),
            (Coding::Absent, ContentLength::Known(length)) => Ok(Framing::Length(length)),
            (Coding::Absent, ContentLength::Absent) => Ok(Framing::UntilClose),
            (Coding::Absent, ContentLength::Invalid) => Err(ProtocolError::ContentLength),
        }
    }

    /// Whether the connection persists after this answer, as far as its head says (RFC 9112 section
    /// 9.3). An HTTP/1.0 answer with a transfer coding counts as faultily framed (section 6.1).
    pub(super) fn persists(&self) -> bool {
        match (self.close, self.http_1_0) {
            (true, _) => false,
            (false, true) => self.keep_alive && self.coding == Coding::Absent,
            (false, false) => true,
        }
    }
}

/// Splits `field-name ":" OWS field-value OWS`, the white space left with the value. No white space may stand before the colon, nor before
/// the name (RFC 9112 sections 5.1 and 2.2).
///
/// The value's bytes are not checked: CR and NUL in it would have to be read as spaces (RFC 9110 section
/// 5.5), which changes nothing in a value that is passed over and spoils one that is read.
#[inline]
pub(super) fn split_field(line: &[u8]) -> Result<(&[u8], &[u8]), ProtocolError> {
    let name_len = token_len(line);
    match line.get(name_len) {
        Some(b':') if name_len > 0 => Ok((&line[..name_len], &line[name_len + 1..])),
        _ => Err(ProtocolError::FieldName),
    }
}
