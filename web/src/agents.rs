//! The agents page: the fleet, and the command that adds to it.

use askama::Template;

use crate::format::{Format, count, maybe};

/// `/agents`.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "agents.html")]
pub struct AgentsPage {
    /// The agents known to the coordinator.
    pub agents: Vec<Agent>,
    /// The exact command that adds one.
    pub add_agent_command: String,
}

impl AgentsPage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        Template::render(self)
    }

    fn well(&self) -> usize {
        self.agents.iter().filter(|agent| agent.ok).count()
    }
}

/// One agent of the fleet.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// Its name, literal.
    pub name: String,
    /// Its state, in a word.
    pub state: String,
    /// It is well: connected, and heard of lately.
    pub ok: bool,
    /// Its version of Volley.
    pub version: String,
    /// Worker threads.
    pub cores: u64,
    /// The run that it takes part in.
    pub run: Option<RunLink>,
    /// Seconds since it was last heard.
    pub last_seen_s: Option<f64>,
    /// Best round trip of the last several pings.
    pub round_trip_ms: Option<f64>,
}

impl Agent {
    fn cores(&self) -> String {
        count(self.cores)
    }

    fn last_seen(&self) -> String {
        maybe(Format::Ago, self.last_seen_s)
    }

    fn round_trip(&self) -> String {
        maybe(Format::Ms, self.round_trip_ms)
    }
}

/// A run by id and plan name.
#[derive(Clone, Debug, Default)]
pub struct RunLink {
    /// The run's id, as in its address.
    pub id: String,
    /// The plan's name, literal.
    pub name: String,
}
