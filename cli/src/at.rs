//! The coordinator that commands ask something of, over REST.

use std::future::Future;

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::Builder;

use crate::access::TokenOptions;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::rest::Rest;

/// The coordinator where none is named.
const HERE: &str = "http://127.0.0.1:7070";

/// Which coordinator, and what it is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Coordinator")]
pub(crate) struct At {
    /// The coordinator
    #[arg(long, value_name = "URL", env = "VOLLEY_COORDINATOR", hide_env_values = true, default_value = HERE, global = true)]
    coordinator: String,
    #[command(flatten)]
    token: TokenOptions,
}

/// What was said, and how the command ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) exit: Exit,
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self { text, exit: Exit::Passed }
    }
}

impl At {
    /// A client of it.
    fn rest(&self) -> Result<Rest, Failure> {
        // An empty variable is what scripts have that set it for none.
        let coordinator = if self.coordinator.is_empty() { HERE } else { &self.coordinator };
        Rest::new(coordinator, self.token.token()?.as_ref())
    }

    /// Asks it, and prints what came of that.
    pub(crate) fn ask<A: Future<Output = Result<Said, Failure>>>(
        &self,
        ask: impl FnOnce(Rest) -> A,
    ) -> Result<Exit, Failure> {
        let Said { text, exit } = self.talk(ask)?;
        output::print(&text)?;
        Ok(exit)
    }

    /// Asks it, and gives what it said.
    pub(crate) fn talk<T, A: Future<Output = Result<T, Failure>>>(
        &self,
        ask: impl FnOnce(Rest) -> A,
    ) -> Result<T, Failure> {
        let rest = self.rest()?;
        let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
        runtime.block_on(ask(rest))
    }
}
