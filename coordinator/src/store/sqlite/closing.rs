//! Closes a run that nobody can go on with: what had been stored of it is told, and that it is not all.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::Connection;
use volley_plan::link::{Incarnation, RunId};

use super::codec::CodecError;
use super::jobs::{Update, Written};
use super::open_runs::OpenRuns;
use super::read::{self, ReadError};
use super::shared::Shared;
use super::writer::Job;
use super::{Grain, StoreError, merge};
use crate::document::{AgentRemains, RunDocument, RunSummary};
use crate::store::closing::{Agents, Closing};

/// Closes a run.
pub(super) struct Close {
    pub(super) run: RunId,
}

impl Job for Close {
    /// The run's key, and what is told of it.
    type Answer = (i64, Arc<RunSummary>);

    fn is_apart(&self) -> bool {
        true
    }

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<Self::Answer, StoreError> {
        // Known here alone, so that nothing of it is believed if this transaction is undone.
        let mut runs = OpenRuns::new(Arc::new(Shared::default()));
        let run = &self.run;
        let key = runs.get(db, run)?.key;
        merge::merge(db, &mut runs, run, merge::Complete::All)?;
        merge::merged(&mut runs, run, merge::Complete::All);
        let document = told(db, &mut runs, run, key).map_err(|error| error.of(run))?;
        let document = document.ok_or_else(|| StoreError::NotFound(run.clone()))?;
        // All is merged by now, so this only writes the document.
        Update(Written::of(&document)?).execute(db, &mut runs)?;
        Ok((key, Arc::new(RunSummary::from(&document))))
    }

    fn committed(self, (key, summary): &Self::Answer, runs: &mut OpenRuns) {
        runs.close(&self.run);
        runs.shared.index().insert(*key, summary.clone());
        runs.touched.insert(*key);
    }
}

fn told(
    db: &Connection,
    runs: &mut OpenRuns,
    run: &RunId,
    key: i64,
) -> Result<Option<RunDocument>, ReadError> {
    let Some(document) = read::document(db, key)? else { return Ok(None) };
    let mut closing = Closing::new(document, agents(db, key)?);
    let measured_from_s = closing.measured_from_s();
    add_health(db, key, &mut closing)?;
    closing.add_orders(read::orders(db, key)?);
    let spans = read::spans(db, key, Grain::Second, measured_from_s, u32::MAX)?;
    let Some(open) = runs.known(run) else { return Ok(None) };
    let told = closing.told(&open.series.lock(), &spans).map_err(CodecError::from)?;
    Ok(Some(told))
}

fn agents(db: &Connection, run: i64) -> rusqlite::Result<Agents> {
    let text = "SELECT incarnation, granted, iterations, started, ok + failed FROM agents WHERE run = ?";
    let mut statement = db.prepare(text)?;
    let agents = statement.query_map([run], |row| {
        let count = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        let remains = AgentRemains {
            granted: count(1)?,
            iterations: count(2)?,
            started: count(3)?,
            completed: count(4)?,
            ..AgentRemains::default()
        };
        Ok((Incarnation(count(0)?), remains))
    })?;
    agents.collect()
}

/// Sums up how the agents were in the measured part.
fn add_health(db: &Connection, run: i64, closing: &mut Closing) -> Result<(), ReadError> {
    let (from_s, has_due_times) = (closing.measured_from_s(), closing.has_due_times());
    let begun = seconds_begun_in(db, run, from_s)?;
    for (key, health) in read::health(db, run, from_s, usize::MAX)?.reports {
        let iterations = u64::from(begun.contains(&key));
        closing.agents.entry(key.1).or_default().health.add(&health, has_due_times, iterations);
    }
    Ok(())
}

/// The seconds in which an agent took up or missed iterations of either part.
fn seconds_begun_in(
    db: &Connection,
    run: i64,
    from_s: u32,
) -> rusqlite::Result<BTreeSet<(u32, Incarnation)>> {
    let text = "SELECT second, incarnation FROM agent_seconds WHERE run = ? AND second >= ?
                AND (started <> 0 OR missed <> 0 OR warmup_started <> 0 OR warmup_missed <> 0)";
    let mut statement = db.prepare(text)?;
    let seconds = statement.query_map([run, from_s.into()], |row| {
        Ok((row.get(0)?, Incarnation(row.get::<_, i64>(1)?.cast_unsigned())))
    })?;
    seconds.collect()
}
