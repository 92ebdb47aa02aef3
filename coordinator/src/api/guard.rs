//! What a browser can be made to ask: the address that the request names must be a loopback one, since a page from elsewhere
//! can make its own name lead here (DNS rebinding); and what changes something must come from our own pages or from no page
//! at all. Where each request has to show a token ([`crate::access`]), the address may be any: a browser shows another
//! site's name nothing that it keeps for ours.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use volley_web::CONTENT_SECURITY_POLICY;

use super::Problem;

/// Headers of every answer. The referrer is kept for our own pages: with none at all, browsers would call the origin of
/// our own forms `null`.
const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
];

/// What changes something has a body, which must have come within this time, with what it causes done.
const CHANGE_WITHIN: Duration = Duration::from_secs(30);

/// By which names this coordinator may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    /// Loopback ones.
    Loopback,
    /// Any, since the token tells who may ask. A proxy in front may have ended TLS.
    Any,
}

pub(super) async fn guard(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let mut response = match check(hosts, request.method(), request.uri(), request.headers()) {
        Ok(()) if changes(request.method()) => in_time(next.run(request)).await,
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn in_time(response: impl Future<Output = Response>) -> Response {
    let late = |_| {
        let detail = format!("the request took longer than {} s", CHANGE_WITHIN.as_secs());
        Problem::new(408, "Too slow", detail).into_response()
    };
    tokio::time::timeout(CHANGE_WITHIN, response).await.unwrap_or_else(late)
}

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Lets a request through, or says why not.
fn check(hosts: Hosts, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |detail: &str| Problem::new(403, "Refused", detail);
    // An absolute address in the request line goes before the header (RFC 9112 section 3.2.2).
    let named = uri.authority().map(axum::http::uri::Authority::as_str);
    let host = named.or_else(|| text(headers, header::HOST)).unwrap_or_default();
    if hosts == Hosts::Loopback && !is_loopback(host) {
        return Err(refused("the Host header must name a loopback address, such as localhost or 127.0.0.1"));
    }
    if changes(method) && headers.contains_key(header::ORIGIN) {
        let origin = text(headers, header::ORIGIN).unwrap_or_default();
        if !hosts.schemes().iter().any(|scheme| is_origin(origin, scheme, host)) {
            return Err(refused("the Origin header names another site than this one"));
        }
    }
    Ok(())
}

impl Hosts {
    /// What may stand before the address of our own pages.
    fn schemes(self) -> &'static [&'static str] {
        match self {
            Self::Loopback => &["http://"],
            Self::Any => &["http://", "https://"],
        }
    }
}

fn is_origin(origin: &str, scheme: &str, host: &str) -> bool {
    origin.strip_prefix(scheme).is_some_and(|from| !host.is_empty() && from.eq_ignore_ascii_case(host))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// True for `localhost` and the names below it (RFC 6761 section 6.3), 127.0.0.0/8 and ::1, with or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => return address.parse::<std::net::Ipv6Addr>().is_ok_and(|ip| ip.is_loopback()),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.to_ascii_lowercase();
    let is_address = name.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
    is_address || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `headers` are `Name: value`; the expectation is a part of the refusal.
    fn check_request(method: &Method, uri: &str, lines: &[&str], expected: Option<&str>) {
        check_at(Hosts::Loopback, method, uri, lines, expected);
    }

    fn check_at(hosts: Hosts, method: &Method, uri: &str, lines: &[&str], expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let refused =
            check(hosts, method, &uri.parse().unwrap(), &headers).err().map(|problem| problem.detail);
        match (&refused, expected) {
            (None, None) => {}
            (Some(said), Some(part)) if said.contains(part) => {}
            _ => panic!("{method} {uri} {lines:?}: {refused:?}"),
        }
    }

    #[test]
    fn case_18_hosts_that_are_not_loopback_are_refused() {
        for host in
            ["localhost", "LOCALHOST:7070", "a.localhost:1", "127.0.0.1:7070", "127.1.2.3", "[::1]:7070"]
        {
            check_request(&Method::GET, "/", &[&format!("host: {host}")], None);
        }
        for host in
            ["evil.test", "evil.test:7070", "10.0.0.1", "localhost.evil.test", "[::2]:1", "0.0.0.0", ""]
        {
            check_request(&Method::GET, "/", &[&format!("host: {host}")], Some("Host"));
        }
        check_request(&Method::GET, "/", &[], Some("Host"));
        check_request(&Method::GET, "http://evil.test/", &["host: localhost"], Some("Host"));
    }

    #[test]
    fn case_18_changes_from_other_sites_are_refused() {
        let host = "host: localhost:7070";
        check_request(&Method::POST, "/", &[host], None);
        check_request(&Method::POST, "/", &[host, "origin: http://localhost:7070"], None);
        check_request(&Method::POST, "/", &["host: localhost", "origin: http://localhost"], None);
        check_request(&Method::GET, "/", &[host, "origin: http://evil.test"], None);
        for origin in [
            "http://evil.test",
            "null",
            "http://localhost:7071",
            "http://127.0.0.1:7070",
            "https://localhost:7070",
            "http://localhost:7070.evil.test",
            "",
        ] {
            check_request(&Method::POST, "/", &[host, &format!("origin: {origin}")], Some("Origin"));
            check_request(&Method::DELETE, "/", &[host, &format!("origin: {origin}")], Some("Origin"));
        }
    }

    #[test]
    fn with_a_token_any_host_may_be_named() {
        let any =
            |method: &Method, lines: &[&str], expected| check_at(Hosts::Any, method, "/", lines, expected);
        any(&Method::GET, &["host: load.internal:7070"], None);
        any(&Method::GET, &["host: 10.0.0.1", "origin: http://evil.test"], None);
        let host = "host: load.internal";
        any(&Method::POST, &[host], None);
        any(&Method::POST, &[host, "origin: http://load.internal"], None);
        any(&Method::POST, &[host, "origin: https://load.internal"], None);
        for origin in ["https://evil.test", "https://load.internal:8443", "null", "", "https://"] {
            any(&Method::POST, &[host, &format!("origin: {origin}")], Some("Origin"));
        }
        any(&Method::POST, &["origin: http://"], Some("Origin"));
    }
}
