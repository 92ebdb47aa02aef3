//! Puts a run's minutes together, a step at a time.

use rusqlite::{Connection, OptionalExtension as _};
use volley_stats::{Parts, RowKey};

use super::codec;
use super::housekeeping::{Minute, Rolling};
use super::merge::{write_row, write_span};
use super::minutes;
use super::read::{ReadError, is_told_by_rows};
use crate::store::Grain;

/// A minute of a run that goes on is put together this long after its end, so that most late rows still find it open.
const LATER_S: u32 = 60;

/// One step: a row of a minute, or its span. True once there is nothing left to do for now.
pub(super) fn step(db: &Connection, run: i64, rolling: &mut Rolling) -> Result<bool, ReadError> {
    let Some(minute) = &mut rolling.at_hand else { return begin(db, run, rolling) };
    if let Some(key) = minute.keys.pop_front() {
        let merged = minutes::merged(db, run, minute.from_s, key)?;
        let (step, part) = key;
        let row_key = RowKey { from_s: minute.from_s, to_s: minute.from_s + 60, step, part };
        write_row(db, run, Grain::Minute, row_key, &codec::encode_row(&merged.seal()))?;
        minute.all.merge(part, &merged);
        minute.done.push(row_key);
        return Ok(false);
    }
    if let Some(head) = minutes::head(db, run, minute.from_s)? {
        let body = (!is_told_by_rows(minute.done.iter()))
            .then(|| codec::encode_row(&std::mem::take(&mut minute.all).told().seal()));
        write_span(db, run, &head, body.as_deref())?;
    }
    rolling.at_hand = None;
    Ok(false)
}

/// Takes up the next minute.
fn begin(db: &Connection, run: i64, rolling: &mut Rolling) -> Result<bool, ReadError> {
    let Some(run_now) = state(db, run)? else { return Ok(true) };
    if let Some(from_s) = rolling.again.pop_first() {
        rolling.at_hand = take_up(db, run, from_s)?;
        return Ok(false);
    }
    let from_s = rolling.next_s;
    let may_begin = if run_now.over {
        from_s < run_now.complete_s
    } else {
        from_s.saturating_add(60 + LATER_S) <= run_now.complete_s
    };
    if !may_begin {
        if run_now.over {
            db.prepare_cached("UPDATE runs SET rolled = 1 WHERE key = ?")?.execute([run])?;
        }
        return Ok(true);
    }
    rolling.at_hand = take_up(db, run, from_s)?;
    rolling.next_s = from_s + 60;
    Ok(false)
}

struct RunNow {
    over: bool,
    complete_s: u32,
}

/// Where a run stands; `None` if it has no seconds (any more).
fn state(db: &Connection, run: i64) -> rusqlite::Result<Option<RunNow>> {
    let text = "SELECT over, complete_s FROM runs WHERE key = ? AND thinned = 0 AND NOT removed";
    let mut statement = db.prepare_cached(text)?;
    statement.query_row([run], |row| Ok(RunNow { over: row.get(0)?, complete_s: row.get(1)? })).optional()
}

/// A minute, unless it is there already or nothing is known of it.
fn take_up(db: &Connection, run: i64, from_s: u32) -> Result<Option<Minute>, ReadError> {
    let text = "SELECT 1 FROM spans WHERE run = ? AND scale = 60 AND from_s = ?";
    let is_there = db.prepare_cached(text)?.exists((run, from_s))?;
    if is_there || minutes::head(db, run, from_s)?.is_none() {
        return Ok(None);
    }
    let keys = minutes::keys(db, run, from_s)?.into();
    Ok(Some(Minute { from_s, keys, done: Vec::new(), all: Parts::default() }))
}
