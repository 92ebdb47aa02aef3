//! Closes the runs that were going on when the last process ended: what had been stored of them is told, and that it is
//! not all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use volley_plan::link::{Incarnation, Order, RunId};
use volley_stats::{ErrorKind, SECOND_NS, TotalRow};

use super::codec::CodecError;
use super::jobs::{Update, Written};
use super::open_runs::OpenRuns;
use super::read::{self, ReadError};
use super::shared::Shared;
use super::writer::Job as _;
use super::{Grain, StoreError, merge, sql};
use crate::document::{AgentRemains, Remains, RunDocument, closed};
use crate::store::SavedOrder;

/// The span of the short-term figures, in seconds.
const RECENT_S: u32 = 5;

/// Closes them one by one, each in a transaction of its own. One that is damaged stays as it is, and is said.
pub(super) fn close_unfinished(db: &mut Connection) -> Result<(), StoreError> {
    let unfinished: Vec<String> = sql(unfinished(db))?;
    for run in unfinished.iter().filter_map(|name| RunId::new(name)) {
        let transaction = sql(db.transaction_with_behavior(TransactionBehavior::Immediate))?;
        match close(&transaction, &run) {
            Ok(()) => {
                sql(transaction.commit())?;
                tracing::warn!(%run, "a run that the last coordinator left unfinished is closed");
            }
            Err(StoreError::Failed(reason)) => return Err(StoreError::Failed(reason)),
            Err(error) => tracing::error!(%run, %error, "an unfinished run cannot be closed"),
        }
    }
    Ok(())
}

fn unfinished(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare("SELECT id FROM runs WHERE NOT over AND NOT removed")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

fn close(db: &Connection, run: &RunId) -> Result<(), StoreError> {
    let mut runs = OpenRuns::new(Arc::new(Shared::default()));
    let key = runs.get(db, run)?.key;
    let of_run = |error: ReadError| error.of(run);
    let document =
        read::document(db, key).map_err(of_run)?.ok_or_else(|| StoreError::NotFound(run.clone()))?;
    merge::merge(db, &mut runs, run, merge::Complete::All)?;
    // If this transaction is undone, so is what is known of the run here.
    merge::merged(&mut runs, run, merge::Complete::All);
    let document = told(db, &mut runs, run, key, document).map_err(of_run)?;
    // All is merged by now, so this only writes the document. Nothing of it stays in memory.
    Update(Written::of(&document)?).execute(db, &mut runs).map(drop)
}

fn told(
    db: &Connection,
    runs: &mut OpenRuns,
    run: &RunId,
    key: i64,
    document: RunDocument,
) -> Result<RunDocument, ReadError> {
    let plan = volley_plan::parse(&document.plan).ok();
    let warmup_ns = plan.as_ref().map_or(0, |plan| plan.load.warmup_ns());
    let measured_from_s = u32::try_from(warmup_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX);
    let mut agents = agents(db, key)?;
    // Without a plan nothing is said that only some plans bear out.
    let has_due_times = plan.as_ref().is_none_or(|plan| plan.load.has_due_times());
    add_health(db, key, measured_from_s, has_due_times, &mut agents)?;
    let seed = add_shares(db, key, &mut agents)?;
    let seen = seen(db, key, measured_from_s)?;
    let Some(open) = runs.known(run) else { return Ok(document) };
    let series = open.series.lock();
    let to_s = series.end_s();
    let from_s = to_s.saturating_sub(RECENT_S).max(measured_from_s.min(to_s));
    let mut recent = TotalRow::default();
    for span in read::spans(db, key, Grain::Second, from_s, to_s)? {
        recent.merge(&span.row.open::<u32>().map_err(CodecError::from)?);
    }
    let recent = (from_s, to_s, recent);
    let plan = plan.as_ref();
    let remains = Remains { plan, seed, series: &series, seen: &seen, recent, agents: &agents };
    Ok(closed(document, &remains))
}

/// First and last second of each error kind.
fn seen(db: &Connection, run: i64, from_s: u32) -> Result<BTreeMap<ErrorKind, (u32, u32)>, ReadError> {
    let mut seen = BTreeMap::new();
    for span in read::spans(db, run, Grain::Second, from_s, u32::MAX)? {
        for (kind, _) in span.row.counters.errors.iter() {
            seen.entry(kind).or_insert((span.from_s, span.from_s)).1 = span.from_s;
        }
    }
    Ok(seen)
}

type Agents = BTreeMap<Incarnation, AgentRemains>;

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
fn add_health(
    db: &Connection,
    run: i64,
    from_s: u32,
    has_due_times: bool,
    agents: &mut Agents,
) -> Result<(), ReadError> {
    let begun = seconds_begun_in(db, run, from_s)?;
    for (key, health) in read::health(db, run, from_s, usize::MAX)?.reports {
        let iterations = u64::from(begun.contains(&key));
        agents.entry(key.1).or_default().health.add(&health, has_due_times, iterations);
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

/// What the orders say of the agents' users, and of the run's seed.
fn add_shares(db: &Connection, run: i64, agents: &mut Agents) -> Result<u64, ReadError> {
    let mut found = 0;
    for SavedOrder { agent, order, .. } in read::orders(db, run)? {
        if let Order::Prepare { share, seed, .. } = order {
            found = seed;
            agents.entry(agent).or_default().users = share.users();
        }
    }
    Ok(found)
}
