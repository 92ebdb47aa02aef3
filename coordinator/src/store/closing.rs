//! Closes a run that nobody can go on with, from what a store has of it. Pure; what it is told from, each store reads in
//! its own way.

use std::collections::BTreeMap;

use volley_plan::link::{Incarnation, Order};
use volley_plan::{Load, Model, Plan};
use volley_stats::{DecodeError, SECOND_NS, Series, TotalRow};

use super::{SavedOrder, Span, errors_seen};
use crate::document::{AgentRemains, Remains, RunDocument, closed};

/// The span of the short-term figures, in seconds.
const RECENT_S: u32 = 5;

/// What is left of a run's agents.
pub(super) type Agents = BTreeMap<Incarnation, AgentRemains>;

/// A run that is to be closed.
pub(super) struct Closing {
    document: RunDocument,
    /// `None` where it cannot be read.
    plan: Option<Plan>,
    /// As it was adjusted.
    load: Option<Load>,
    seed: u64,
    pub(super) agents: Agents,
}

impl Closing {
    /// A run by its document, and what is left of its agents.
    pub(super) fn new(document: RunDocument, agents: Agents) -> Self {
        let (plan, load) = (volley_plan::parse(&document.plan).ok(), document.load());
        Self { document, plan, load, seed: 0, agents }
    }

    /// The first second that is measured as a whole.
    pub(super) fn measured_from_s(&self) -> u32 {
        let warmup_ns = self.load.as_ref().map_or(0, Load::warmup_ns);
        u32::try_from(warmup_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
    }

    /// Whether the load has due times. Without a plan nothing is said that only some plans bear out.
    pub(super) fn has_due_times(&self) -> bool {
        self.load.as_ref().is_none_or(Load::has_due_times)
    }

    /// What the orders say of the agents' users, and of the run's seed.
    pub(super) fn add_orders(&mut self, orders: Vec<SavedOrder>) {
        for SavedOrder { agent, order, .. } in orders {
            if let Order::Prepare { share, seed, .. } = order {
                self.seed = seed;
                let users = match self.load.as_ref().map(|load| &load.model) {
                    Some(Model::Closed(load)) => share.users(load),
                    Some(Model::Open(_)) | None => 0,
                };
                self.agents.entry(agent).or_default().users = users;
            }
        }
    }

    /// The document of the closed run. `spans` are the measured seconds of which anything is known.
    ///
    /// # Errors
    /// [`DecodeError`] if the latest of them cannot be read.
    pub(super) fn told(self, series: &Series, spans: &[Span]) -> Result<RunDocument, DecodeError> {
        let measured_from_s = self.measured_from_s();
        let to_s = series.end_s();
        let from_s = to_s.saturating_sub(RECENT_S).max(measured_from_s.min(to_s));
        let mut recent = TotalRow::default();
        for span in spans.iter().filter(|span| (from_s..to_s).contains(&span.from_s)) {
            recent.merge(&span.row.open::<u32>()?);
        }
        let seen = errors_seen(spans.iter());
        let remains = Remains {
            plan: self.plan.as_ref(),
            load: self.load.as_ref(),
            seed: self.seed,
            series,
            seen: &seen,
            recent: (from_s, to_s, recent),
            agents: &self.agents,
        };
        Ok(closed(self.document, &remains))
    }
}
