//! How requests and connections are handled.

use std::time::Duration;

use super::{Connect, Tls};

/// How requests and connections are handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// The version that requests are sent in.
    pub version: HttpVersion,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// The most that a whole request may take, connecting included.
    pub timeout: Duration,
    /// The most that connecting may take, resolving and the TLS handshake included.
    pub connect_timeout: Duration,
    /// The most that may pass between the last byte of a request and the first of its answer; none where only the whole
    /// request is bounded.
    pub first_byte_timeout: Option<Duration>,
    /// The most that may pass between two pieces of an answer once it has begun; none where only the whole request is
    /// bounded.
    pub idle_timeout: Option<Duration>,
    /// In the open model, most connections that are open at the same time, over all agents: 1 to
    /// [`MAX_IN_FLIGHT`](super::MAX_IN_FLIGHT); an iteration waits for one. `None` bounds them by what is in flight. In the
    /// closed model, where each user has one of its own, it is always `None`.
    pub connections: Option<u32>,
    /// The header line in which each request tells the number of its iteration, twenty digits long; none where it is not
    /// to tell. With it a target's log says which requests of a run reached it.
    pub number_header: Option<String>,
    /// What `Host` says in place of the target's authority; a step's own `Host` goes before it.
    pub host: Option<String>,
    /// How TLS is spoken, where the target is `https`.
    pub tls: Tls,
    /// Where connections go and come from.
    pub connect: Connect,
}

/// The version that requests are sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpVersion {
    /// HTTP/1.0, whose connections are kept only where both sides say so.
    V1_0,
    /// HTTP/1.1 (RFC 9112).
    #[default]
    V1_1,
}

impl HttpVersion {
    /// All, ascending.
    pub const ALL: [Self; 2] = [Self::V1_0, Self::V1_1];

    /// As plans write it: `1.1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }
}

impl HttpOptions {
    /// The time-out of a request whose plan names none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
    /// The time-out of connecting where the plan names none; a shorter `timeout` bounds it.
    pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            version: HttpVersion::default(),
            keep_alive: true,
            timeout: Self::DEFAULT_TIMEOUT,
            connect_timeout: Self::DEFAULT_CONNECT_TIMEOUT,
            first_byte_timeout: None,
            idle_timeout: None,
            connections: None,
            number_header: None,
            host: None,
            tls: Tls::default(),
            connect: Connect::default(),
        }
    }
}
