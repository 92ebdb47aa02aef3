//! A run on a coordinator, over its REST API.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use volley_coordinator::RunDocument;

use super::Session;
use crate::exit::{Exit, Failure, OrExit as _};
use crate::output;

/// How long connecting to the coordinator may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may take beyond the wait that was asked for.
const ANSWER: Duration = Duration::from_secs(30);
/// Most of an answer that is no problem document that is shown.
const SHOWN_CHARS: usize = 500;

/// A run on a coordinator.
pub(crate) struct Remote {
    client: Client,
    /// The API's runs, `…/api/v1/runs`.
    runs: Url,
    file: PathBuf,
    plan: Vec<u8>,
    id: Option<String>,
}

/// What is read of the answer to starting a run.
#[derive(Deserialize)]
struct Started {
    id: String,
}

/// Problem details (RFC 9457).
#[derive(Deserialize)]
struct Problem {
    title: String,
    detail: Option<String>,
    #[serde(default)]
    errors: Vec<ProblemPlace>,
}

#[derive(Deserialize)]
struct ProblemPlace {
    line: Option<u32>,
    column: Option<u32>,
    detail: String,
    hint: Option<String>,
}

impl Remote {
    /// A run of the plan in this file, on the coordinator with this URL; not started yet.
    pub(crate) fn new(coordinator: &str, file: PathBuf, plan: Vec<u8>) -> Result<Self, Failure> {
        let url = || -> anyhow::Result<Url> {
            // Agents are given a bare address, so people give one here as well.
            let scheme = if coordinator.contains("://") { "" } else { "http://" };
            let base = Url::parse(&format!("{scheme}{}/", coordinator.trim_end_matches('/')))?;
            if base.scheme() != "http" {
                return Err(anyhow!("the scheme is {}, expected http", base.scheme()));
            }
            Ok(base.join("api/v1/runs")?)
        };
        let runs =
            url().with_context(|| format!("the coordinator's URL {coordinator}")).or_exit(Exit::Usage)?;
        let client = Client::builder().connect_timeout(CONNECT).build().context("no HTTP client")?;
        Ok(Self { client, runs, file, plan, id: None })
    }

    /// The URL of this run with something behind it.
    fn url(&self, more: &str) -> Result<String, Failure> {
        let id = self.id.as_deref().context("the run was not started")?;
        Ok(format!("{}/{id}{more}", self.runs))
    }

    async fn send(&self, request: RequestBuilder, within: Duration) -> Result<Response, Failure> {
        let sent = request.timeout(within).send().await.map_err(reqwest::Error::without_url);
        sent.with_context(|| format!("the coordinator at {} can't be reached", self.runs.authority()))
            .or_exit(Exit::Unreachable)
    }

    /// The whole answer, or the failure that it tells of.
    async fn read(&self, answer: Response) -> Result<Vec<u8>, Failure> {
        let status = answer.status();
        let body = answer.bytes().await.map_err(reqwest::Error::without_url);
        let body = body.context("the coordinator's answer was cut short").or_exit(Exit::Unreachable)?;
        if status.is_success() { Ok(body.into()) } else { Err(self.refusal(status, &body)) }
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> Failure {
        let said = match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => self.told(&problem),
            Err(_) => String::from_utf8_lossy(body).trim().chars().take(SHOWN_CHARS).collect(),
        };
        let exit = match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
            StatusCode::SERVICE_UNAVAILABLE => Exit::Unreachable,
            status if status.is_client_error() => Exit::Refused,
            _ => Exit::CouldNot,
        };
        Failure::new(exit, format!("the coordinator answered {status}: {said}"))
    }

    /// A problem in words, with a line for each place as the plan's own faults have.
    fn told(&self, problem: &Problem) -> String {
        let mut text = problem.detail.clone().unwrap_or_else(|| problem.title.clone());
        for ProblemPlace { line, column, detail, hint } in &problem.errors {
            text += &format!("\n{}:", self.file.display());
            if let (Some(line), Some(column)) = (line, column) {
                text += &format!("{line}:{column}:");
            }
            text += &format!(" {detail}");
            if let Some(hint) = hint {
                text += &format!(" ({hint})");
            }
        }
        text
    }
}

impl Session for Remote {
    async fn start(&mut self) -> Result<(), Failure> {
        let json = self.file.extension().is_some_and(|extension| extension == "json");
        let kind = if json { "application/json" } else { "application/yaml" };
        let request =
            self.client.post(self.runs.clone()).header("content-type", kind).body(self.plan.clone());
        let answer = self.send(request, ANSWER).await?;
        let answer = self.read(answer).await?;
        let Started { id } =
            serde_json::from_slice(&answer).context("the coordinator's answer has no run")?;
        output::say(&format!("run {id}: {}://{}/runs/{id}", self.runs.scheme(), self.runs.authority()));
        self.id = Some(id);
        Ok(())
    }

    async fn wait(&mut self, up_to: Duration) -> Result<RunDocument, Failure> {
        let url = self.url(&format!("?wait={}ms", up_to.as_millis()))?;
        let answer = self.send(self.client.get(url), up_to + ANSWER).await?;
        let answer = self.read(answer).await?;
        Ok(serde_json::from_slice(&answer)
            .context("the coordinator's answer is no run that this version knows")?)
    }

    async fn stop(&mut self) -> Result<(), Failure> {
        let url = self.url("/stop")?;
        let answer = self.send(self.client.post(url), ANSWER).await?;
        if answer.status() == StatusCode::CONFLICT {
            // It was over before.
            return Ok(());
        }
        self.read(answer).await.map(drop)
    }

    fn is_local(&self) -> bool {
        false
    }
}
