//! How TLS is spoken to a target.

use super::FileName;

/// How TLS is spoken to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Whether any certificate is good enough: no chain, no name and no date is looked at.
    pub insecure: bool,
    /// A file of PEM certificates that are trusted in place of the machine's own.
    pub ca: Option<FileName>,
    /// A file with the PEM certificate, and its chain, that the target is shown where it asks for one. Always together
    /// with `key`.
    pub certificate: Option<FileName>,
    /// The file of its private key, PEM: PKCS#8, PKCS#1 or SEC1.
    pub key: Option<FileName>,
    /// The name that is asked for (SNI, RFC 6066 section 3) and that the certificate must be of, in place of the
    /// target's host. A name or an address; an address is checked and not asked for.
    pub server_name: Option<String>,
    /// The versions that are offered, ascending, at least one.
    pub versions: Vec<TlsVersion>,
    /// Whether later connections take up the session of an earlier one.
    pub resumption: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            insecure: false,
            ca: None,
            certificate: None,
            key: None,
            server_name: None,
            versions: TlsVersion::ALL.to_vec(),
            resumption: true,
        }
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    V1_2,
    /// TLS 1.3, RFC 8446.
    V1_3,
}

impl TlsVersion {
    /// All, ascending.
    pub const ALL: [Self; 2] = [Self::V1_2, Self::V1_3];

    /// As plans write it: `1.2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_2 => "1.2",
            Self::V1_3 => "1.3",
        }
    }
}
