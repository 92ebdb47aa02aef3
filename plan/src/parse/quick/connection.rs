//! What `volley URL` was told of connections.

use super::{entry, literal, node, plain, text};
use crate::parse::node::{Entry, Value};
use crate::parse::template;

/// How TLS is spoken. Files are names below the folder that the run's files lie in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuickTls {
    /// `-k`.
    pub insecure: bool,
    /// `--cacert`.
    pub ca: Option<String>,
    /// `--cert`.
    pub certificate: Option<String>,
    /// `--key`.
    pub key: Option<String>,
    /// `--server-name`.
    pub server_name: Option<String>,
    /// `--tls-version`, each.
    pub versions: Vec<String>,
    /// `--no-resumption`.
    pub no_resumption: bool,
}

/// Where connections go and come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuickConnect {
    /// `--connect-to`, each.
    pub to: Vec<String>,
    /// `--unix-socket`, the whole path.
    pub unix: Option<String>,
    /// `-x`, host and port.
    pub proxy: Option<String>,
    /// What `-x` tells the proxy of who sends: the value of `Proxy-Authorization`.
    pub proxy_authorization: Option<String>,
    /// `-4`.
    pub v4: bool,
    /// `-6`.
    pub v6: bool,
    /// `--resolve`, with its unit where it has one.
    pub resolve: Option<String>,
    /// `--source`, each.
    pub from: Vec<String>,
}

impl QuickTls {
    pub(super) fn entries(self) -> [Option<Entry>; 7] {
        let no_resumption = self.no_resumption.then(|| false.to_string());
        [
            plain("insecure", "-k", self.insecure.then(|| true.to_string())),
            literal("ca", "--cacert", self.ca),
            literal("certificate", "--cert", self.certificate),
            literal("key", "--key", self.key),
            text("server_name", "--server-name", self.server_name),
            list("versions", "--tls-version", self.versions),
            plain("resumption", "--no-resumption", no_resumption),
        ]
    }
}

impl QuickConnect {
    pub(super) fn entries(self) -> [Option<Entry>; 8] {
        [
            list("to", "--connect-to", self.to),
            literal("unix", "--unix-socket", self.unix),
            literal("proxy", "-x", self.proxy),
            literal("proxy_authorization", "-x", self.proxy_authorization),
            plain("family", "-4", self.v4.then(|| "4".to_owned())),
            plain("family", "-6", self.v6.then(|| "6".to_owned())),
            text("resolve", "--resolve", self.resolve),
            list("from", "--source", self.from),
        ]
    }
}

/// A list of what was given, if anything was.
fn list(key: &str, flag: &'static str, texts: Vec<String>) -> Option<Entry> {
    let items: Vec<_> =
        texts.into_iter().map(|text| node(flag, Value::Text(template::escape(&text)))).collect();
    (!items.is_empty()).then(|| entry(key, flag, Value::List(items)))
}
