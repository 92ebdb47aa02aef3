//! Who may use this coordinator. Where it has a token, each request must show that: as `Authorization: Bearer …`, or as the
//! session that the login page gave for it; each agent, in the metadata of its call. Without a token, which only loopback
//! addresses may be, everybody may.

mod login;
mod refusals;
mod session;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use tonic::Status;
use tonic::metadata::MetadataMap;
use volley_proto::{Token, bearer_of};

use crate::api::Problem;
use refusals::Refusals;

pub(crate) use login::router;

/// What is open to all: what probes ask, and what every page loads.
const OPEN: [&str; 8] = [
    "/healthz",
    "/readyz",
    "/version",
    "/api/v1/healthz",
    "/api/v1/readyz",
    "/api/v1/version",
    login::LOGIN,
    login::LOGOUT,
];

/// The token, and how those fare who come without.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    token: Option<Token>,
    refusals: Refusals,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// It shows nothing.
    Nothing,
    /// It shows what is not the token, or a session that is over.
    Wrong,
}

impl Gate {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self { token, refusals: Refusals::default() }
    }

    /// Whether everybody may.
    pub(crate) fn is_open(&self) -> bool {
        self.token.is_none()
    }

    /// Lets an agent in.
    ///
    /// # Errors
    /// The status `UNAUTHENTICATED`, with what to do.
    pub(crate) fn admit_call(&self, metadata: &MetadataMap) -> Result<(), Status> {
        let Some(token) = &self.token else { return Ok(()) };
        if token.is_shown(metadata) {
            return Ok(());
        }
        self.refusals.note("agents' port");
        let said = if metadata.contains_key(volley_proto::AUTHORIZATION) { "another" } else { "none" };
        Err(Status::unauthenticated(format!(
            "this coordinator asks for its token and the agent shows {said}: give it with --token-file FILE, or in \
             VOLLEY_TOKEN"
        )))
    }

    fn check(&self, headers: &HeaderMap, now_s: u64) -> Result<(), Refused> {
        let Some(token) = &self.token else { return Ok(()) };
        // What is there of another scheme is meant for a proxy before us.
        let shown =
            headers.get_all(header::AUTHORIZATION).iter().find_map(|value| bearer_of(value.as_bytes()));
        if let Some(shown) = shown {
            return if token.is(shown) { Ok(()) } else { Err(Refused::Wrong) };
        }
        match session::shown(headers) {
            Some(session) if session::is_valid(token, session, now_s) => Ok(()),
            Some(_) => Err(Refused::Wrong),
            None => Err(Refused::Nothing),
        }
    }
}

/// Seconds since 1970, which sessions that outlive this process are measured by.
fn now_s() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or_default()
}

/// Lets a request through, or answers it: a person is shown the login page, a program is told what to send.
pub(crate) async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    if is_open(request.uri()) {
        return next.run(request).await;
    }
    let Err(refused) = gate.check(request.headers(), now_s()) else { return next.run(request).await };
    if refused == Refused::Wrong {
        gate.refusals.note("http");
    }
    if wants_page(request.uri(), request.headers()) {
        // What a form was to change, it does not change after all; its address is no page.
        let wanted = request.uri().path_and_query().filter(|_| request.method() == Method::GET);
        return login::asked(wanted.map_or("/", PathAndQuery::as_str));
    }
    challenge(refused)
}

fn is_open(uri: &Uri) -> bool {
    let path = uri.path();
    OPEN.contains(&path) || volley_web::assets().iter().any(|asset| asset.path == path)
}

/// Whether who asks is a browser that shows what it gets.
fn wants_page(uri: &Uri, headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accepted.contains("text/html") && !uri.path().starts_with("/api/")
}

/// The answer to a program (RFC 6750 section 3).
fn challenge(refused: Refused) -> Response {
    let (detail, how) = match refused {
        Refused::Nothing => (
            "this coordinator asks for its token: send it as `Authorization: Bearer TOKEN`, or give it to volley with \
             --token-file FILE or in VOLLEY_TOKEN",
            "Bearer realm=\"volley\"",
        ),
        Refused::Wrong => (
            "the token that was shown is not this coordinator's, or the session is over",
            "Bearer realm=\"volley\", error=\"invalid_token\"",
        ),
    };
    let mut response = Problem::new(401, "Not authorized", detail).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(how));
    response
}

#[cfg(test)]
mod tests;
