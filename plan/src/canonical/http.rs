//! The canonical form of how requests and connections are handled: `http`.

use super::Written;
use crate::model::{Connect, Family, FileName, HttpOptions, HttpVersion, Resolve, Tls, TlsVersion};
use crate::parse::escape_template;
use crate::units::format_duration;
use serde::Serialize;
use std::net::IpAddr;

/// What says the default is left out but for the first three, so that plans which don't say it keep their hash.
#[derive(Serialize)]
pub(super) struct CanonicalHttp {
    keep_alive: bool,
    timeout: Written,
    connect_timeout: Written,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_timeout: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_timeout: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number_header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<CanonicalTls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect: Option<CanonicalConnect>,
}

#[derive(Serialize)]
struct CanonicalTls {
    #[serde(skip_serializing_if = "Option::is_none")]
    insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumption: Option<bool>,
}

#[derive(Serialize)]
struct CanonicalConnect {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy_authorization: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolve: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    from: Vec<IpAddr>,
}

impl CanonicalHttp {
    pub(super) fn of(http: &HttpOptions) -> Self {
        let defaults = HttpOptions::default();
        Self {
            keep_alive: http.keep_alive,
            timeout: Written(http.timeout),
            connect_timeout: Written(http.connect_timeout),
            version: (http.version != defaults.version).then(|| HttpVersion::name(http.version)),
            first_byte_timeout: http.first_byte_timeout.map(Written),
            idle_timeout: http.idle_timeout.map(Written),
            connections: http.connections,
            number_header: http.number_header.as_deref().map(escape_template),
            host: http.host.as_deref().map(escape_template),
            tls: (http.tls != defaults.tls).then(|| CanonicalTls::of(&http.tls)),
            connect: (http.connect != defaults.connect).then(|| CanonicalConnect::of(&http.connect)),
        }
    }
}

impl CanonicalTls {
    fn of(tls: &Tls) -> Self {
        let defaults = Tls::default();
        let file = |name: &Option<FileName>| name.as_ref().map(|name| escape_template(name.as_str()));
        let versions = || tls.versions.iter().copied().map(TlsVersion::name).collect();
        Self {
            insecure: (tls.insecure != defaults.insecure).then_some(tls.insecure),
            ca: file(&tls.ca),
            certificate: file(&tls.certificate),
            key: file(&tls.key),
            server_name: tls.server_name.clone(),
            versions: (tls.versions != defaults.versions).then(versions),
            resumption: (tls.resumption != defaults.resumption).then_some(tls.resumption),
        }
    }
}

impl CanonicalConnect {
    fn of(connect: &Connect) -> Self {
        let Connect { to, unix, proxy, family, resolve, from } = connect;
        let authorization = proxy.as_ref().and_then(|proxy| proxy.authorization.as_deref());
        Self {
            to: to.iter().map(|remote| escape_template(&remote.to_string())).collect(),
            unix: unix.as_ref().map(|path| escape_template(&path.to_string_lossy())),
            proxy: proxy.as_ref().map(|proxy| escape_template(&proxy.at.to_string())),
            proxy_authorization: authorization.map(escape_template),
            family: match family {
                Family::Any => None,
                Family::V4 => Some("4"),
                Family::V6 => Some("6"),
            },
            resolve: match resolve {
                Resolve::Once => None,
                Resolve::EachConnection => Some("connection".to_owned()),
                Resolve::Every(duration) => Some(format_duration(*duration)),
            },
            from: from.clone(),
        }
    }
}
