//! Minutes: the rows of sixty seconds, merged. They are what is left of a run once its seconds are too old, and what a
//! long run's charts are drawn from.
//!
//! A minute's rows are written one by one and its span last, so a minute that has a span is whole. A late row that adds
//! to one of its seconds takes the span and the rows away, and the minute is put together again.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use volley_stats::{Part, Parts, Row, Second, StepId};

use super::codec;
use super::merge::SpanHead;
use super::read::{self, HEAD, ReadError, part, part_number};
use crate::store::span::extend;
use crate::store::{Grain, Span, Strain};

/// Which rows a minute has.
pub(super) type MinuteKey = (StepId, Part);

/// The steps and parts that have rows within a minute.
pub(super) fn keys(db: &Connection, run: i64, minute_s: u32) -> Result<Vec<MinuteKey>, ReadError> {
    let text = "SELECT DISTINCT step, part FROM rows
                WHERE run = ?1 AND scale = 1 AND from_s >= ?2 AND from_s < ?3 AND to_s <= ?3 ORDER BY step, part";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(params![run, minute_s, minute_s + 60])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push((row.get(0)?, part(row.get(1)?)?));
    }
    Ok(keys)
}

/// Merges the rows of one step and part within a minute.
pub(super) fn merged(db: &Connection, run: i64, minute_s: u32, key: MinuteKey) -> Result<Row, ReadError> {
    let text = "SELECT form, body FROM rows
                WHERE run = ?1 AND scale = 1 AND from_s >= ?2 AND from_s < ?3 AND to_s <= ?3 AND step = ?4 AND part = ?5";
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(params![run, minute_s, minute_s + 60, key.0, part_number(key.1)])?;
    let mut merged = Row::default();
    while let Some(row) = rows.next()? {
        let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        merged.merge(&codec::open_row(row.get(0)?, body)?);
    }
    Ok(merged)
}

/// The scalars and the strain of a minute; `None` where nothing is known of it.
pub(super) fn head(db: &Connection, run: i64, minute_s: u32) -> rusqlite::Result<Option<SpanHead>> {
    let text = format!(
        "SELECT {HEAD} FROM spans WHERE run = ?1 AND scale = 1 AND from_s >= ?2 AND from_s < ?3 ORDER BY from_s"
    );
    let mut statement = db.prepare_cached(&text)?;
    let mut rows = statement.query(params![run, minute_s, minute_s + 60])?;
    let mut found = None;
    let (mut scalars, mut strain) = (Second::default(), Strain::default());
    while let Some(row) = rows.next()? {
        extend(&mut scalars, &read::scalars(row, 0)?);
        strain.merge(read::strain(row, 0)?);
        found = Some(SpanHead { grain: Grain::Minute, from_s: minute_s, scalars, strain });
    }
    Ok(found)
}

/// The minutes that begin in `from_s..to_s`, have seconds, and have no span of their own.
pub(super) fn missing(db: &Connection, run: i64, from_s: u32, to_s: u32) -> rusqlite::Result<Vec<u32>> {
    let minutes = |scale: u32| -> rusqlite::Result<BTreeSet<u32>> {
        let text = "SELECT DISTINCT from_s / 60 * 60 FROM spans
                    WHERE run = ?1 AND scale = ?2 AND from_s >= ?3 AND from_s < ?4";
        let mut statement = db.prepare_cached(text)?;
        // The last minute may begin before `to_s` and have all its seconds after it.
        let found =
            statement.query_map(params![run, scale, from_s, to_s.saturating_add(59)], |row| row.get(0))?;
        found.collect()
    };
    let (seconds, whole) = (minutes(1)?, minutes(60)?);
    Ok(seconds.difference(&whole).copied().filter(|&minute| minute >= from_s && minute < to_s).collect())
}

/// A minute that is not stored as such, from its seconds.
pub(super) fn put_together(db: &Connection, run: i64, minute_s: u32) -> Result<Span, ReadError> {
    let mut all = Parts::default();
    for key in keys(db, run, minute_s)? {
        all.merge(key.1, &merged(db, run, minute_s, key)?);
    }
    let (scalars, strain) =
        head(db, run, minute_s)?.map(|head| (head.scalars, head.strain)).unwrap_or_default();
    Ok(Span { from_s: minute_s, to_s: minute_s + 60, scalars, row: all.told().seal(), strain })
}

/// Takes a minute away, since one of its seconds has changed.
pub(super) fn undo(db: &Connection, run: i64, minute_s: u32) -> rusqlite::Result<()> {
    for text in [
        "DELETE FROM spans WHERE run = ?1 AND scale = 60 AND from_s = ?2",
        "DELETE FROM rows WHERE run = ?1 AND scale = 60 AND from_s = ?2",
    ] {
        db.prepare_cached(text)?.execute(params![run, minute_s])?;
    }
    Ok(())
}
