//! Merging: what a run's messages said goes into its rows, spans and totals, and the messages go, in one transaction.
//!
//! The merged results in memory hold everything, so they are written over what is there. All messages are merged at
//! once, those of incomplete seconds too, whose rows are then written again: that keeps the rule that a window is in one
//! place only.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use volley_plan::link::{Incarnation, RunId};
use volley_stats::{AddressCounts, Addresses, Health, Iterations, RowKey, Second, Series};

use super::codec::{self, FORM};
use super::open_runs::{OpenRun, OpenRuns, Unmerged};
use super::read::{self, ReadError, part_number};
use super::{minutes, sql};
use crate::store::sequences::Sequences;
use crate::store::{Grain, StoreError, Strain};

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
        let body = if read::is_told_by_rows(series.keys_in(second)) {
            None
        } else {
            let merged = series.second(second).map_err(|error| damaged(error.into()))?;
            Some(codec::encode_row(&merged.row.seal()))
        };
        let strain = open.unmerged.strains.get(&second).copied().unwrap_or_default();
        let span = SpanHead { grain: Grain::Second, from_s: second, scalars: series.scalars(second), strain };
        sql(write_span(db, open.key, &span, body.as_deref()))?;
    }
    write_health(db, open).map_err(|error| error.of(run))?;
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
    seconds.extend(unmerged.strains.keys());
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
    if unmerged.has_addresses {
        write_addresses(db, open.key, series.addresses())?;
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

/// Writes the sums in place of those that are there: whoever has an address once keeps it.
fn write_addresses(db: &Connection, run: i64, addresses: &Addresses) -> rusqlite::Result<()> {
    let text = "INSERT OR REPLACE INTO addresses (run, address, connections, failures, requests)
                VALUES (?, ?, ?, ?, ?)";
    let mut statement = db.prepare_cached(text)?;
    for (address, counts) in addresses.iter() {
        let AddressCounts { connections, failures, requests } = *counts;
        let [connections, failures, requests] = [connections, failures, requests].map(u64::cast_signed);
        statement.execute(params![run, address, connections, failures, requests])?;
    }
    Ok(())
}

/// Minutes that may have been put together before what is merged now came.
fn touched_minutes(unmerged: &Unmerged) -> impl Iterator<Item = u32> + use<> {
    let of_rows = unmerged.rows.iter().map(|key| Grain::Minute.begin(key.from_s));
    let seconds = unmerged.seconds.iter().chain(unmerged.strains.keys());
    let of_seconds = seconds.map(|second| Grain::Minute.begin(*second));
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
    write_agent_seconds(db, open)
}

fn write_agent_seconds(db: &Connection, open: &OpenRun) -> rusqlite::Result<()> {
    let text = "INSERT INTO agent_seconds (run, second, incarnation, started, finished, missed, warmup_started,
                warmup_finished, warmup_missed, users, in_flight, connections) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET started = started + excluded.started,
                finished = finished + excluded.finished, missed = missed + excluded.missed,
                warmup_started = warmup_started + excluded.warmup_started,
                warmup_finished = warmup_finished + excluded.warmup_finished,
                warmup_missed = warmup_missed + excluded.warmup_missed, users = users + excluded.users,
                in_flight = in_flight + excluded.in_flight, connections = connections + excluded.connections";
    let mut statement = db.prepare_cached(text)?;
    for ((second, Incarnation(incarnation)), scalars) in &open.unmerged.agent_seconds {
        let [a, b, c, d, e, f] = counts(scalars);
        let incarnation = incarnation.cast_signed();
        let Second { users, in_flight, connections, .. } = scalars;
        statement.execute(params![
            open.key,
            second,
            incarnation,
            a,
            b,
            c,
            d,
            e,
            f,
            users,
            in_flight,
            connections
        ])?;
    }
    Ok(())
}

/// The columns `started, finished, missed` of the measured part, and those of the warm-up.
fn counts(scalars: &Second) -> [i64; 6] {
    let Second { iterations, warmup, .. } = scalars;
    let of = |part: &Iterations| [part.started, part.finished, part.missed].map(u64::cast_signed);
    let ([a, b, c], [d, e, f]) = (of(iterations), of(warmup));
    [a, b, c, d, e, f]
}

/// Adds to what is there of an agent's second: mostly nothing.
fn write_health(db: &Connection, open: &OpenRun) -> Result<(), ReadError> {
    let text = "INSERT INTO agent_health (run, second, incarnation, form, body) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING";
    let mut add = db.prepare_cached(text)?;
    for ((second, Incarnation(incarnation)), health) in &open.unmerged.health {
        let incarnation = incarnation.cast_signed();
        let body = codec::encode_health(health);
        if add.execute(params![open.key, second, incarnation, FORM, body])? == 0 {
            add_health(db, (open.key, *second, incarnation), health)?;
        }
    }
    Ok(())
}

fn add_health(db: &Connection, key: (i64, u32, i64), more: &Health) -> Result<(), ReadError> {
    let text = "SELECT form, body FROM agent_health WHERE run = ? AND second = ? AND incarnation = ?";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?));
    let (form, body) = db.prepare_cached(text)?.query_row(key, read)?;
    let mut sum = codec::decode_health(form, &body)?;
    sum.merge(more);
    let text =
        "UPDATE agent_health SET form = ?4, body = ?5 WHERE run = ?1 AND second = ?2 AND incarnation = ?3";
    let values = params![key.0, key.1, key.2, FORM, codec::encode_health(&sum)];
    db.prepare_cached(text)?.execute(values)?;
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

/// What a span has beside its results.
pub(super) struct SpanHead {
    pub(super) grain: Grain,
    pub(super) from_s: u32,
    pub(super) scalars: Second,
    pub(super) strain: Strain,
}

/// Writes a span in place of the one that is there, but for its strain, which is the most that was told.
pub(super) fn write_span(
    db: &Connection,
    run: i64,
    span: &SpanHead,
    body: Option<&[u8]>,
) -> rusqlite::Result<()> {
    let text =
        "INSERT INTO spans (run, scale, from_s, started, finished, missed, warmup_started, warmup_finished,
                warmup_missed, users, in_flight, connections, busiest, stolen, form, body)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                started = excluded.started, finished = excluded.finished, missed = excluded.missed,
                warmup_started = excluded.warmup_started, warmup_finished = excluded.warmup_finished,
                warmup_missed = excluded.warmup_missed, users = excluded.users,
                in_flight = excluded.in_flight, connections = excluded.connections,
                busiest = coalesce(max(busiest, excluded.busiest), busiest, excluded.busiest),
                stolen = coalesce(max(stolen, excluded.stolen), stolen, excluded.stolen),
                form = excluded.form, body = excluded.body";
    let SpanHead { grain, from_s, scalars, strain } = span;
    let [a, b, c, d, e, f] = counts(scalars);
    let Second { users, in_flight, connections, .. } = scalars;
    let [busiest, stolen] = strain.thousandths();
    let values = params![
        run,
        grain.seconds(),
        from_s,
        a,
        b,
        c,
        d,
        e,
        f,
        users,
        in_flight,
        connections,
        busiest,
        stolen,
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
