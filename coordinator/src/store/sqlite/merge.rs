//! Merging: what a run's messages said goes into its rows, spans and totals, and the messages go, in one transaction.
//!
//! The merged results in memory hold everything, so they are written over what is there. All messages are merged at
//! once, those of incomplete seconds too, whose rows are then written again: that keeps the rule that a window is in one
//! place only.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use volley_plan::link::{Incarnation, RunId};
use volley_stats::{RowKey, Second, Series};

use super::codec::{self, FORM};
use super::open_runs::{OpenRun, OpenRuns, Unmerged};
use super::read::part_number;
use super::{minutes, sql};
use crate::store::sequences::Sequences;
use crate::store::{Grain, StoreError};

/// The seconds of a run that nothing more is expected of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Complete {
    /// Those before this one.
    Below(u32),
    /// All: it is over.
    All,
}

impl Complete {
    fn below_s(self, series: &Series) -> u32 {
        match self {
            Self::Below(second) => second,
            Self::All => series.end_s(),
        }
    }
}

/// Merges all there is. Nothing changes in memory before it is committed; then [`merged`] is to be called.
pub(super) fn merge(
    db: &Connection,
    runs: &mut OpenRuns,
    run: &RunId,
    complete: Complete,
) -> Result<(), StoreError> {
    let open = runs.get(db, run)?;
    let series = open.series.lock();
    for second in touched_seconds(&open.unmerged) {
        let damaged = |source| StoreError::Damaged { run: run.clone(), source };
        let body = if series.rows_in(second) > 1 {
            let merged = series.second(second).map_err(|error| damaged(error.into()))?;
            Some(codec::encode_row(&merged.row.seal()))
        } else {
            None
        };
        sql(write_span(db, open.key, Grain::Second, second, &series.scalars(second), body.as_deref()))?;
    }
    sql(write(db, open, &series))?;
    let complete_s = complete.below_s(&series);
    // Minutes that were taken away are to be put together again, even if the run is over.
    let text = "UPDATE runs SET complete_s = max(complete_s, ?2), rolled = rolled AND (?3 OR thinned) WHERE key = ?1";
    let values = params![open.key, complete_s, open.unmerged.messages.is_empty()];
    sql(db.prepare_cached(text).and_then(|mut statement| statement.execute(values)))?;
    Ok(())
}

fn touched_seconds(unmerged: &Unmerged) -> impl Iterator<Item = u32> + use<> {
    let of_rows = unmerged.rows.iter().filter(|key| key.to_s == key.from_s + 1).map(|key| key.from_s);
    let mut seconds = unmerged.seconds.clone();
    seconds.extend(of_rows);
    seconds.into_iter()
}

fn write(db: &Connection, open: &OpenRun, series: &Series) -> rusqlite::Result<()> {
    let unmerged = &open.unmerged;
    for key in &unmerged.rows {
        if let Some(row) = series.row(key) {
            write_row(db, open.key, Grain::Second, *key, &codec::encode_row(&row))?;
        }
    }
    let text = "INSERT OR REPLACE INTO totals (run, part, step, form, body) VALUES (?, ?, ?, ?, ?)";
    let mut statement = db.prepare_cached(text)?;
    let touched = |(part, step, _): &(_, _, _)| unmerged.totals.contains(&(*part, *step));
    for (part, step, total) in series.totals_by_part().filter(touched) {
        statement.execute(params![open.key, part_number(part), step, FORM, codec::encode_total(total)])?;
    }
    write_agents(db, open)?;
    for minute in touched_minutes(unmerged) {
        minutes::undo(db, open.key, minute)?;
    }
    let mut statement = db.prepare_cached("DELETE FROM messages WHERE key = ?")?;
    for message in &unmerged.messages {
        statement.execute([message])?;
    }
    Ok(())
}

/// Minutes that may have been put together before what is merged now came.
fn touched_minutes(unmerged: &Unmerged) -> impl Iterator<Item = u32> + use<> {
    let of_rows = unmerged.rows.iter().map(|key| Grain::Minute.begin(key.from_s));
    let of_seconds = unmerged.seconds.iter().map(|second| Grain::Minute.begin(*second));
    of_rows.chain(of_seconds).collect::<BTreeSet<_>>().into_iter()
}

fn write_agents(db: &Connection, open: &OpenRun) -> rusqlite::Result<()> {
    let text = "INSERT INTO agents (run, incarnation, all_up_to, beyond, iterations, started, ok, failed, cancelled)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET all_up_to = excluded.all_up_to,
                beyond = excluded.beyond, iterations = iterations + excluded.iterations, started = started + excluded.started, ok = ok + excluded.ok,
                failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled";
    let mut statement = db.prepare_cached(text)?;
    for (agent, reported) in &open.unmerged.agents {
        let (all_up_to, beyond) = open.sequences.get(agent).map(Sequences::to_parts).unwrap_or_default();
        let (incarnation, all_up_to) = (agent.0.cast_signed(), all_up_to.cast_signed());
        let counts =
            [reported.iterations, reported.started, reported.ok, reported.failed, reported.cancelled];
        let [iterations, started, ok, failed, cancelled] = counts.map(u64::cast_signed);
        statement.execute(params![
            open.key,
            incarnation,
            all_up_to,
            beyond,
            iterations,
            started,
            ok,
            failed,
            cancelled
        ])?;
    }
    let text =
        "INSERT INTO agent_seconds (run, second, incarnation, started, finished, missed, users, in_flight,
                connections) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                started = started + excluded.started, finished = finished + excluded.finished,
                missed = missed + excluded.missed, users = users + excluded.users,
                in_flight = in_flight + excluded.in_flight, connections = connections + excluded.connections";
    let mut statement = db.prepare_cached(text)?;
    for ((second, Incarnation(incarnation)), scalars) in &open.unmerged.agent_seconds {
        let Second { iterations, users, in_flight, connections } = scalars;
        let [started, finished, missed] =
            [iterations.started, iterations.finished, iterations.missed].map(u64::cast_signed);
        let incarnation = incarnation.cast_signed();
        statement.execute(params![
            open.key,
            second,
            incarnation,
            started,
            finished,
            missed,
            users,
            in_flight,
            connections
        ])?;
    }
    Ok(())
}

/// Writes a row in place of what is there of its key.
pub(super) fn write_row(
    db: &Connection,
    run: i64,
    grain: Grain,
    key: RowKey,
    body: &[u8],
) -> rusqlite::Result<()> {
    let text =
        "INSERT INTO rows (run, scale, from_s, to_s, step, part, form, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET form = excluded.form, body = excluded.body";
    let RowKey { from_s, to_s, step, part } = key;
    let values = params![run, grain.seconds(), from_s, to_s, step, part_number(part), FORM, body];
    db.prepare_cached(text)?.execute(values)?;
    Ok(())
}

/// Writes a span in place of the one that is there.
pub(super) fn write_span(
    db: &Connection,
    run: i64,
    grain: Grain,
    from_s: u32,
    scalars: &Second,
    body: Option<&[u8]>,
) -> rusqlite::Result<()> {
    let text = "INSERT INTO spans (run, scale, from_s, started, finished, missed, users, in_flight, connections, form,
                body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET started = excluded.started,
                finished = excluded.finished, missed = excluded.missed, users = excluded.users,
                in_flight = excluded.in_flight, connections = excluded.connections, form = excluded.form,
                body = excluded.body";
    let Second { iterations, users, in_flight, connections } = scalars;
    let [started, finished, missed] =
        [iterations.started, iterations.finished, iterations.missed].map(u64::cast_signed);
    let values = params![
        run,
        grain.seconds(),
        from_s,
        started,
        finished,
        missed,
        users,
        in_flight,
        connections,
        FORM,
        body
    ];
    db.prepare_cached(text)?.execute(values)?;
    Ok(())
}

/// Takes note that everything was merged.
pub(super) fn merged(runs: &mut OpenRuns, run: &RunId, complete: Complete) {
    let Some(open) = runs.known(run) else { return };
    let unmerged = std::mem::take(&mut open.unmerged);
    let key = open.key;
    let complete_s = complete.below_s(&open.series.lock());
    open.complete_s = open.complete_s.max(complete_s);
    open.let_go(touched_seconds(&unmerged));
    runs.undone.extend(touched_minutes(&unmerged).map(|minute| (key, minute)));
    runs.touched.insert(key);
}
