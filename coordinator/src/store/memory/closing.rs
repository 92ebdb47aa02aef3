//! Closes a run in memory.

use volley_stats::DecodeError;

use super::{KeptAgent, KeptRun};
use crate::document::{AgentRemains, RunDocument};
use crate::store::closing::Closing;
use crate::store::{Grain, span};

/// The document of a run that nobody goes on with.
pub(super) fn closed(run: &KeptRun) -> Result<RunDocument, DecodeError> {
    let agents = run.agents.iter().map(|(agent, kept)| (*agent, remains(kept))).collect();
    let mut closing = Closing::new(run.document.clone(), agents);
    closing.add_orders(run.orders.all());
    let series = run.series.lock();
    let from_s = closing.measured_from_s();
    let spans = span::of_series(&series, &run.strains, Grain::Second, from_s, u32::MAX)?;
    closing.told(&series, &spans)
}

fn remains(agent: &KeptAgent) -> AgentRemains {
    let facts = &agent.facts;
    AgentRemains {
        granted: agent.granted,
        users: 0,
        iterations: facts.iterations.started,
        started: facts.started,
        completed: facts.ok.saturating_add(facts.failed),
        health: facts.health,
    }
}
