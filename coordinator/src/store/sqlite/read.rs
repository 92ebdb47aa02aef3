//! What is read: by the writer when it opens a run, and by everybody else over connections of their own.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, params};
use volley_plan::link::{Incarnation, RunId};
use volley_stats::{
    ALL_STEPS, AddressCounts, Addresses, Iterations, Part, RowKey, SealedRow, Second, Series, StepId,
};

use super::codec::{self, CodecError};
use super::marks::marks;
use super::minutes;
use crate::document::RunDocument;
use crate::store::sequences::Sequences;
use crate::store::{Grain, HealthBySecond, SavedOrder, Span, StoreError, Strain};

/// Most rows that a series has by the second; a longer one has minutes.
const MAX_SECOND_ROWS: i64 = 20_000;

/// Why something cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    Sql(rusqlite::Error),
    Codec(CodecError),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CodecError> for ReadError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}

impl ReadError {
    /// Says of which run.
    pub(super) fn of(self, run: &RunId) -> StoreError {
        match self {
            Self::Sql(error) => StoreError::Failed(error.to_string()),
            Self::Codec(error) => StoreError::Damaged { run: run.clone(), source: error.into() },
        }
    }
}

/// A stored message.
pub(super) struct Message {
    pub(super) key: i64,
    pub(super) agent: Incarnation,
    pub(super) sequence: u64,
    pub(super) late: bool,
    pub(super) form: i64,
    pub(super) body: Vec<u8>,
}

/// All messages of a run, as they came.
pub(super) fn messages(db: &Connection, run: i64) -> rusqlite::Result<Vec<Message>> {
    let text = "SELECT key, incarnation, sequence, late, form, body FROM messages WHERE run = ? ORDER BY key";
    let mut statement = db.prepare_cached(text)?;
    let messages = statement.query_map([run], |row| {
        Ok(Message {
            key: row.get(0)?,
            agent: incarnation(row.get(1)?),
            sequence: row.get::<_, i64>(2)?.cast_unsigned(),
            late: row.get(3)?,
            form: row.get(4)?,
            body: row.get(5)?,
        })
    })?;
    messages.collect()
}

fn incarnation(bits: i64) -> Incarnation {
    Incarnation(bits.cast_unsigned())
}

/// Which merged windows there are of each agent. Messages come on top.
pub(super) fn sequences(db: &Connection, run: i64) -> rusqlite::Result<BTreeMap<Incarnation, Sequences>> {
    let mut statement =
        db.prepare_cached("SELECT incarnation, all_up_to, beyond FROM agents WHERE run = ?")?;
    let agents = statement.query_map([run], |row| {
        let all_up_to = row.get::<_, i64>(1)?.cast_unsigned();
        Ok((incarnation(row.get(0)?), Sequences::from_parts(all_up_to, row.get_ref(2)?.as_blob()?)))
    })?;
    agents.collect()
}

/// The columns of a span that tell its scalars and its strain, as [`scalars`] and [`strain`] read them.
pub(super) const HEAD: &str =
    "started, finished, missed, warmup_started, warmup_finished, warmup_missed, users, in_flight,
    connections, busiest, stolen";
/// How many these are.
const HEAD_COLUMNS: usize = 11;

/// The columns of a [`Second`], from the given one on.
pub(super) fn scalars(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Second> {
    let count = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    let iterations = |at| {
        Ok::<_, rusqlite::Error>(Iterations {
            started: count(at)?,
            finished: count(at + 1)?,
            missed: count(at + 2)?,
        })
    };
    Ok(Second {
        iterations: iterations(at)?,
        warmup: iterations(at + 3)?,
        users: row.get(at + 6)?,
        in_flight: row.get(at + 7)?,
        connections: row.get(at + 8)?,
    })
}

/// The strain beside the scalars that begin at the given column.
pub(super) fn strain(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Strain> {
    Ok(Strain::of_thousandths([row.get(at + 9)?, row.get(at + 10)?]))
}

/// A part's column.
pub(super) fn part_number(part: Part) -> i64 {
    match part {
        Part::Warmup => 0,
        Part::Measured => 1,
    }
}

/// What a part's column says.
pub(super) fn part(number: i64) -> Result<Part, CodecError> {
    match number {
        0 => Ok(Part::Warmup),
        1 => Ok(Part::Measured),
        _ => Err(CodecError::Field("part")),
    }
}

/// Whether the seconds of a run are gone, or going.
fn is_thinned(db: &Connection, run: i64) -> rusqlite::Result<bool> {
    let mut statement = db.prepare_cached("SELECT thinned > 0 FROM runs WHERE key = ?")?;
    Ok(statement.query_row([run], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Puts totals, iterations, addresses and scalars back. Where the seconds are gone, the scalars are those of minutes.
pub(super) fn put_back_totals(db: &Connection, run: i64, series: &mut Series) -> Result<(), ReadError> {
    let mut statement = db.prepare_cached("SELECT part, step, form, body FROM totals WHERE run = ?")?;
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        let total =
            codec::decode_total(row.get(2)?, row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?)?;
        series.put_back_total(part(row.get(0)?)?, row.get::<_, StepId>(1)?, total);
    }
    let scale = if is_thinned(db, run)? { Grain::Minute } else { Grain::Second }.seconds();
    let text = format!("SELECT from_s, {HEAD} FROM spans WHERE run = ? AND scale = ?");
    let mut statement = db.prepare_cached(&text)?;
    let mut rows = statement.query(params![run, scale])?;
    let mut sum = Second::default();
    while let Some(row) = rows.next()? {
        let scalars = scalars(row, 1)?;
        super::span::extend(&mut sum, &scalars);
        series.put_back_second(row.get(0)?, scalars);
    }
    series.put_back_iterations(sum.iterations, sum.warmup);
    series.put_back_addresses(addresses(db, run)?);
    Ok(())
}

/// What went to each of the target's addresses.
fn addresses(db: &Connection, run: i64) -> rusqlite::Result<Addresses> {
    let text = "SELECT address, connections, failures, requests FROM addresses WHERE run = ?";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query([run])?;
    let mut addresses = Addresses::default();
    while let Some(row) = rows.next()? {
        let count = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        let counts = AddressCounts { connections: count(1)?, failures: count(2)?, requests: count(3)? };
        addresses.add(row.get_ref(0)?.as_str()?, &counts);
    }
    Ok(addresses)
}

/// Puts the rows back that begin in these seconds, but for those that are there.
pub(super) fn put_back_rows(
    db: &Connection,
    run: i64,
    seconds: RangeInclusive<u32>,
    series: &mut Series,
) -> Result<(), ReadError> {
    let text = "SELECT from_s, to_s, step, part, form, body FROM rows
                WHERE run = ? AND scale = 1 AND from_s BETWEEN ? AND ?";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(params![run, seconds.start(), seconds.end()])?;
    while let Some(row) = rows.next()? {
        let (key, sealed) = (row_key(row)?, row_body(row, 4)?);
        // Opened here, so that an error is told before anything is added to it.
        sealed.open::<u32>().map_err(CodecError::from)?;
        if series.row(&key).is_none() {
            series.put_back_row(key, sealed);
        }
    }
    Ok(())
}

/// The columns `from_s, to_s, step, part`.
fn row_key(row: &SqlRow<'_>) -> Result<RowKey, ReadError> {
    Ok(RowKey { from_s: row.get(0)?, to_s: row.get(1)?, step: row.get(2)?, part: part(row.get(3)?)? })
}

/// The columns `form, body`, from the given one on.
pub(super) fn row_body(row: &SqlRow<'_>, at: usize) -> Result<SealedRow, ReadError> {
    let body = row.get_ref(at + 1)?.as_blob().map_err(rusqlite::Error::from)?;
    Ok(codec::decode_row(row.get(at)?, body)?)
}

/// All of a run that is over, with its rows: by the second where there are not too many.
pub(super) fn series(db: &Connection, run: i64) -> Result<Series, ReadError> {
    let mut series = Series::default();
    put_back_totals(db, run, &mut series)?;
    let count = "SELECT count(*) FROM rows WHERE run = ? AND scale = 1";
    let second_rows: i64 = db.prepare_cached(count)?.query_row([run], |row| row.get(0))?;
    let by_second = second_rows <= MAX_SECOND_ROWS && !is_thinned(db, run)?;
    let scale = if by_second { Grain::Second } else { Grain::Minute }.seconds();
    let text = "SELECT from_s, to_s, step, part, form, body FROM rows WHERE run = ? AND scale = ?";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(params![run, scale])?;
    while let Some(row) = rows.next()? {
        series.put_back_row(row_key(row)?, row_body(row, 4)?);
    }
    for message in messages(db, run)?.iter().filter(|message| !message.late) {
        let window = codec::decode_window(message.form, &message.body)?;
        series.add(&window.open().map_err(CodecError::from)?).map_err(CodecError::from)?;
    }
    Ok(series)
}

/// The spans that begin in `from_s..to_s`.
pub(super) fn spans(
    db: &Connection,
    run: i64,
    grain: Grain,
    from_s: u32,
    to_s: u32,
) -> Result<Vec<Span>, ReadError> {
    let grain = if is_thinned(db, run)? { Grain::Minute } else { grain };
    let mut spans = stored_spans(db, run, grain, from_s, to_s)?;
    if grain == Grain::Minute {
        // Minutes that are not put together yet: the latest, and those of which a late row has changed a second.
        for minute in minutes::missing(db, run, from_s, to_s)? {
            spans.push(minutes::put_together(db, run, minute)?);
        }
        spans.sort_unstable_by_key(|span| span.from_s);
    }
    Ok(spans)
}

fn stored_spans(
    db: &Connection,
    run: i64,
    grain: Grain,
    from_s: u32,
    to_s: u32,
) -> Result<Vec<Span>, ReadError> {
    const BODY: usize = 1 + HEAD_COLUMNS;
    let text = format!(
        "SELECT from_s, {HEAD}, form, body FROM spans
         WHERE run = ?1 AND scale = ?2 AND from_s >= ?3 AND from_s < ?4 ORDER BY from_s"
    );
    let mut statement = db.prepare_cached(&text)?;
    let mut rows = statement.query(params![run, grain.seconds(), from_s, to_s])?;
    let mut spans = Vec::new();
    while let Some(row) = rows.next()? {
        let from_s: u32 = row.get(0)?;
        let to_s = from_s + grain.seconds();
        let sealed = match row.get_ref(BODY + 1)? {
            rusqlite::types::ValueRef::Null => told_by_rows(db, run, grain, from_s)?,
            _ => row_body(row, BODY)?,
        };
        spans.push(Span { from_s, to_s, scalars: scalars(row, 1)?, row: sealed, strain: strain(row, 1)? });
    }
    Ok(spans)
}

/// The rows that lie in these seconds, of one step or of all.
pub(super) fn rows(
    db: &Connection,
    run: i64,
    grain: Grain,
    of: Range<u32>,
    step: Option<StepId>,
) -> Result<Vec<(RowKey, SealedRow)>, ReadError> {
    let grain = if is_thinned(db, run)? { Grain::Minute } else { grain };
    let mut found = Vec::new();
    stored_rows(db, run, grain, of.clone(), step, &mut found)?;
    if grain == Grain::Minute {
        for minute_s in minutes::missing(db, run, of.start, of.end)? {
            stored_rows(db, run, Grain::Second, minute_s..minute_s + 60, step, &mut found)?;
        }
    }
    Ok(found)
}

fn stored_rows(
    db: &Connection,
    run: i64,
    grain: Grain,
    of: Range<u32>,
    step: Option<StepId>,
    found: &mut Vec<(RowKey, SealedRow)>,
) -> Result<(), ReadError> {
    let text = "SELECT from_s, to_s, step, part, form, body FROM rows
                WHERE run = ?1 AND scale = ?2 AND from_s >= ?3 AND to_s <= ?4 AND (?5 IS NULL OR step = ?5)
                ORDER BY from_s";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(params![run, grain.seconds(), of.start, of.end, step])?;
    while let Some(row) = rows.next()? {
        found.push((row_key(row)?, row_body(row, 4)?));
    }
    Ok(())
}

/// True if the rows of a span say all of it, so that it needs no row of its own: one step's at most, and one of all steps
/// together, of the same part.
pub(super) fn is_told_by_rows<'a>(mut keys: impl Iterator<Item = &'a RowKey>) -> bool {
    match (keys.next(), keys.next(), keys.next()) {
        (_, None, None) => true,
        (Some(one), Some(other), None) => {
            one.part == other.part && (one.step == ALL_STEPS) != (other.step == ALL_STEPS)
        }
        _ => false,
    }
}

/// The results of such a span.
fn told_by_rows(db: &Connection, run: i64, grain: Grain, from_s: u32) -> Result<SealedRow, ReadError> {
    let text =
        "SELECT step, form, body FROM rows WHERE run = ?1 AND scale = ?2 AND from_s = ?3 AND to_s = ?4";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(params![run, grain.seconds(), from_s, from_s + grain.seconds()])?;
    let mut all = SealedRow::default();
    while let Some(row) = rows.next()? {
        let sealed = row_body(row, 1)?;
        all = match row.get::<_, StepId>(0)? {
            ALL_STEPS => SealedRow { timing: sealed.timing, ..all },
            _ => SealedRow { timing: all.timing, ..sealed },
        };
    }
    Ok(all)
}

/// How agents were, see [`crate::store::Store::health`].
pub(super) fn health(
    db: &Connection,
    run: i64,
    from_s: u32,
    most: usize,
) -> Result<HealthBySecond, ReadError> {
    let mut reports = BTreeMap::new();
    let text = "SELECT second, incarnation, form, body FROM agent_health WHERE run = ?1 AND second >= ?2
                ORDER BY second LIMIT ?3";
    let mut statement = db.prepare_cached(text)?;
    // One more than is wanted tells that there are more.
    let limit = i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![run, from_s, limit])?;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
        reports.insert((row.get(0)?, incarnation(row.get(1)?)), codec::decode_health(row.get(2)?, body)?);
    }
    // Beyond the last one that was read there may be others on disk, so messages have nothing to add to there.
    let is_all = reports.len() <= most;
    let end_s = reports.last_key_value().map_or(0, |((second, _), _)| *second);
    for message in messages(db, run)?.iter().filter(|message| !message.late) {
        for (second, health) in codec::decode_health_of_window(message.form, &message.body)? {
            if second >= from_s && (is_all || second < end_s) {
                reports.entry((second, message.agent)).or_default().merge(&health);
            }
        }
    }
    Ok(HealthBySecond::of(reports.into_iter(), most))
}

/// A run's document.
pub(super) fn document(db: &Connection, run: i64) -> Result<Option<RunDocument>, ReadError> {
    let mut statement = db.prepare_cached("SELECT form, body FROM documents WHERE run = ?")?;
    let found = statement.query_row([run], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).optional()?;
    let Some((form, body)) = found else { return Ok(None) };
    codec::check_form(form)?;
    let document: RunDocument = serde_json::from_str(&body).map_err(CodecError::from)?;
    Ok(Some(match marks(db, run)? {
        Some(marks) => document.marked(marks),
        None => document,
    }))
}

/// A run's orders, by agent and number.
pub(super) fn orders(db: &Connection, run: i64) -> Result<Vec<SavedOrder>, ReadError> {
    let text = "SELECT incarnation, number, form, body FROM orders WHERE run = ?";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query([run])?;
    let mut orders = Vec::new();
    while let Some(row) = rows.next()? {
        codec::check_form(row.get(2)?)?;
        let body = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
        let order = serde_json::from_str(body).map_err(CodecError::from)?;
        let number = row.get::<_, i64>(1)?.cast_unsigned();
        orders.push(SavedOrder { agent: incarnation(row.get(0)?), number, order });
    }
    orders.sort_unstable_by_key(|order| (order.agent, order.number));
    Ok(orders)
}
