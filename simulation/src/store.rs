//! What a coordinator keeps, and finds again when it is started anew.

use std::collections::BTreeMap;

use volley_lifecycle::{AgentRecord, RunRecord};
use volley_plan::link::{Incarnation, Order, WindowFacts};
use volley_stats::SealedWindow;

use crate::totals::Totals;

/// Nothing can be kept any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreBroken;

/// A window as it was kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptWindow {
    pub(crate) window: SealedWindow,
    /// It came after the run's end.
    pub(crate) late: bool,
}

/// All that is kept of one agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptAgent {
    pub(crate) record: Option<AgentRecord>,
    pub(crate) facts: WindowFacts,
    /// By their numbers, from 1 without gaps.
    pub(crate) windows: Vec<KeptWindow>,
    pub(crate) orders: Vec<(u64, Order)>,
}

/// The store of one run. Each operation is a transaction.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) run: Option<RunRecord>,
    pub(crate) agents: BTreeMap<Incarnation, KeptAgent>,
    /// The run is over for good.
    pub(crate) is_closed: bool,
    pub(crate) is_broken: bool,
}

impl Store {
    /// Keeps the run, and the orders that follow from one event with the records of those that they are for.
    pub(crate) fn save(
        &mut self,
        run: RunRecord,
        records: Vec<(Incarnation, AgentRecord)>,
        orders: Vec<(Incarnation, u64, Order)>,
    ) -> Result<(), StoreBroken> {
        if self.is_broken {
            return Err(StoreBroken);
        }
        self.run = Some(run);
        for (agent, record) in records {
            self.agents.entry(agent).or_default().record = Some(record);
        }
        for (agent, number, order) in orders {
            let known = &mut self.agents.entry(agent).or_default().orders;
            if !known.iter().any(|(other, _)| *other == number) {
                known.push((number, order));
            }
        }
        Ok(())
    }

    /// Keeps a window, and with it the sum of what its agent has reported. Says what is wrong if it isn't the next one.
    pub(crate) fn keep(
        &mut self,
        agent: Incarnation,
        facts: WindowFacts,
        sequence: u64,
        window: KeptWindow,
    ) -> Result<Result<(), String>, StoreBroken> {
        if self.is_broken {
            return Err(StoreBroken);
        }
        let kept = self.agents.entry(agent).or_default();
        let next = kept.windows.len() as u64 + 1;
        if sequence != next {
            return Ok(Err(format!("window {sequence} of {agent} is kept where {next} is the next")));
        }
        kept.facts = facts;
        kept.windows.push(window);
        Ok(Ok(()))
    }

    pub(crate) fn close(&mut self, run: RunRecord) {
        if !self.is_broken {
            (self.run, self.is_closed) = (Some(run), true);
        }
    }

    /// What was kept of an agent, late or not.
    pub(crate) fn totals(&self, agent: Incarnation, with_late: bool) -> Totals {
        let windows = self.agents.get(&agent).map_or(&[][..], |kept| &kept.windows);
        let mut totals = Totals::default();
        windows.iter().filter(|kept| with_late || !kept.late).for_each(|kept| totals.add(&kept.window));
        totals
    }
}
