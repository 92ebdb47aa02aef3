//! A run on a coordinator, over its REST API.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use volley_coordinator::RunDocument;
use volley_coordinator::report::Form;

use super::Session;
use crate::exit::{Exit, Failure};
use crate::rest::{ANSWER, Rest};
use crate::{output, report};

/// How long a coordinator may be away that has taken the run: as long as one takes that is started again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long until it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// A run on a coordinator.
pub(crate) struct Remote {
    rest: Rest,
    file: PathBuf,
    plan: Vec<u8>,
    id: Option<String>,
    /// Since when the coordinator can't be reached.
    away: Option<Instant>,
}

/// What is read of the answer to starting a run.
#[derive(Deserialize)]
struct Started {
    id: String,
}

impl Remote {
    /// A run of the plan in this file, on this coordinator; not started yet.
    pub(crate) fn new(rest: Rest, file: PathBuf, plan: Vec<u8>) -> Self {
        Self { rest, file, plan, id: None, away: None }
    }

    /// The path of this run with something behind it.
    fn path(&self, more: &str) -> Result<String, Failure> {
        let id = self.id.as_deref().context("the run was not started")?;
        Ok(format!("runs/{id}{more}"))
    }

    /// Gives back what was asked for, or nothing while there is hope that it can be asked for again.
    fn or_later<T>(&mut self, asked: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match asked {
            Err(failure) if failure.exit == Exit::Unreachable => {
                if self.away.is_none() {
                    output::say(&format!("{:#}; trying again for {} s", failure.error, PATIENCE.as_secs()));
                }
                let since = *self.away.get_or_insert_with(Instant::now);
                if since.elapsed() < PATIENCE { Ok(None) } else { Err(failure) }
            }
            asked => {
                if self.away.take().is_some() {
                    output::say("the coordinator is back");
                }
                asked.map(Some)
            }
        }
    }

    async fn look(&self, up_to: Duration) -> Result<RunDocument, Failure> {
        let path = self.path(&format!("?wait={}ms", up_to.as_millis()))?;
        let answer = self.rest.send(self.rest.request(Method::GET, &path), up_to + ANSWER).await?;
        self.rest.read(answer, None).await
    }

    async fn ask_to_stop(&self) -> Result<(), Failure> {
        let request = self.rest.request(Method::POST, &self.path("/stop")?);
        let answer = self.rest.send(request, ANSWER).await?;
        if answer.status() == StatusCode::CONFLICT {
            // It was over before.
            return Ok(());
        }
        self.rest.read(answer, None).await.map(|serde::de::IgnoredAny| ())
    }
}

impl Session for Remote {
    async fn start(&mut self) -> Result<(), Failure> {
        let json = self.file.extension().is_some_and(|extension| extension == "json");
        let kind = if json { "application/json" } else { "application/yaml" };
        let request =
            self.rest.request(Method::POST, "runs").header("content-type", kind).body(self.plan.clone());
        let answer = self.rest.send(request, ANSWER).await?;
        let Started { id } = self.rest.read(answer, Some(&self.file)).await?;
        output::say(&format!("run {id}: {}", self.rest.page(&format!("runs/{id}"))));
        self.id = Some(id);
        Ok(())
    }

    async fn wait(&mut self, up_to: Duration) -> Result<RunDocument, Failure> {
        loop {
            let looked = self.look(up_to).await;
            if let Some(document) = self.or_later(looked)? {
                return Ok(document);
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn stop(&mut self) -> Result<(), Failure> {
        loop {
            let asked = self.ask_to_stop().await;
            if self.or_later(asked)?.is_some() {
                return Ok(());
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn reports(&mut self, forms: &[Form]) -> Result<Vec<(Form, String)>, Failure> {
        let id = self.id.clone().context("the run was not started")?;
        let mut reports = Vec::new();
        for form in forms {
            reports.push((*form, report::fetch(&self.rest, &id, *form).await?));
        }
        Ok(reports)
    }

    fn is_local(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
