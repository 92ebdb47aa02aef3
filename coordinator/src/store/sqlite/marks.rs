//! Changes of runs that are no results: what people say of them, that they are to go, and by which request they were
//! started.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use volley_plan::link::RunId;

use super::codec::FORM;
use super::open_runs::{OpenRuns, key_of};
use super::read::ReadError;
use super::unfinished::text;
use super::writer::Job;
use super::{StoreError, codec, sql, thin};
use crate::document::Marks;
use crate::store::{REMEMBERED, Remembered, RequestKey};

/// Keeps what people say of a run, over what its document says.
pub(super) struct Mark {
    pub(super) run: RunId,
    pub(super) marks: Marks,
}

impl Job for Mark {
    type Answer = i64;

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<i64, StoreError> {
        let key = sql(key_of(db, &self.run))?.ok_or_else(|| StoreError::NotFound(self.run.clone()))?;
        let insert = "INSERT OR REPLACE INTO marks (run, form, body) VALUES (?, ?, ?)";
        sql(db.execute(insert, params![key, FORM, text(&self.marks)?]))?;
        Ok(key)
    }

    fn committed(self, key: &i64, runs: &mut OpenRuns) {
        runs.shared.index().mark(*key, self.marks);
    }
}

/// What people say of a run beyond its document.
pub(super) fn marks(db: &Connection, run: i64) -> Result<Option<Marks>, ReadError> {
    let mut statement = db.prepare_cached("SELECT form, body FROM marks WHERE run = ?")?;
    let found = statement.query_row([run], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).optional()?;
    found.map(|(form, body)| Ok(codec::decode_marks(form, &body)?)).transpose()
}

/// Takes a run away that is over: it is hidden at once, and its rows go by and by.
pub(super) struct RemoveRun(pub(super) RunId);

impl Job for RemoveRun {
    type Answer = i64;

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<i64, StoreError> {
        let key = sql(key_of(db, &self.0))?.ok_or_else(|| StoreError::NotFound(self.0.clone()))?;
        let over: bool = sql(db.query_row("SELECT over FROM runs WHERE key = ?", [key], |row| row.get(0)))?;
        if !over {
            return Err(StoreError::GoesOn(self.0.clone()));
        }
        sql(thin::hide(db, key))?;
        Ok(key)
    }

    fn committed(self, key: &i64, runs: &mut OpenRuns) {
        runs.hide(self.0, *key);
        runs.removed.insert(*key);
    }
}

/// Remembers which run a request starts. Those that are too old are forgotten.
pub(super) struct Remember {
    pub(super) request: RequestKey,
    pub(super) run: RunId,
    pub(super) at: Timestamp,
}

impl Job for Remember {
    type Answer = ();

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<(), StoreError> {
        let now_s = self.at.as_second();
        let age_s = i64::try_from(REMEMBERED.as_secs()).unwrap_or(i64::MAX);
        sql(db.execute("DELETE FROM requests WHERE at_s < ?", [now_s.saturating_sub(age_s)]))?;
        let RequestKey { key, asks } = &self.request;
        let insert = "INSERT OR REPLACE INTO requests (key, asks, run, at_s) VALUES (?, ?, ?, ?)";
        sql(db.execute(insert, params![key, asks, self.run.as_str(), now_s]))?;
        Ok(())
    }

    fn committed(self, (): &(), _: &mut OpenRuns) {}
}

/// What is remembered of a request.
pub(super) fn request(db: &Connection, key: &str) -> Result<Option<Remembered>, StoreError> {
    let text = "SELECT asks, run FROM requests WHERE key = ?";
    let found = db.query_row(text, [key], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
    let found = sql(found.optional())?;
    Ok(found.and_then(|(asks, run)| Some(Remembered { asks, run: RunId::new(&run)? })))
}
