//! The library of plans, in its table.

use futures_util::FutureExt as _;
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, params};

use super::open_runs::OpenRuns;
use super::writer::Job;
use super::{SqliteStore, StoreError, StoreFuture, sql};
use crate::store::library::{
    Condition, Library, LibraryError, LibraryFuture, MAX_VERSIONS, NewPlan, PlanName, Saved, SavedPlan,
    decide,
};

const COLUMNS: &str = "name, version, saved_at, text";

/// Saves a plan, if its condition holds.
struct Save(NewPlan);

/// Removes a plan, if the condition holds.
struct Remove(PlanName, Condition);

impl Job for Save {
    /// What the library says is no failure of the transaction, in which nothing was written then.
    type Answer = Result<Saved, LibraryError>;

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<Self::Answer, StoreError> {
        let latest = sql(latest(db, &self.0.name))?;
        let count = "SELECT count(DISTINCT name) FROM plans";
        let plans: i64 = sql(db.query_row(count, [], |row| row.get(0)))?;
        let plans = usize::try_from(plans).unwrap_or(usize::MAX);
        let saved = decide(&self.0, latest, sql(removed(db, &self.0.name))?, plans);
        if let Ok(Saved::Created(plan) | Saved::Replaced(plan)) = &saved {
            sql(write(db, plan))?;
        }
        Ok(saved)
    }

    fn committed(self, _: &Self::Answer, _: &mut OpenRuns) {}
}

impl Job for Remove {
    type Answer = Result<bool, LibraryError>;

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<Self::Answer, StoreError> {
        let Self(name, condition) = self;
        let latest = sql(latest(db, name))?;
        if !condition.holds(latest.as_ref()) {
            return Ok(Err(LibraryError::Condition(latest.map(Box::new))));
        }
        let Some(latest) = latest else { return Ok(Ok(false)) };
        let keep = "INSERT OR REPLACE INTO removed_plans (name, version) VALUES (?, ?)";
        sql(db.execute(keep, params![name.as_str(), latest.version]))?;
        sql(db.execute("DELETE FROM plans WHERE name = ?", [name.as_str()]))?;
        Ok(Ok(true))
    }

    fn committed(self, _: &Self::Answer, _: &mut OpenRuns) {}
}

fn write(db: &Connection, plan: &SavedPlan) -> rusqlite::Result<()> {
    let SavedPlan { name, version, saved_at, text } = plan;
    let insert = format!("INSERT INTO plans ({COLUMNS}) VALUES (?, ?, ?, ?)");
    db.execute(&insert, params![name.as_str(), version, saved_at, text])?;
    let too_old = i64::from(*version) - i64::try_from(MAX_VERSIONS).unwrap_or(i64::MAX);
    db.execute("DELETE FROM plans WHERE name = ? AND version <= ?", params![name.as_str(), too_old])?;
    Ok(())
}

fn plan(row: &SqlRow<'_>) -> rusqlite::Result<SavedPlan> {
    let name: String = row.get(0)?;
    let name = PlanName::new(&name).ok_or_else(|| rusqlite::Error::InvalidColumnName(name))?;
    Ok(SavedPlan { name, version: row.get(1)?, saved_at: row.get(2)?, text: row.get(3)? })
}

fn latest(db: &Connection, name: &PlanName) -> rusqlite::Result<Option<SavedPlan>> {
    let text = format!("SELECT {COLUMNS} FROM plans WHERE name = ? ORDER BY version DESC LIMIT 1");
    db.query_row(&text, [name.as_str()], plan).optional()
}

/// The latest version of a plan that was removed; 0 where none was.
fn removed(db: &Connection, name: &PlanName) -> rusqlite::Result<u32> {
    let text = "SELECT version FROM removed_plans WHERE name = ?";
    Ok(db.query_row(text, [name.as_str()], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// All plans of a query.
fn all(db: &Connection, text: &str, name: Option<&PlanName>) -> Result<Vec<SavedPlan>, StoreError> {
    let mut statement = sql(db.prepare_cached(text))?;
    let found = match name {
        Some(name) => statement.query_map([name.as_str()], plan),
        None => statement.query_map([], plan),
    };
    sql(found.and_then(Iterator::collect))
}

impl Library for SqliteStore {
    fn save(&self, new: NewPlan) -> LibraryFuture<'_, Saved> {
        async move { self.writer.ask(Save(new)).await? }.boxed()
    }

    fn plan<'a>(&'a self, name: &'a PlanName, version: Option<u32>) -> StoreFuture<'a, Option<SavedPlan>> {
        let name = name.clone();
        self.read_any(move |db| match version {
            None => sql(latest(db, &name)),
            Some(number) => {
                let text = format!("SELECT {COLUMNS} FROM plans WHERE name = ? AND version = ?");
                sql(db.query_row(&text, params![name.as_str(), number], plan).optional())
            }
        })
        .boxed()
    }

    fn plans(&self) -> StoreFuture<'_, Vec<SavedPlan>> {
        // SQLite takes the other columns from the row that has the greatest version.
        let text = "SELECT name, max(version), saved_at, text FROM plans GROUP BY name ORDER BY name";
        self.read_any(move |db| all(db, text, None)).boxed()
    }

    fn versions<'a>(&'a self, name: &'a PlanName) -> StoreFuture<'a, Vec<SavedPlan>> {
        let (name, text) =
            (name.clone(), format!("SELECT {COLUMNS} FROM plans WHERE name = ? ORDER BY version DESC"));
        self.read_any(move |db| all(db, &text, Some(&name))).boxed()
    }

    fn remove<'a>(&'a self, name: &'a PlanName, condition: Condition) -> LibraryFuture<'a, bool> {
        async move { self.writer.ask(Remove(name.clone(), condition)).await? }.boxed()
    }
}
