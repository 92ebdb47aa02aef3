//! Somebody in this process who is told of single requests. Without one, as nearly always, an engine keeps no request.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use volley_stats::ErrorKind;

/// Is told of requests by the workers' threads, which wait for it: it should be quick, and share little between workers.
pub trait Listener: Send + Sync {
    /// A request is over that was taken up; by this worker, counted from 0.
    fn ended(&self, worker: usize, request: &Heard);

    /// An answer came whole: the first one of each connection's owner, or all of them if it [`Self::wants_all`].
    fn answered(&self, worker: usize, answer: &HeardAnswer<'_>);

    /// Whether it wants to see all answers.
    fn wants_all(&self) -> bool {
        false
    }
}

/// A request that is over. Times are run times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// When it was taken up.
    pub started_ns: u64,
    /// When there was a connection for it, all attempts before included; `None` where there never was one.
    pub connected_ns: Option<u64>,
    /// When its last byte was written.
    pub sent_ns: Option<u64>,
    /// When the first byte of its answer was read.
    pub first_byte_ns: Option<u64>,
    /// When it was over.
    pub ended_ns: u64,
    /// Bytes written, heads and bodies of all attempts.
    pub bytes_sent: u64,
    /// Bytes read, heads and framing included.
    pub bytes_received: u64,
    /// Bytes of content that were read, without heads and framing.
    pub body_bytes: u64,
    /// Whether the connection stays open for another request.
    pub is_kept: bool,
    /// How it ended.
    pub end: HeardEnd,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeardEnd {
    /// With a whole answer of this status, and what its check found wrong with it.
    Answered {
        /// The final status.
        status: u16,
        /// What is wrong with the answer.
        fault: Option<ErrorKind>,
    },
    /// Without one.
    Failed(ErrorKind),
    /// Cut off by the end of the run.
    Cancelled,
}

/// An answer with its request.
#[derive(Clone, Copy, Debug)]
pub struct HeardAnswer<'a> {
    /// The request's head as it was written.
    pub request_head: &'a [u8],
    /// The answer as it was read, interim ones included, as far as [`HEARD_BYTES`] go.
    pub answer: &'a [u8],
    /// The bytes of it that are heads.
    pub head_bytes: u64,
    /// The final status.
    pub status: u16,
    /// When it was whole, in run time.
    pub ended_ns: u64,
    /// What was settled for its connection, where that is by TLS.
    pub tls: Option<&'a HeardTls>,
}

/// What a handshake has settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardTls {
    /// Such as `TLSv1_3`.
    pub version: String,
    /// The cipher suite's name in IANA's registry, such as `TLS13_AES_256_GCM_SHA384` with rustls's prefix.
    pub suite: String,
    /// The group of the key exchange, such as `X25519`.
    pub group: Option<String>,
    /// The certificate that was shown, DER.
    pub certificate: Option<Vec<u8>>,
}

/// Most bytes of an answer that a listener is shown.
pub const HEARD_BYTES: usize = 64 * 1024;

/// A listener that several share.
#[derive(Clone)]
pub struct Listening(Arc<dyn Listener>);

impl Listening {
    /// Somebody who is told.
    pub fn new(listener: Arc<dyn Listener>) -> Self {
        Self(listener)
    }
}

impl Deref for Listening {
    type Target = dyn Listener;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listening")
    }
}
