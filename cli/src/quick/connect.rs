//! The flags of connections.

use std::path::PathBuf;

use clap::Args;
use volley_plan::QuickConnect;

use super::{files, with_unit};
use crate::exit::Failure;

/// Where connections go and come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(super) struct ConnectOptions {
    /// What Host says in place of the URL's host and port
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(super) host: Option<String>,
    /// Where to connect to in place of the URL's host and port; more than one in turn
    #[arg(long, value_name = "HOST:PORT")]
    connect_to: Vec<String>,
    /// A Unix socket to connect to
    #[arg(long, value_name = "PATH", conflicts_with_all = ["connect_to", "ipv4", "ipv6", "resolve", "source"])]
    unix_socket: Option<PathBuf>,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,
    /// How often to resolve names: once, for each connection, or again after so long, such as 30s [default: once]
    #[arg(long, value_name = "once|connection|DURATION")]
    resolve: Option<String>,
    /// An address of this machine to connect from; more than one in turn
    #[arg(long, value_name = "ADDRESS")]
    source: Vec<String>,
    /// The most that connecting may take, resolving and the TLS handshake included [default: 5s, or -t]
    #[arg(long, value_name = "DURATION")]
    pub(super) connect_timeout: Option<String>,
    /// The most that the first byte of an answer may take, once the request is sent [default: as -t]
    #[arg(long, value_name = "DURATION")]
    pub(super) first_byte_timeout: Option<String>,
    /// The most that may pass between two pieces of an answer [default: as -t]
    #[arg(long, value_name = "DURATION")]
    pub(super) idle_timeout: Option<String>,
}

impl ConnectOptions {
    /// What they say of where connections go and come from.
    pub(super) fn quick(self) -> Result<QuickConnect, Failure> {
        Ok(QuickConnect {
            to: self.connect_to,
            unix: self.unix_socket.map(|path| files::socket(&path)).transpose()?,
            v4: self.ipv4,
            v6: self.ipv6,
            resolve: self.resolve.map(|text| with_unit(text, "s")),
            from: self.source,
        })
    }
}
