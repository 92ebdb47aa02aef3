//! What the tests of this crate share: a coordinator that knows one run and has one answer for each question.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use volley_coordinator::{Token, serve_router};

use crate::rest::Rest;
use crate::summary::tests::document;

/// What it asks for.
pub(crate) const TOKEN: &str = "0123456789abcdef";
/// Most bytes of a question's body.
const BODY_BYTES_MAX: usize = 10_000;

/// The coordinator.
pub(crate) struct Coordinator {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    served: JoinHandle<()>,
}

impl Coordinator {
    pub(crate) async fn start() -> Self {
        Self::at(([127, 0, 0, 1], 0).into()).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let router = Router::new().fallback(answer).with_state(asked.clone());
        Self { address, asked, served: tokio::spawn(serve_router(listener, router)) }
    }

    /// Ends it, with all its connections; gives its address.
    pub(crate) async fn end(self) -> SocketAddr {
        self.served.abort();
        let _ = self.served.await;
        self.address
    }

    pub(crate) fn rest(&self) -> Rest {
        Rest::new(&self.address.to_string(), Some(&Token::new(TOKEN).unwrap()))
            .map_err(|failure| failure.error.to_string())
            .unwrap()
    }

    /// Method, address and body of each question.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(State(asked): State<Arc<Mutex<Vec<String>>>>, request: Request) -> Response {
    let shown = request.headers().get("authorization").map_or(&b""[..], |value| value.as_bytes());
    if shown != format!("Bearer {TOKEN}").as_bytes() {
        return (StatusCode::UNAUTHORIZED, json!({"title": "no token"}).to_string()).into_response();
    }
    let (method, uri) = (request.method().to_string(), request.uri().to_string());
    let is_conditional = request.headers().contains_key("if-match");
    let body = axum::body::to_bytes(request.into_body(), BODY_BYTES_MAX).await.unwrap();
    asked.lock().unwrap().push(format!("{method} {uri} {}", String::from_utf8_lossy(&body)));
    let path = uri.split('?').next().unwrap_or_default();
    let (status, said) = match (method.as_str(), path) {
        ("POST", "/api/v1/runs") => (201, document()),
        ("GET", "/api/v1/runs") => (200, runs(&uri)),
        ("GET" | "PATCH", "/api/v1/runs/r1") => (200, document()),
        ("DELETE", "/api/v1/runs/r1" | "/api/v1/plans/a") => (204, json!("")),
        ("GET", "/api/v1/agents") => {
            (200, json!({ "agents": agents(), "add_agent_command": "volley agent" }))
        }
        ("PATCH", "/api/v1/agents/00000000000000a1") => (200, agents()[0].clone()),
        ("GET", "/api/v1/plans") => (200, json!({ "plans": [plan(2)] })),
        ("GET", "/api/v1/plans/a") => return "target: http://h/\n".into_response(),
        ("GET", "/api/v1/plans/a/versions") => {
            (200, json!({ "versions": [{ "version": 2, "saved_at": "T", "etag": "\"e\"" }] }))
        }
        ("PUT", "/api/v1/plans/a") if is_conditional => (412, json!({"title": "Precondition failed"})),
        ("PUT", "/api/v1/plans/a") => (200, plan(2)),
        ("PUT", "/api/v1/plans/b") => (201, plan(1)),
        ("PUT", "/api/v1/plans/faulty") => {
            let fault = json!({"line": 1, "column": 9, "detail": "target: wrong", "hint": "right"});
            (422, json!({"title": "Faults", "errors": [fault]}))
        }
        ("GET", "/api/v1/runs/r1/report.md") => return "## n\n".into_response(),
        ("POST", "/api/v1/runs/r1/stop") => (202, document()),
        ("POST", "/api/v1/runs/r1/adjust") => (202, json!({"at_s": 12.34})),
        _ => (404, json!({"title": "Not found", "detail": "there is no run of this name"})),
    };
    (StatusCode::from_u16(status).unwrap(), said.to_string()).into_response()
}

/// One page of runs, or the first and the last of two.
fn runs(uri: &str) -> Value {
    let next = (uri.contains("plan=paged") && !uri.contains("cursor=")).then_some("r1");
    json!({ "runs": [document()], "next_cursor": next })
}

/// Three agents, two of which share a name.
fn agents() -> Vec<Value> {
    let agent = |number: &str, name: &str| {
        json!({
            "name": name, "incarnation": number, "version": "1.2.3", "workers": 2, "labels": {"zone": "eu"},
            "state": "busy", "run": "r1", "drift_ms": null, "outlier": null,
        })
    };
    vec![agent("00000000000000a1", "one"), agent("00000000000000a2", "two"), agent("00000000000000a3", "two")]
}

fn plan(version: u32) -> Value {
    json!({"name": "a", "version": version, "saved_at": "T", "load": "5 users closed", "target": "http://h/"})
}
