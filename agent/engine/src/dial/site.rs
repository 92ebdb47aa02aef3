//! An address that connections go to.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use volley_plan::allow::{AllowList, Denied};

/// An address that connections go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// Of TCP.
    Tcp {
        /// The host of the destination that led to it.
        host: Arc<str>,
        address: SocketAddr,
    },
    /// A Unix socket.
    Unix(Arc<Path>),
}

impl Site {
    /// Whether it may be connected to.
    pub(crate) fn permitted(&self, allow: &AllowList) -> Result<(), Denied> {
        match self {
            Self::Tcp { host, address } => allow.permits_address(host, address.ip(), address.port()),
            Self::Unix(path) => allow.permits_unix(path),
        }
    }

    /// Its address of TCP.
    pub(crate) fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp { address, .. } => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { address, .. } => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
