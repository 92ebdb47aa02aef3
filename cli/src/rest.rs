//! The coordinator's REST API, as the command line speaks it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use volley_coordinator::Token;

use crate::exit::{Exit, Failure, OrExit as _};

/// How long connecting to the coordinator may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may take beyond the wait that was asked for.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);
/// Most of an answer that is no problem document that is shown.
const SHOWN_CHARS: usize = 500;

/// What is said of an answer that can't be read.
const UNKNOWN: &str = "the coordinator's answer is none that this version knows";

/// A client of one coordinator.
pub(crate) struct Rest {
    client: Client,
    /// Its URL, with a slash at the end.
    base: Url,
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

impl Rest {
    /// A client of the coordinator with this URL, which shows the token where there is one.
    pub(crate) fn new(coordinator: &str, token: Option<&Token>) -> Result<Self, Failure> {
        let base = base(coordinator).with_context(|| format!("the coordinator's URL {coordinator}"));
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&token.bearer()).context("the token fits no header")?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder().connect_timeout(CONNECT).default_headers(headers).build();
        Ok(Self { client: client.context("no HTTP client")?, base: base.or_exit(Exit::Usage)? })
    }

    /// The address of a page, without a slash before it.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A request for something below `api/v1/`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}api/v1/{path}", self.base))
    }

    /// The same, with parameters behind its `?`.
    pub(crate) fn request_with(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
    ) -> RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(&format!("{}api/v1/{path}", self.base.path()));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.client.request(method, url)
    }

    /// Sends a request whose answer is due within this time.
    pub(crate) async fn send(&self, request: RequestBuilder, within: Duration) -> Result<Response, Failure> {
        let sent = request.timeout(within).send().await.map_err(reqwest::Error::without_url);
        sent.with_context(|| format!("the coordinator at {} can't be reached", self.base.authority()))
            .or_exit(Exit::Unreachable)
    }

    /// The JSON of an answer, or the failure that it tells of. Faults of a plan are told with the name of its file.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        answer: Response,
        file: Option<&Path>,
    ) -> Result<T, Failure> {
        let body = Self::body(answer, file).await?;
        Ok(serde_json::from_slice(&body).context(UNKNOWN)?)
    }

    /// What a JSON document of the coordinator says.
    pub(crate) fn known<T: DeserializeOwned>(document: Value) -> Result<T, Failure> {
        Ok(serde_json::from_value(document).context(UNKNOWN)?)
    }

    /// Has something done whose answer says nothing more.
    pub(crate) async fn do_it(&self, request: RequestBuilder) -> Result<(), Failure> {
        self.text(request, None).await.map(|_| ())
    }

    /// The text of an answer, or the failure that it tells of.
    pub(crate) async fn text(&self, request: RequestBuilder, file: Option<&Path>) -> Result<String, Failure> {
        let answer = self.send(request, ANSWER).await?;
        let body = Self::body(answer, file).await?;
        Ok(String::from_utf8(body).context("the coordinator's answer is no text")?)
    }

    async fn body(answer: Response, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
        let status = answer.status();
        let body = answer.bytes().await.map_err(reqwest::Error::without_url);
        let body = body.context("the coordinator's answer was cut short").or_exit(Exit::Unreachable)?;
        if status.is_success() { Ok(body.into()) } else { Err(refusal(status, &body, file)) }
    }

    /// The text of an answer, or the failure that it tells of.
    pub(crate) async fn read_text(&self, answer: Response) -> Result<String, Failure> {
        let status = answer.status();
        let body = answer.bytes().await.map_err(reqwest::Error::without_url);
        let body = body.context("the coordinator's answer was cut short").or_exit(Exit::Unreachable)?;
        if !status.is_success() {
            return Err(refusal(status, &body, None));
        }
        Ok(String::from_utf8(body.into()).context("the coordinator's answer is no text")?)
    }

    /// Both at once, where no plan is sent.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let answer = self.send(request, ANSWER).await?;
        self.read(answer, None).await
    }
}

fn base(coordinator: &str) -> anyhow::Result<Url> {
    // Agents are given a bare address, so people give one here as well.
    let scheme = if coordinator.contains("://") { "" } else { "http://" };
    let base = Url::parse(&format!("{scheme}{}/", coordinator.trim_end_matches('/')))?;
    if base.scheme() != "http" {
        return Err(anyhow!("the scheme is {}, expected http", base.scheme()));
    }
    Ok(base)
}

fn refusal(status: StatusCode, body: &[u8], file: Option<&Path>) -> Failure {
    let said = match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => told(&problem, file),
        Err(_) => String::from_utf8_lossy(body).trim().chars().take(SHOWN_CHARS).collect(),
    };
    let exit = match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
        // The last two are what a proxy says that finds no coordinator.
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            Exit::Unreachable
        }
        status if status.is_client_error() => Exit::Refused,
        _ => Exit::CouldNot,
    };
    Failure::new(exit, format!("the coordinator answered {status}: {said}"))
}

/// A problem in words, with a line for each place as the plan's own faults have.
fn told(problem: &Problem, file: Option<&Path>) -> String {
    let mut text = problem.detail.clone().unwrap_or_else(|| problem.title.clone());
    for ProblemPlace { line, column, detail, hint } in &problem.errors {
        text += "\n";
        if let Some(file) = file {
            text += &format!("{}:", file.display());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_is_named_by_address_or_url() {
        let check = |text: &str, expected: Result<&str, &str>| match (base(text), expected) {
            (Ok(url), Ok(known)) => assert_eq!(url.as_str(), known, "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        };
        check("127.0.0.1:7070", Ok("http://127.0.0.1:7070/"));
        check("http://load.internal", Ok("http://load.internal/"));
        check("http://load.internal/volley/", Ok("http://load.internal/volley/"));
        check("https://load.internal", Err("expected http"));
        check("http://", Err("empty host"));
    }

    #[test]
    fn a_refusal_has_its_exit_code_and_says_where() {
        let problem =
            br#"{"title":"t","detail":"d","errors":[{"line":2,"column":3,"detail":"e","hint":"h"}]}"#;
        let check = |status: u16, body: &[u8], exit: Exit, part: &str| {
            let failure = refusal(StatusCode::from_u16(status).unwrap(), body, Some(Path::new("p.yaml")));
            assert_eq!(failure.exit, exit, "{status}");
            let said = failure.error.to_string();
            assert!(said.contains(part), "{status}: {said}");
        };
        check(422, problem, Exit::Usage, "d\np.yaml:2:3: e (h)");
        check(401, br#"{"title":"Not authorized"}"#, Exit::Refused, "Not authorized");
        check(403, problem, Exit::Refused, "403");
        check(503, problem, Exit::Unreachable, "503");
        check(502, b"<html>", Exit::Unreachable, "<html>");
        check(500, b"", Exit::CouldNot, "500");
    }
}
