//! Error kinds and parts, whose numbers on the wire are fixed apart from their order in the code.

use volley_stats::{ErrorKind, Part};

use crate::v1;

/// One list for both directions: a kind that is missing on either side doesn't compile.
macro_rules! same {
    ($domain:ident, $($variant:ident),*) => {
        impl From<$domain> for v1::$domain {
            fn from(value: $domain) -> Self {
                match value { $($domain::$variant => Self::$variant,)* }
            }
        }

        impl v1::$domain {
            /// What it stands for; `None` for the unspecified one.
            pub(crate) fn domain(self) -> Option<$domain> {
                match self { Self::Unspecified => None, $(Self::$variant => Some($domain::$variant),)* }
            }
        }
    };
}

same!(Part, Warmup, Measured);
same!(
    ErrorKind,
    Resolve,
    ConnectRefused,
    ConnectTimeout,
    ConnectUnreachable,
    LocalPorts,
    Descriptors,
    Tls,
    TlsCertificate,
    Write,
    ClosedEarly,
    FirstByteTimeout,
    Truncated,
    Reset,
    Protocol,
    IdleTimeout,
    TotalTimeout,
    Decode,
    RedirectLimit,
    Status,
    Check
);
