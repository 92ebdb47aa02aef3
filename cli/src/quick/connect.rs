//! The flags of connections.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
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
    /// A proxy for HTTP; to https:// URLs it is asked for a tunnel
    #[arg(short = 'x', long, value_name = "[USER:PASSWORD@]HOST:PORT", conflicts_with_all = ["connect_to", "unix_socket"])]
    proxy: Option<String>,
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
        let (proxy, proxy_authorization) = match self.proxy.as_deref().map(proxy) {
            None => (None, None),
            Some((at, authorization)) => (Some(at), authorization),
        };
        Ok(QuickConnect {
            proxy,
            proxy_authorization,
            to: self.connect_to,
            unix: self.unix_socket.map(|path| files::socket(&path)).transpose()?,
            v4: self.ipv4,
            v6: self.ipv6,
            resolve: self.resolve.map(|text| with_unit(text, "s")),
            from: self.source,
        })
    }
}

/// Where a proxy is, and what it is told of who sends, if it is told; in the form of URLs too, as curl has it.
fn proxy(text: &str) -> (String, Option<String>) {
    let bare = text.strip_prefix("http://").unwrap_or(text);
    let bare = bare.strip_suffix('/').unwrap_or(bare);
    match bare.rsplit_once('@') {
        Some((user, at)) => (at.to_owned(), Some(basic_authorization(user))),
        None => (bare.to_owned(), None),
    }
}

/// What tells a user and a password (RFC 7617).
pub(crate) fn basic_authorization(user: &str) -> String {
    format!("Basic {}", BASE64.encode(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_given_as_curl_has_them() {
        let check = |text: &str, at: &str, authorization: Option<&str>| {
            assert_eq!(proxy(text), (at.to_owned(), authorization.map(str::to_owned)), "{text}");
        };
        check("p:3128", "p:3128", None);
        check("http://p:3128", "p:3128", None);
        check("http://[::1]:3128/", "[::1]:3128", None);
        check("u:p@p:3128", "p:3128", Some("Basic dTpw"));
        check("http://u:p@x@p:3128", "p:3128", Some("Basic dTpwQHg="));
        // What is no host and port the plan refuses.
        check("socks5://p:1", "socks5://p:1", None);
    }
}
