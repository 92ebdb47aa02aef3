//! The login page: takes the token from a person and gives the browser a session.

use std::sync::Arc;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Form, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use volley_web::LoginPage;

use super::{Gate, now_s, session};
use crate::api::{AppState, Problem};
use crate::pages::PageError;

pub(super) const LOGIN: &str = "/login";
pub(super) const LOGOUT: &str = "/logout";

/// Where a person goes who wanted nothing in particular.
const HOME: &str = "/";
/// Most bytes of an address to go on to.
const MAX_TO_BYTES: usize = 500;
/// Most bytes of the form: a token and such an address, each escaped. What strangers send is held in memory, so it is little.
const MAX_FORM_BYTES: usize = 4_096;

/// The routes of the login page.
pub(crate) fn router(gate: Arc<Gate>) -> Router<AppState> {
    Router::new()
        .route(LOGIN, get(show).post(enter))
        .route(LOGOUT, post(leave))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(Extension(gate))
}

/// Where to go on to.
#[derive(Deserialize)]
struct LoginQuery {
    to: Option<String>,
}

/// The form.
#[derive(Deserialize)]
struct LoginForm {
    token: String,
    #[serde(default)]
    to: String,
}

/// Asks a person who came without a session, at the address that they wanted.
///
/// A browser that follows a link from another site shows no session even where it has one, since its cookie is for our own
/// pages only (`SameSite=Strict`). So this page leads on to the login page proper by itself: from here it is our own, and
/// who has a session is brought on to where the link led.
pub(super) fn asked(to: &str) -> Response {
    let page = LoginPage { to: local(to).to_owned(), goes_on: true, ..LoginPage::default() };
    answer(StatusCode::UNAUTHORIZED, &page)
}

async fn show(
    Extension(gate): Extension<Arc<Gate>>,
    query: Result<Query<LoginQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let to = query.ok().and_then(|Query(query)| query.to).unwrap_or_default();
    let to = local(&to);
    if gate.check(&headers, now_s()).is_ok() {
        return Redirect::to(to).into_response();
    }
    answer(StatusCode::OK, &LoginPage { to: to.to_owned(), ..LoginPage::default() })
}

async fn enter(
    Extension(gate): Extension<Arc<Gate>>,
    headers: HeaderMap,
    form: Result<Form<LoginForm>, FormRejection>,
) -> Response {
    let form = form.map_err(|rejection| {
        Problem::new(rejection.status().as_u16(), "The form cannot be read", rejection.body_text())
    });
    let LoginForm { token: said, to } = match form {
        Ok(Form(form)) => form,
        Err(problem) => return PageError::from(problem).into_response(),
    };
    let to = local(&to);
    let Some(token) = &gate.token else { return Redirect::to(to).into_response() };
    if !token.is(said.trim().as_bytes()) {
        gate.refusals.note("login");
        return answer(
            StatusCode::FORBIDDEN,
            &LoginPage { to: to.to_owned(), wrong: true, ..LoginPage::default() },
        );
    }
    let session = session::make(token, rand::random(), now_s());
    let cookie = cookie(&session, session::LASTS_S, is_secure(&headers));
    ([(header::SET_COOKIE, cookie)], Redirect::to(to)).into_response()
}

async fn leave(headers: HeaderMap) -> Response {
    ([(header::SET_COOKIE, cookie("", 0, is_secure(&headers)))], Redirect::to(LOGIN)).into_response()
}

/// The cookie of our own pages only, which no script can read.
fn cookie(session: &str, lasts_s: u64, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    let name = session::COOKIE;
    format!("{name}={session}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Strict{secure}")
}

/// Whether the browser sees the page over TLS, which some proxy ends: it says so itself where it sends a form.
fn is_secure(headers: &HeaderMap) -> bool {
    headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

/// An address of ours as it is; anything else, which could lead a person elsewhere, becomes the home page.
fn local(to: &str) -> &str {
    let is_ours = to.starts_with('/') && !to[1..].starts_with(['/', '\\']);
    let is_plain = to.len() <= MAX_TO_BYTES && to.bytes().all(|byte| byte.is_ascii_graphic());
    if is_ours && is_plain { to } else { HOME }
}

fn answer(status: StatusCode, page: &LoginPage) -> Response {
    match page.render() {
        Ok(html) => {
            let mut response = (status, Html(html)).into_response();
            if status == StatusCode::UNAUTHORIZED {
                let how = HeaderValue::from_static("Bearer realm=\"volley\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
            }
            response
        }
        Err(error) => PageError::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere() {
        for (to, expected) in [
            ("/", "/"),
            ("/runs/a-1?span=3-4", "/runs/a-1?span=3-4"),
            ("//evil.test/", "/"),
            ("/\\evil.test/", "/"),
            ("https://evil.test/", "/"),
            ("runs", "/"),
            ("/a\r\nset-cookie: x", "/"),
            ("/\u{fc}", "/"),
            ("", "/"),
        ] {
            assert_eq!(local(to), expected, "{to:?}");
        }
        assert_eq!(local(&format!("/{}", "x".repeat(MAX_TO_BYTES))), "/");
    }

    #[test]
    fn the_cookie_is_for_our_pages_only() {
        assert_eq!(cookie("a", 9, false), "volley_session=a; Path=/; Max-Age=9; HttpOnly; SameSite=Strict");
        assert!(cookie("a", 9, true).ends_with("; Secure"));
        let mut headers = HeaderMap::new();
        assert!(!is_secure(&headers));
        headers.insert(header::ORIGIN, HeaderValue::from_static("https://load.internal"));
        assert!(is_secure(&headers));
    }
}
