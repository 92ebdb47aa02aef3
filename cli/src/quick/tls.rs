//! The flags of TLS.

use std::path::PathBuf;

use clap::Args;
use volley_plan::QuickTls;

use super::files;
use crate::exit::Failure;

/// How TLS is spoken to an https:// URL.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(super) struct TlsOptions {
    /// Take any certificate (in ab, -k keeps connections alive, as happens here without it)
    #[arg(short = 'k', long)]
    pub(super) insecure: bool,
    /// PEM certificates to trust in place of this machine's own
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The PEM certificate, with its chain, to show where the target asks for one; with --key
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The name to ask for (SNI) and to expect in the certificate [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// A version to offer, 1.2 or 1.3, as often as needed [default: both]
    #[arg(long, value_name = "VERSION")]
    tls_version: Vec<String>,
    /// A full handshake for each connection
    #[arg(long)]
    no_resumption: bool,
}

impl TlsOptions {
    /// What they say; files by their names below the root.
    pub(super) fn quick(self) -> Result<QuickTls, Failure> {
        let named = |file: Option<PathBuf>| file.map(|file| files::name(&file)).transpose();
        Ok(QuickTls {
            insecure: self.insecure,
            ca: named(self.cacert)?,
            certificate: named(self.cert)?,
            key: named(self.key)?,
            server_name: self.server_name,
            versions: self.tls_version,
            no_resumption: self.no_resumption,
        })
    }
}
