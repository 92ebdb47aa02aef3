//! The head of an answer: its status, and the four fields that say where it ends, what becomes of the
//! connection, and how its content is coded. All other fields are checked for form and passed over.

use super::codings::Codings;
use super::error::ProtocolError;
use super::request::RequestKind;
use super::syntax::{decimal, elements, is_name, token_len, trim};

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
    content_codings: Codings,
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
        content_codings: Codings::NONE,
        close: false,
        keep_alive: false,
    };

    /// Reads `HTTP/1.x SP 3DIGIT SP [reason]` (RFC 9112 section 4), with the freedom that curl takes: any
    /// number of spaces before the code, and behind it whatever is no digit, or nothing. Like curl it takes
    /// no version but 1.0 and 1.1, though RFC 9110 section 2.5 would have a higher minor one read as 1.1.
    pub(super) fn from_status_line(line: &[u8]) -> Result<Self, ProtocolError> {
        let Some(rest) = line.strip_prefix(OPENING) else {
            check_opening(line.iter().copied())?;
            return Err(opening_error(line.len()));
        };
        let [minor @ (b'0' | b'1'), b' ', rest @ ..] = rest else {
            return Err(ProtocolError::Version);
        };
        let (status, reason) = status_code(rest).ok_or(ProtocolError::StatusCode)?;
        if reason.contains(&0) {
            return Err(ProtocolError::Nul);
        }
        Ok(Self { status, http_1_0: *minor == b'0', ..Self::EMPTY })
    }

    /// Takes in one field line.
    #[inline(always)]
    pub(super) fn field(&mut self, line: &[u8]) -> Result<(), ProtocolError> {
        let (name, value) = split_field(line)?;
        match name.len() {
            10 if is_name(name, b"connection") => self.connection(value),
            14 if is_name(name, b"content-length") => self.content_length(value),
            16 if is_name(name, b"content-encoding") => self.content_encoding(value),
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
    /// chunked has no parameters (section 7). As with curl it is applied once where it is named twice, as
    /// proxies do that add their own line to the server's, and `identity`, which earlier RFCs had, changes
    /// nothing but that the length doesn't count. Other codings are not undone, since nobody asked for them.
    #[inline(never)]
    fn transfer_encoding(&mut self, value: &[u8]) {
        if self.coding == Coding::Absent {
            self.coding = Coding::Other;
        }
        let changes_nothing =
            |element: &[u8]| element.is_empty() || element.eq_ignore_ascii_case(b"identity");
        for element in elements(value).filter(|element| !changes_nothing(element)) {
            let name = &element[..token_len(element)];
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            let is_bare = name.len() == element.len();
            self.coding = match (self.coding, is_chunked) {
                (Coding::Invalid, _) => Coding::Invalid,
                (_, true) if is_bare => Coding::Chunked,
                (_, true) => Coding::Invalid,
                (_, false) => Coding::Other,
            };
        }
    }

    #[inline(never)]
    fn content_encoding(&mut self, value: &[u8]) {
        self.content_codings.add_list(value);
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn content_codings(&self) -> Codings {
        self.content_codings
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

    /// Whether it has `Connection: close`.
    pub(super) fn closes(&self) -> bool {
        self.close
    }

    /// Whether it has `Connection: keep-alive`.
    pub(super) fn says_keep_alive(&self) -> bool {
        self.keep_alive
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

/// The three digits, which no fourth may follow, and what is behind them.
fn status_code(mut bytes: &[u8]) -> Option<(u16, &[u8])> {
    while let [b' ', rest @ ..] = bytes {
        bytes = rest;
    }
    let (code, behind) = bytes.split_at_checked(3)?;
    if behind.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let status = decimal(code).and_then(|status| u16::try_from(status).ok())?;
    (status >= 100).then_some((status, behind))
}

/// Splits `field-name ":" OWS field-value OWS`, the white space left with the value. The name is empty where it
/// is one that can mean nothing.
///
/// The value's bytes are not checked: CR in it has to be read as a space (RFC 9110 section 5.5), which
/// changes nothing in a value that is passed over and spoils one that is read.
#[inline]
pub(super) fn split_field(line: &[u8]) -> Result<(&[u8], &[u8]), ProtocolError> {
    let name_len = token_len(line);
    match line.get(name_len) {
        Some(b':') if name_len > 0 => Ok((&line[..name_len], &line[name_len + 1..])),
        _ => oddly_named(line).map(|value| (&line[..0], value)),
    }
}

/// The value of a field line whose name is no token (RFC 9110 section 5.1). Like curl, and unlike the RFC,
/// it is passed over, since programs do send `Some Header: x`. What can't be passed over: a line without
/// colon or one that begins with white space (RFC 9112 section 2.2), control characters, and white space
/// between the colon and a name that would mean something (section 5.1), as readers differ on what it means.
#[cold]
fn oddly_named(line: &[u8]) -> Result<&[u8], ProtocolError> {
    const MEANINGFUL: [&[u8]; 4] =
        [b"connection", b"content-length", b"content-encoding", b"transfer-encoding"];
    let colon = line.iter().position(|&byte| byte == b':').ok_or(ProtocolError::FieldName)?;
    let name = &line[..colon];
    let is_wrong = name.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'))
        || name.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t')
        || MEANINGFUL.iter().any(|meaningful| trim(name).eq_ignore_ascii_case(meaningful));
    if is_wrong { Err(ProtocolError::FieldName) } else { Ok(&line[colon + 1..]) }
}
