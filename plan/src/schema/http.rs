//! `http`: how requests and connections are handled; the same keys stand at the top of the short form.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::rule::{none_of, when};
use super::scalar::{
    Address, Family, File, HeaderName, Host, OneOrMore, Remote, Resolve, ServerName, Socket, Time, TlsVersion,
};

/// The keys of [`Http`], which may stand at the top.
pub(super) const KEYS: &[&str] = &[
    "keep_alive",
    "timeout",
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "connections",
    "number_header",
    "host",
    "tls",
    "connect",
];

/// How requests and connections are handled.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Http {
    /// Whether a connection serves more than one request. Default: true.
    keep_alive: Option<bool>,
    /// The most that a whole request may take, connecting included and the wait for a connection not, 1ms to 24h. Default:
    /// 10s.
    timeout: Option<Time>,
    /// The most that connecting may take, resolving and the TLS handshake included; no longer than `timeout`. Default: 5s.
    connect_timeout: Option<Time>,
    /// The most that may pass between the last byte of a request and the first of its answer; no longer than `timeout`.
    first_byte_timeout: Option<Time>,
    /// The most that may pass between two pieces of an answer once it has begun; no longer than `timeout`.
    idle_timeout: Option<Time>,
    /// In the open model, most connections at the same time, over all agents; a request waits for one. Default: no bound but
    /// `max_in_flight`.
    #[schemars(range(min = 1, max = 100_000))]
    connections: Option<u32>,
    /// The header line in which each request tells the number of its iteration. Default: none.
    number_header: Option<HeaderName>,
    /// What `Host` says, a host and, if need be, a port, sent as it is written. Default: the target's host.
    host: Option<Host>,
    /// How TLS is spoken to an https:// target.
    tls: Option<Tls>,
    /// Where connections go and come from.
    connect: Option<Connect>,
}

/// How TLS is spoken.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("allOf" = [any_certificate_is_trusted()], "dependencies" = pairs()))]
pub(super) struct Tls {
    /// Whether any certificate will do: no chain, name or date is looked at. Default: false.
    insecure: Option<bool>,
    /// A file of PEM certificates to trust in place of the machine's own; not with `insecure`.
    ca: Option<File>,
    /// A file with the PEM certificate, and its chain, that the target is shown where it asks for one; with `key`.
    certificate: Option<File>,
    /// The file of the certificate's private key, PEM; with `certificate`.
    key: Option<File>,
    /// The name that is asked for (SNI) and that the certificate must be of. Default: the target's host.
    server_name: Option<ServerName>,
    /// The versions that are offered: 1.2, 1.3, or a list of them. Default: both.
    versions: Option<OneOrMore<TlsVersion, 2, false>>,
    /// Whether later connections take up the session of an earlier one. Default: true.
    resumption: Option<bool>,
}

fn any_certificate_is_trusted() -> Value {
    let insecure = json!({ "required": ["insecure"], "properties": { "insecure": { "const": true } } });
    when(&insecure, &none_of(["ca"]))
}

/// A certificate is shown with its key or not at all.
fn pairs() -> Value {
    json!({ "certificate": ["key"], "key": ["certificate"] })
}

/// Where connections go and come from; `Host`, SNI and the name that the certificate must be of stay as they are.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("dependencies" = { "unix": none_of(["to", "family", "resolve", "from"]) }))]
pub(super) struct Connect {
    /// A host and port that connections go to, or a list of up to 256, in turn. Default: the target.
    to: Option<OneOrMore<Remote, 256, false>>,
    /// A Unix socket that they go to, by its whole path; none of the other keys goes with it.
    unix: Option<Socket>,
    /// Only addresses of this family are used. Default: any.
    family: Option<Family>,
    /// How often names are resolved: `once`, before the run begins; for each `connection`; or again after a time from 1s to
    /// 24h. Default: once.
    resolve: Option<Resolve>,
    /// An address that they come from, or a list of up to 256, in turn. Default: what the system chooses.
    from: Option<OneOrMore<Address, 256, false>>,
}
