//! Why a request failed: an enum with a phase, so that no text of an answer ever becomes a key.

use serde::{Deserialize, Serialize};

/// The part of a request's life in which an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Turning the target's name into addresses.
    Resolve,
    /// Opening the TCP connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Writing the request.
    Send,
    /// Waiting for the first byte of the answer.
    FirstByte,
    /// Reading the answer.
    Receive,
    /// The answer arrived whole and is not what was asked for.
    Answer,
}

impl Phase {
    /// The name used in JSON, logs and pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::FirstByte => "first_byte",
            Self::Receive => "receive",
            Self::Answer => "answer",
        }
    }
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal in $phase:ident, $words:literal;)*) => {
        /// Why a request failed. Each failed request counts exactly one kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorKind { $($(#[$doc])* $kind,)* }

        impl ErrorKind {
            /// Every kind, in the order of the phases; an index into it is the kind's number in arrays.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name used in JSON, on the wire, in logs and pages.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The part of the request's life in which this error arises.
            #[must_use]
            pub fn phase(self) -> Phase {
                match self { $(Self::$kind => Phase::$phase,)* }
            }

            /// What happened, in words for people.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self { $(Self::$kind => $words,)* }
            }
        }
    };
}

error_kinds! {
    /// The target's name has no address.
    Resolve = "resolve" in Resolve, "the name could not be resolved";
    /// The target answered the SYN with RST.
    ConnectRefused = "connect_refused" in Connect, "connection refused";
    /// No connection within the connect timeout.
    ConnectTimeout = "connect_timeout" in Connect, "no connection within the connect timeout";
    /// No route to the target's host or network.
    ConnectUnreachable = "connect_unreachable" in Connect, "host or network unreachable";
    /// This generator has no local port left for the target's address.
    LocalPorts = "local_ports" in Connect, "local ports exhausted on the generator";
    /// This generator has no file descriptor left.
    Descriptors = "descriptors" in Connect, "file descriptors exhausted on the generator";
    /// The TLS handshake failed, or an alert ended the connection later.
    Tls = "tls" in Tls, "TLS handshake failed";
    /// The target's certificate is not trusted, has expired, or is another name's.
    TlsCertificate = "tls_certificate" in Tls, "the target's certificate is not valid for it";
    /// The request could not be written whole.
    Write = "write" in Send, "the request could not be written";
    /// The connection was closed before the first byte of the answer.
    ClosedEarly = "closed_early" in FirstByte, "closed before the first byte of an answer";
    /// No first byte within the first-byte timeout.
    FirstByteTimeout = "first_byte_timeout" in FirstByte, "no first byte within its timeout";
    /// The answer ended before the length that it had announced.
    Truncated = "truncated" in Receive, "the answer was cut short";
    /// The target reset the connection.
    Reset = "reset" in Receive, "connection reset";
    /// What arrived is not HTTP as RFC 9112 has it.
    Protocol = "protocol" in Receive, "the answer is not valid HTTP";
    /// The answer began and then stood still for longer than the idle timeout.
    IdleTimeout = "idle_timeout" in Receive, "the answer stood still for longer than its timeout";
    /// The whole request took longer than its timeout.
    TotalTimeout = "total_timeout" in Receive, "no whole answer within the timeout";
    /// The body could not be decoded as its content coding says.
    Decode = "decode" in Receive, "the body could not be decoded";
    /// More redirects than the plan allows.
    RedirectLimit = "redirect_limit" in Answer, "too many redirects";
    /// A 4xx or 5xx answer that the plan does not allow.
    Status = "status" in Answer, "status 4xx or 5xx";
    /// An assertion on the answer does not hold.
    Check = "check" in Answer, "a check failed";
}

impl ErrorKind {
    /// How many kinds there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The kind with this name, or `None`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// True if a whole answer with a status arrived, so that the request stands among the statuses as well.
    #[must_use]
    pub fn has_status(self) -> bool {
        matches!(self.phase(), Phase::Answer) || self == Self::Decode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_lead_back() {
        for (index, &kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(ErrorKind::from_name(kind.name()), Some(kind));
            assert_eq!(kind as usize, index);
        }
        assert_eq!(ErrorKind::from_name("nonsense"), None);
    }
}
