//! What to answer, as the path and the query say it. The table in the crate's documentation is the reference.

use std::time::Duration;

use crate::duration;

/// The longest body that can be asked for, in bytes.
pub(crate) const BODY_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The longest delay that can be asked for.
pub(crate) const DELAY_MAX: Duration = Duration::from_secs(3600);

/// The largest chunk that can be asked for, in bytes.
pub(crate) const CHUNK_BYTES_MAX: u64 = 64 * 1024;

const CHUNK_BYTES: u64 = 16 * 1024;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The percentage of requests that get 500 in place of the status.
    pub(crate) fail_percent: u8,
    pub(crate) delay: Duration,
    /// The delay holds from this request to the path on, counted from 1; 0 as well as 1 means all of them.
    pub(crate) delay_from: u64,
    pub(crate) body: Body,
    pub(crate) framing: Framing,
    /// The size of each chunk but the last, where the framing is chunked; from 1 to [`CHUNK_BYTES_MAX`].
    pub(crate) chunk_bytes: u64,
    /// The connection is closed after the answer, and the answer says so.
    pub(crate) close: bool,
    pub(crate) fault: Option<Fault>,
}

/// The answer's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Hello,
    /// That many times the letter x.
    Fill(u64),
    /// A number that rises by one with each request.
    Counter,
    /// The request, as JSON.
    Echo,
    /// Why the path or the query asks for nothing that can be done.
    Problem(String),
}

/// How the answer's body ends (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By its Content-Length.
    Length,
    /// By its last chunk.
    Chunked,
    /// By the end of the connection, which the answer announces.
    Close,
    /// By the end of the connection, after a status line of HTTP/1.0 and no field at all.
    Bare,
}

/// A way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Never answers, and keeps the connection open until the client closes it.
    Hang,
    /// Closes the connection without an answer.
    Hangup,
    /// Resets the connection without an answer.
    Reset,
    /// Sends bytes that are no HTTP, then closes.
    Garbage,
    /// Sends the head and half of the body, then closes.
    Cut,
    /// Sends the head and half of the body, then resets.
    CutReset,
    /// Answers as if the connection were kept, then closes it.
    CloseAfter,
}

/// A known name with a value that it can't have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` wants {wanted}, not `{value}`")]
pub(crate) struct BadArgument {
    name: String,
    value: String,
    wanted: &'static str,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 200,
            fail_percent: 0,
            delay: Duration::ZERO,
            delay_from: 0,
            body: Body::Hello,
            framing: Framing::Length,
            chunk_bytes: CHUNK_BYTES,
            close: false,
            fault: None,
        }
    }
}

impl Answer {
    /// The answer to a path and a query; one of status 400 where they ask for what can't be done.
    pub(crate) fn of(path: &str, query: &str) -> Self {
        Self::read(path, query).unwrap_or_else(|bad| Self {
            status: 400,
            body: Body::Problem(format!("{bad}\n")),
            ..Self::default()
        })
    }

    /// Each answer to the request has the same bytes.
    pub(crate) fn is_constant(&self) -> bool {
        self.fail_percent == 0
            && self.fault.is_none_or(|fault| fault == Fault::CloseAfter)
            && !matches!(self.body, Body::Counter | Body::Echo)
            && self.framing != Framing::Chunked
    }

    fn read(path: &str, query: &str) -> Result<Self, BadArgument> {
        let mut answer = Self::default();
        match path {
            "/counter" => answer.body = Body::Counter,
            "/echo" => answer.body = Body::Echo,
            "/close" => answer.close = true,
            _ => {
                if let Some((name, value)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) {
                    answer.apply(name, value)?;
                }
            }
        }
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            answer.apply(name, value)?;
        }
        Ok(answer)
    }

    /// Takes one setting from the path (`/name/value`) or the query (`name=value`). Unknown names say
    /// nothing: plans have parameters of their own.
    fn apply(&mut self, name: &str, value: &str) -> Result<(), BadArgument> {
        let bad = |wanted| BadArgument { name: name.to_owned(), value: value.to_owned(), wanted };
        let number = |least, most, wanted| number(value, least, most).ok_or_else(|| bad(wanted));
        match name {
            "bytes" => self.body = Body::Fill(number(0, BODY_BYTES_MAX, "a number up to 1073741824")?),
            "chunked" => {
                self.body = Body::Fill(number(0, BODY_BYTES_MAX, "a number up to 1073741824")?);
                self.framing = Framing::Chunked;
            }
            "chunk" => self.chunk_bytes = number(1, CHUNK_BYTES_MAX, "a number from 1 to 65536")?,
            // Both bounds fit the narrower types.
            "status" => self.status = number(200, 599, "a number from 200 to 599")? as u16,
            "fail" => self.fail_percent = number(0, 100, "a percentage from 0 to 100")? as u8,
            "delay" => {
                let delay = duration::parse(value).filter(|delay| *delay <= DELAY_MAX);
                self.delay = delay.ok_or_else(|| bad("a duration such as 250ms, at most 1h"))?;
            }
            "delay-from" => self.delay_from = number(0, u64::MAX, "a number")?,
            "framing" => {
                let wanted = "one of length, chunked, close, bare";
                self.framing = Framing::named(value).ok_or_else(|| bad(wanted))?;
            }
            "fault" => {
                let wanted = "one of hang, hangup, reset, garbage, cut, cut-reset, close-after";
                self.fault = Some(Fault::named(value).ok_or_else(|| bad(wanted))?);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Framing {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "length" => Self::Length,
            "chunked" => Self::Chunked,
            "close" => Self::Close,
            "bare" => Self::Bare,
            _ => return None,
        })
    }
}

impl Fault {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "hang" => Self::Hang,
            "hangup" => Self::Hangup,
            "reset" => Self::Reset,
            "garbage" => Self::Garbage,
            "cut" => Self::Cut,
            "cut-reset" => Self::CutReset,
            "close-after" => Self::CloseAfter,
            _ => return None,
        })
    }
}

fn number(text: &str, least: u64, most: u64) -> Option<u64> {
    // `parse` alone would take a leading plus sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (least..=most).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests;
