//! What becomes too old or too much, and how it is taken away: some rows at a time.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use volley_plan::link::RunId;

use super::Retention;
use super::housekeeping::Task;
use super::unfinished;

/// Most runs that one look finds; the next look finds the rest.
const MAX_FOUND: usize = 1_000;
/// Free pages that stay in the file, to be used again: 64 MiB, or a quarter of all pages where that is more.
const FREE_PAGES: i64 = 8_192;

/// What is to be done by now.
pub(super) fn due(db: &Connection, retention: Retention, now: Timestamp) -> rusqlite::Result<Vec<Task>> {
    let before = |age: std::time::Duration| {
        now.as_second().saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX))
    };
    let find = |task: fn(i64) -> Task, condition: &str, value: i64| -> rusqlite::Result<Vec<Task>> {
        let mut statement =
            db.prepare_cached(&format!("SELECT key FROM runs WHERE {condition} LIMIT {MAX_FOUND}"))?;
        statement.query_map([value], |row| Ok(task(row.get(0)?)))?.collect()
    };
    let many = i64::try_from(retention.finished_runs).unwrap_or(i64::MAX);
    let mut tasks = find(Task::RollUp, "over AND NOT rolled AND thinned = 0 AND NOT removed AND key > ?", 0)?;
    tasks.extend(find(Task::Remove, "removed AND key > ?", 0)?);
    tasks.extend(find(Task::Remove, "over AND NOT removed AND created_s < ?", before(retention.age_max))?);
    let too_many =
        "key IN (SELECT key FROM runs WHERE over AND NOT removed ORDER BY key DESC LIMIT -1 OFFSET ?)";
    tasks.extend(find(Task::Remove, too_many, many)?);
    let old = "over AND thinned < 2 AND NOT removed AND rolled AND created_s < ?";
    tasks.extend(find(Task::Thin, old, before(retention.seconds_for))?);
    tasks.push(Task::GiveBack);
    Ok(tasks)
}

/// Takes the seconds of a run away, at most so many rows; true once all are gone. Minutes and totals stay, and so do rows
/// that cover parts of several minutes.
pub(super) fn thin(db: &Connection, run: i64, most: i64) -> rusqlite::Result<bool> {
    // Readers turn to the minutes before the first second goes.
    db.prepare_cached("UPDATE runs SET thinned = 1 WHERE key = ? AND thinned = 0")?.execute([run])?;
    let seconds = [
        "DELETE FROM rows WHERE key IN
         (SELECT key FROM rows WHERE run = ?1 AND scale = 1 AND from_s / 60 = (to_s - 1) / 60 LIMIT ?2)",
        "DELETE FROM spans WHERE key IN (SELECT key FROM spans WHERE run = ?1 AND scale = 1 LIMIT ?2)",
    ];
    if delete(db, &seconds, run, most)? || delete(db, &BY_THE_WAY, run, most)? {
        return Ok(false);
    }
    db.prepare_cached("UPDATE runs SET thinned = 2 WHERE key = ?")?.execute([run])?;
    Ok(true)
}

/// What nobody looks at once a run's seconds are gone.
const BY_THE_WAY: [&str; 4] = [
    "DELETE FROM agent_health WHERE (run, second, incarnation) IN
     (SELECT run, second, incarnation FROM agent_health WHERE run = ?1 LIMIT ?2)",
    "DELETE FROM agent_seconds WHERE (run, second, incarnation) IN
     (SELECT run, second, incarnation FROM agent_seconds WHERE run = ?1 LIMIT ?2)",
    "DELETE FROM orders WHERE (run, incarnation, number) IN
     (SELECT run, incarnation, number FROM orders WHERE run = ?1 LIMIT ?2)",
    "DELETE FROM messages WHERE key IN (SELECT key FROM messages WHERE run = ?1 LIMIT ?2)",
];

/// Hides a run, so that nobody sees it half removed. Gives back its name; `None` if it is hidden already.
pub(super) fn hide(db: &Connection, run: i64) -> rusqlite::Result<Option<RunId>> {
    let text = "UPDATE runs SET removed = 1 WHERE key = ? AND NOT removed RETURNING id";
    let name: Option<String> = db.prepare_cached(text)?.query_row([run], |row| row.get(0)).optional()?;
    Ok(name.and_then(|name| RunId::new(&name)))
}

/// Takes a hidden run away, at most so many rows; true once nothing is left.
pub(super) fn remove(db: &Connection, run: i64, most: i64) -> rusqlite::Result<bool> {
    let rest = [
        "DELETE FROM rows WHERE key IN (SELECT key FROM rows WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM spans WHERE key IN (SELECT key FROM spans WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM totals WHERE (run, part, step) IN (SELECT run, part, step FROM totals WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM addresses WHERE (run, address) IN (SELECT run, address FROM addresses WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM agents WHERE (run, incarnation) IN (SELECT run, incarnation FROM agents WHERE run = ?1 LIMIT ?2)",
    ];
    if delete(db, &BY_THE_WAY, run, most)? || delete(db, &rest, run, most)? {
        return Ok(false);
    }
    unfinished::forget(db, run)?;
    db.prepare_cached("DELETE FROM documents WHERE run = ?")?.execute([run])?;
    db.prepare_cached("DELETE FROM marks WHERE run = ?")?.execute([run])?;
    db.prepare_cached("DELETE FROM runs WHERE key = ?")?.execute([run])?;
    Ok(true)
}

/// Deletes from the first of these tables that has something to delete; false if none has.
fn delete(db: &Connection, texts: &[&str], run: i64, most: i64) -> rusqlite::Result<bool> {
    for text in texts {
        if db.prepare_cached(text)?.execute(params![run, most])? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives free pages back to the file system, at most so many; true once few enough are left.
pub(super) fn give_back(db: &Connection, most: i64) -> rusqlite::Result<bool> {
    let number = |pragma: &str| db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    let too_many = number("freelist_count")? - FREE_PAGES.max(number("page_count")? / 4);
    if too_many <= 0 {
        return Ok(true);
    }
    let some = most.min(too_many);
    db.execute_batch(&format!("PRAGMA incremental_vacuum({some})"))?;
    Ok(false)
}
