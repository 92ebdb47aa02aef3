//! A coordinator with its sockets, and a client that asks it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{coordinator, with_store, working_agent};
use crate::{Coordinator, Ending, MemoryStore, ServeError, Settings, Store, Token, serve};

/// A coordinator with its sockets.
pub(crate) struct Server {
    pub(crate) coordinator: Coordinator,
    pub(crate) base: String,
    /// Where agents dial.
    pub(crate) agents: SocketAddr,
    client: Client,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::of(coordinator()).await
    }

    /// With a store that has something in it.
    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        Self::of(with_store(store)).await
    }

    /// One that asks for this token.
    pub(crate) async fn guarded(token: Token) -> Self {
        Self::with(Settings { token: Some(token), ..Settings::default() }).await
    }

    /// One with these settings.
    pub(crate) async fn with(settings: Settings) -> Self {
        Self::of(Coordinator::new(Arc::new(MemoryStore::default()), settings)).await
    }

    async fn of(coordinator: Coordinator) -> Self {
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let agents = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", http.local_addr().unwrap());
        let dialled = agents.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move {
            drop(stopped.await);
            Ending::StopRuns
        };
        let served = tokio::spawn(serve(coordinator.clone(), http, agents, shutdown));
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { coordinator, base, agents: dialled, client, stop, served }
    }

    /// With one agent that does what it is told.
    pub(crate) async fn with_agent() -> Self {
        Self::start().await.and_agent().await
    }

    /// The same for a server that is there.
    pub(crate) async fn and_agent(self) -> Self {
        let server = self;
        working_agent(&server.coordinator, 1, "a");
        server.has_agent_in("idle").await;
        server
    }

    /// Waits until its first agent is in this state.
    pub(crate) async fn has_agent_in(&self, state: &str) {
        let shared = &self.coordinator.shared;
        let mut changes = shared.fleet_changes();
        let reached = async {
            while shared.agents().first().map(|agent| agent.state) != Some(state) {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reached).await.expect(state);
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> Response {
        self.request(Method::POST, path).body(body).send().await.unwrap()
    }

    /// Starts a run, and gives back its path.
    pub(crate) async fn run(&self, plan: &str) -> String {
        let response = self.post("/api/v1/runs", format!("target: http://127.0.0.1:1/\n{plan}")).await;
        assert_eq!(response.status(), StatusCode::CREATED);
        response.headers()[LOCATION].to_str().unwrap().to_owned()
    }

    /// Waits until a run's load has begun.
    pub(crate) async fn is_running(&self, path: &str) {
        let run = volley_plan::link::RunId::new(path.rsplit('/').next().unwrap()).unwrap();
        let feed = self.coordinator.shared.feed(&run).await.unwrap().unwrap();
        let mut changes = feed.changes();
        let running = async {
            while self.coordinator.document(&run).await.unwrap().progress.state != "running" {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), running).await.expect("it begins");
    }

    pub(crate) async fn end(self) {
        self.stop.send(()).unwrap();
        self.served.await.unwrap().unwrap();
    }
}

/// An answer's JSON.
pub(crate) async fn json(response: Response) -> Value {
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}
