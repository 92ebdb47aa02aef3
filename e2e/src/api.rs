//! The REST API as a client sees it.

use std::io::{self, BufRead, BufReader};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, Response};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::process::PATIENCE;
use crate::report::Report;

/// A client of one coordinator.
#[derive(Clone)]
pub struct Api {
    url: String,
    client: Client,
}

impl Api {
    /// A client of the server with this URL, which has no slash at its end.
    ///
    /// # Panics
    /// If the client can't be built.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self::with_token(url, None)
    }

    /// The same, showing a token with each request.
    ///
    /// # Panics
    /// If the client can't be built, or the token is none.
    #[must_use]
    pub fn with_token(url: &str, token: Option<&str>) -> Self {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().expect("tokens are ASCII");
            headers.insert("authorization", value);
        }
        let client = Client::builder().timeout(PATIENCE * 2).default_headers(headers);
        Self { url: url.to_owned(), client: client.build().expect("a client with few options") }
    }

    /// The JSON at a path, of an answer that says ok.
    ///
    /// # Panics
    /// If the answer is another one.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(path);
        assert_eq!(status, 200, "GET {path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("GET {path}: {error} in {body}"))
    }

    /// Status and body at a path.
    ///
    /// # Panics
    /// If there is no answer.
    #[must_use]
    pub fn ask(&self, path: &str) -> (u16, String) {
        read(self.client.get(format!("{}{path}", self.url)).send())
    }

    /// Reads a stream to its end; gives how many bytes came.
    ///
    /// # Panics
    /// If it breaks off, or lasts longer.
    #[must_use]
    pub fn read_stream(&self, path: &str, within: Duration) -> u64 {
        let request = self.client.get(format!("{}{path}", self.url)).timeout(within);
        let mut answer = request.send().unwrap_or_else(|error| panic!("no answer: {error:?}"));
        io::copy(&mut answer, &mut io::sink()).unwrap_or_else(|error| panic!("no whole stream: {error:?}"))
    }

    /// Follows a stream to its end, line by line.
    ///
    /// # Panics
    /// If it can't be had.
    pub fn follow(&self, path: &str, within: Duration, mut line: impl FnMut(&str)) {
        let request = self.client.get(format!("{}{path}", self.url)).timeout(within);
        let answer = request.send().unwrap_or_else(|error| panic!("no answer: {error:?}"));
        BufReader::new(answer).lines().map_while(Result::ok).for_each(|text| line(&text));
    }

    /// Posts a body of a content type; gives status and body.
    ///
    /// # Panics
    /// If there is no answer.
    pub fn post(&self, path: &str, content_type: &str, body: &str) -> (u16, String) {
        let request = self.client.post(format!("{}{path}", self.url));
        read(request.header("content-type", content_type).body(body.to_owned()).send())
    }

    /// Puts a body of a content type; gives status and body.
    ///
    /// # Panics
    /// If there is no answer.
    pub fn put(&self, path: &str, content_type: &str, body: &str) -> (u16, String) {
        let request = self.client.put(format!("{}{path}", self.url));
        read(request.header("content-type", content_type).body(body.to_owned()).send())
    }

    /// Changes something with a body of JSON; gives status and body.
    ///
    /// # Panics
    /// If there is no answer.
    pub fn patch(&self, path: &str, body: &str) -> (u16, String) {
        let request = self.client.patch(format!("{}{path}", self.url));
        read(request.header("content-type", "application/json").body(body.to_owned()).send())
    }

    /// The seconds of a run that is over, as its stream tells them.
    ///
    /// # Panics
    /// If the stream holds what is no JSON.
    #[must_use]
    pub fn ticks(&self, id: &str) -> Vec<Value> {
        let (status, text) = self.ask(&format!("/api/v1/runs/{id}/stream"));
        assert_eq!(status, 200, "{text}");
        let blocks = text.split("\n\n").filter(|block| block.lines().any(|line| line == "event: tick"));
        let data = blocks.filter_map(|block| block.lines().find_map(|line| line.strip_prefix("data: ")));
        data.map(|data| serde_json::from_str(data).expect("events are JSON")).collect()
    }

    /// The agents.
    ///
    /// # Panics
    /// If the answer is no list.
    #[must_use]
    pub fn agents(&self) -> Vec<Value> {
        self.get("/api/v1/agents")["agents"].as_array().expect("a list of agents").clone()
    }

    /// Starts a run of a YAML plan; gives its id.
    ///
    /// # Panics
    /// If it is refused.
    #[must_use]
    pub fn start(&self, plan: &str) -> String {
        let (status, body) = self.post("/api/v1/runs", "application/yaml", plan);
        assert_eq!(status, 201, "{body}");
        let run: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}"));
        run["id"].as_str().expect("a run has an id").to_owned()
    }

    /// The run as it is now.
    #[must_use]
    pub fn run(&self, id: &str) -> Report {
        Report::new(self.get(&format!("/api/v1/runs/{id}")))
    }

    /// The run once it is finished.
    ///
    /// # Panics
    /// If it does not finish within a minute or two.
    #[must_use]
    pub fn finished(&self, id: &str) -> Report {
        let deadline = Instant::now() + PATIENCE * 2;
        loop {
            let run = Report::new(self.get(&format!("/api/v1/runs/{id}?wait=30s")));
            if run.is_finished() {
                return run;
            }
            assert!(Instant::now() < deadline, "it does not finish: {run:?}");
        }
    }

    /// Runs a YAML plan to its end.
    #[must_use]
    pub fn play(&self, plan: &str) -> Report {
        self.finished(&self.start(plan))
    }

    /// Waits until something holds. The API has no event for everything, so this asks again, 20 times a second.
    ///
    /// # Panics
    /// If it doesn't come to hold.
    pub fn wait_for(&self, what: &str, within: Duration, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + within;
        while !holds(self) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn read(answer: reqwest::Result<Response>) -> (u16, String) {
    let answer = answer.unwrap_or_else(|error| panic!("no answer: {error:?}"));
    let status = answer.status().as_u16();
    (status, answer.text().unwrap_or_else(|error| panic!("no whole answer: {error:?}")))
}
