//! The runs that are not over, and what another process goes on from with them.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use volley_lifecycle::{AgentRecord, RunRecord};
use volley_plan::link::{Incarnation, WindowFacts};

use super::codec::{self, CodecError, FORM};
use super::read::{self, ReadError};
use super::{StoreError, sql};
use crate::store::{Left, Standing, Unfinished};

/// A standing as it is written: put into its text by whoever asks, not by the writer.
pub(super) struct WrittenStanding {
    run: String,
    agents: Vec<(Incarnation, String)>,
}

/// Something of a run as the text that is kept of it.
pub(super) fn text(of: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(of).map_err(|error| StoreError::Failed(format!("a run has no text: {error}")))
}

impl WrittenStanding {
    pub(super) fn of(standing: &Standing) -> Result<Self, StoreError> {
        let agents = standing.agents.iter().map(|record| Ok((record.incarnation(), text(record)?)));
        Ok(Self { run: text(&standing.run)?, agents: agents.collect::<Result<_, StoreError>>()? })
    }

    pub(super) fn write(&self, db: &Connection, run: i64) -> rusqlite::Result<()> {
        let of_run = "INSERT OR REPLACE INTO run_records (run, form, body) VALUES (?, ?, ?)";
        db.prepare_cached(of_run)?.execute((run, FORM, &self.run))?;
        let of_agent =
            "INSERT OR REPLACE INTO agent_records (run, incarnation, form, body) VALUES (?, ?, ?, ?)";
        let mut statement = db.prepare_cached(of_agent)?;
        for (agent, record) in &self.agents {
            statement.execute((run, agent.0.cast_signed(), FORM, record))?;
        }
        Ok(())
    }
}

/// Writes what an agent has reported in all.
pub(super) fn write_facts(
    db: &Connection,
    run: i64,
    agent: Incarnation,
    facts: &str,
) -> rusqlite::Result<()> {
    let text = "INSERT OR REPLACE INTO agent_facts (run, incarnation, form, body) VALUES (?, ?, ?, ?)";
    db.prepare_cached(text)?.execute((run, agent.0.cast_signed(), FORM, facts))?;
    Ok(())
}

/// The run is over: nobody goes on with it.
pub(super) fn forget(db: &Connection, run: i64) -> rusqlite::Result<()> {
    for table in ["run_records", "agent_records", "agent_facts"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?"))?.execute([run])?;
    }
    Ok(())
}

/// The runs that are not over, oldest first.
pub(super) fn unfinished(db: &Connection) -> Result<Vec<Unfinished>, StoreError> {
    let mut found = Vec::new();
    for (key, name) in sql(keys(db))? {
        match read::document(db, key) {
            Ok(Some(document)) => found.push(Unfinished { document, left: left(db, key)? }),
            Ok(None) => tracing::error!(run = name, "an unfinished run has no document and is left as it is"),
            Err(ReadError::Sql(error)) => return Err(StoreError::Failed(error.to_string())),
            Err(ReadError::Codec(error)) => {
                tracing::error!(run = name, %error, "an unfinished run cannot be read and is left as it is");
            }
        }
    }
    Ok(found)
}

fn keys(db: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = db.prepare("SELECT key, id FROM runs WHERE NOT over AND NOT removed ORDER BY key")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn left(db: &Connection, run: i64) -> Result<Left, StoreError> {
    let begun = || -> Result<Left, ReadError> {
        let text = "SELECT form, body FROM run_records WHERE run = ?";
        let mut statement = db.prepare_cached(text)?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?));
        let found = statement.query_row([run], read).optional()?;
        let Some((form, body)) = found else { return without_record(db, run) };
        let record: RunRecord = read_text(form, &body)?;
        let mut facts: BTreeMap<Incarnation, WindowFacts> = by_agent(db, run, "agent_facts")?;
        let agents: BTreeMap<Incarnation, AgentRecord> = by_agent(db, run, "agent_records")?;
        let with_facts = |(agent, record)| (record, facts.remove(&agent).unwrap_or_default());
        Ok(Left::Begun { run: record, agents: agents.into_iter().map(with_facts).collect() })
    };
    match begun() {
        Ok(left) => Ok(left),
        Err(ReadError::Sql(error)) => Err(StoreError::Failed(error.to_string())),
        Err(ReadError::Codec(error)) => Ok(Left::Unreadable(error.to_string())),
    }
}

/// Orders without a record were given by a version that kept none.
fn without_record(db: &Connection, run: i64) -> Result<Left, ReadError> {
    let has_orders = db.prepare_cached("SELECT 1 FROM orders WHERE run = ?")?.exists([run])?;
    Ok(if has_orders { Left::Unreadable("nothing was kept of it".to_owned()) } else { Left::NotBegun })
}

fn by_agent<T: DeserializeOwned>(
    db: &Connection,
    run: i64,
    table: &str,
) -> Result<BTreeMap<Incarnation, T>, ReadError> {
    let mut statement =
        db.prepare_cached(&format!("SELECT incarnation, form, body FROM {table} WHERE run = ?"))?;
    let mut rows = statement.query([run])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let agent = Incarnation(row.get::<_, i64>(0)?.cast_unsigned());
        found.insert(agent, read_text(row.get(1)?, &row.get::<_, String>(2)?)?);
    }
    Ok(found)
}

fn read_text<T: DeserializeOwned>(form: i64, text: &str) -> Result<T, CodecError> {
    codec::check_form(form)?;
    Ok(serde_json::from_str(text)?)
}
