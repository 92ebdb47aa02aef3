//! What an agent tells probes and monitoring, where `--http` asks for that: whether the process lives, whether it takes
//! part, and what it has sent.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::watch;
use volley_agent::Status;
use volley_coordinator::Token;
use volley_coordinator::exposition::{Exposition, Labels, Of};
use volley_coordinator::metrics::gauges;
use volley_stats::Second;

/// What is served.
#[derive(Clone)]
struct Health {
    status: watch::Receiver<Status>,
    token: Option<Token>,
}

/// The routes. Probes need no token, whatever there is to read does.
pub(super) fn router(status: watch::Receiver<Status>, token: Option<Token>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Health { status, token })
}

async fn ready(State(health): State<Health>) -> (StatusCode, String) {
    match health.status.borrow().readiness() {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

async fn metrics(State(health): State<Health>, headers: HeaderMap) -> Response {
    let shown = headers.get(header::AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
    if health.token.is_some_and(|token| !token.is_bearer(shown)) {
        let how = [(header::WWW_AUTHENTICATE, "Bearer realm=\"volley\"")];
        return (StatusCode::UNAUTHORIZED, how, "the token is asked for\n").into_response();
    }
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let (kind, text) = figures(&health.status.borrow()).answer(accepted);
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What is told of an agent. Its counts are of this process.
fn figures(status: &Status) -> Exposition {
    let mut all = Exposition::default();
    let mut gauge = |name, help, value: usize| {
        #[expect(clippy::cast_precision_loss, reason = "what goes up and down stays far below 2^52")]
        all.gauge(name, Of::Things, help, vec![(Labels::new(), value as f64)]);
    };
    gauge("volley_agent_joined", "Whether it has joined its coordinator.", status.is_joined.into());
    gauge("volley_agent_leaving", "Whether it was told to end.", status.is_leaving.into());
    gauge("volley_agent_runs", "Runs at hand, at most one.", status.run.is_some().into());
    gauge(
        "volley_agent_owed_windows",
        "Windows that the coordinator has not acknowledged.",
        status.owed_windows,
    );
    gauge(
        "volley_agent_leftover_runs",
        "Runs of earlier processes that are not delivered whole.",
        status.leftovers,
    );
    let Second { users, in_flight, connections, .. } = status.latest;
    gauges(&mut all, [users, in_flight, connections].map(u64::from));
    all.tally(&status.sent);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a request with this `Authorization`, of an agent that has a token.
    async fn asked(status: Status, path: &str, shown: Option<&str>) -> (u16, String) {
        let token = Token::new("0123456789abcdef").unwrap();
        let (_teller, status) = watch::channel(status);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{path}", listener.local_addr().unwrap());
        let served = tokio::spawn(volley_coordinator::serve_router(listener, router(status, Some(token))));
        let request = reqwest::Client::new().get(url);
        let request = shown.iter().fold(request, |request, shown| request.header("authorization", *shown));
        let answer = request.send().await.unwrap();
        let answer = (answer.status().as_u16(), answer.text().await.unwrap());
        served.abort();
        answer
    }

    #[tokio::test]
    async fn probes_are_answered_and_figures_are_for_those_with_the_token() {
        let joined = Status { is_joined: true, owed_windows: 3, ..Status::default() };
        assert_eq!(asked(joined.clone(), "/healthz", None).await, (200, "ok\n".to_owned()));
        assert_eq!(asked(joined.clone(), "/readyz", None).await, (200, "ready\n".to_owned()));
        let leaving = Status { is_leaving: true, ..joined.clone() };
        assert_eq!(asked(leaving.clone(), "/healthz", None).await.0, 200);
        assert_eq!(asked(leaving, "/readyz", None).await, (503, "leaving\n".to_owned()));
        assert_eq!(asked(Status::default(), "/readyz", None).await.0, 503);
        for shown in [None, Some("Bearer x"), Some("0123456789abcdef")] {
            assert_eq!(asked(joined.clone(), "/metrics", shown).await.0, 401, "{shown:?}");
        }
        let (status, said) = asked(joined, "/metrics", Some("Bearer 0123456789abcdef")).await;
        assert_eq!(status, 200);
        for part in
            ["volley_agent_joined 1.0\n", "volley_agent_runs 0.0\n", "volley_agent_owed_windows 3.0\n"]
        {
            assert!(said.contains(part), "{said}");
        }
    }
}
