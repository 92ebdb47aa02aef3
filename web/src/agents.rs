//! The agents page: the fleet, how each agent is, who drains, and the command that adds to it.

use askama::Template;

use crate::format::{Format, count, maybe};

/// `/agents`. Its buttons post (urlencoded) `drain`, `true` or `false`, to `/agents/{id}/drain`.
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

    /// Columns in which nobody has anything are left out.
    fn any(&self, has: fn(&Agent) -> bool) -> bool {
        self.agents.iter().any(has)
    }

    fn any_at_work(&self) -> bool {
        self.any(|agent| agent.cpu.is_some() || agent.lag_p99_ms.is_some() || agent.descriptors.is_some())
    }

    fn any_weight(&self) -> bool {
        self.any(|agent| agent.weight.is_some())
    }

    fn any_capacity(&self) -> bool {
        self.any(|agent| agent.capacity.is_some())
    }

    fn any_run(&self) -> bool {
        self.any(|agent| agent.run.is_some())
    }
}

/// One agent of the fleet. What only a run tells of it is absent while it has none.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// The process, as in its address.
    pub id: String,
    /// Its name, literal.
    pub name: String,
    /// Its state, in a word.
    pub state: String,
    /// It is well: connected, and heard of lately.
    pub ok: bool,
    /// It gets no further run, since somebody here wants that.
    pub draining: bool,
    /// It gets no further run, since it is about to end by itself.
    pub leaving: bool,
    /// It is not connected any more.
    pub gone: bool,
    /// Its version of Volley.
    pub version: String,
    /// Its labels in words ("zone=eu, disk=ssd"), literal; may be empty.
    pub labels: String,
    /// Worker threads.
    pub cores: u64,
    /// How much of a load it gets beside others, where it was told.
    pub weight: Option<u64>,
    /// Requests a second that it was measured to be capable of.
    pub capacity: Option<u64>,
    /// The run that it takes part in.
    pub run: Option<RunLink>,
    /// The part of that run's load that is its, 0 to 1.
    pub part: Option<f64>,
    /// How it differs from its peers in that run, in words; empty where it doesn't.
    pub outlier: String,
    /// CPU of its process in the latest second, in processors.
    pub cpu: Option<f64>,
    /// 99th percentile of how late it took iterations up, in the latest second.
    pub lag_p99_ms: Option<f64>,
    /// Descriptors that it has open.
    pub descriptors: Option<u64>,
    /// How many it may have open.
    pub descriptors_limit: Option<u64>,
    /// Local ports for connections to the target.
    pub local_ports: Option<u64>,
    /// By how much its clock has run fast since it joined.
    pub drift_ms: Option<f64>,
    /// Seconds since it was last heard.
    pub last_seen_s: Option<f64>,
    /// Best round trip of the last several pings.
    pub round_trip_ms: Option<f64>,
}

impl Agent {
    fn cores(&self) -> String {
        count(self.cores)
    }

    fn counted(&self, number: &Option<u64>) -> String {
        number.map_or_else(|| crate::format::NOTHING.to_owned(), count)
    }

    fn percent(&self, number: &Option<f64>) -> String {
        maybe(Format::Percent, *number)
    }

    fn ms(&self, number: &Option<f64>) -> String {
        maybe(Format::Ms, *number)
    }

    fn drift(&self) -> String {
        maybe(Format::Signed, self.drift_ms)
    }

    fn last_seen(&self) -> String {
        maybe(Format::Ago, self.last_seen_s)
    }

    /// `1,203 of 65,536`.
    fn files(&self) -> String {
        match (self.descriptors, self.descriptors_limit) {
            (Some(used), Some(limit)) => format!("{} of {}", count(used), count(limit)),
            _ => self.counted(&self.descriptors),
        }
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
