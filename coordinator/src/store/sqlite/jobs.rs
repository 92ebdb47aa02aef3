//! What the writer is asked to do.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use volley_plan::link::{Incarnation, Order, RunId};
use volley_stats::SealedWindow;

use super::codec::FORM;
use super::merge;
use super::open_runs::{OpenRun, OpenRuns, key_of};
use super::sql;
use super::unfinished::{self, WrittenStanding, text};
use super::writer::Job;
use crate::document::{RunDocument, RunSummary};
use crate::store::{Kept, MAX_ORDERS, SavedOrder, StoreError};

/// A document as it is written: put into its text by whoever asks, not by the writer.
pub(super) struct Written {
    id: RunId,
    over: bool,
    created_s: i64,
    summary: Arc<RunSummary>,
    summary_text: String,
    document_text: String,
}

impl Written {
    pub(super) fn of(document: &RunDocument) -> Result<Self, StoreError> {
        let summary = Arc::new(RunSummary::from(document));
        let created: Option<Timestamp> = document.created_at.parse().ok();
        Ok(Self {
            id: document.id.clone(),
            over: document.progress.over,
            created_s: created.unwrap_or_else(Timestamp::now).as_second(),
            summary_text: text(&*summary)?,
            document_text: text(document)?,
            summary,
        })
    }

    fn write_body(&self, db: &Connection, key: i64) -> rusqlite::Result<()> {
        let text = "INSERT OR REPLACE INTO documents (run, form, body) VALUES (?, ?, ?)";
        db.prepare_cached(text)?.execute(params![key, FORM, self.document_text])?;
        Ok(())
    }
}

/// Keeps a new run.
pub(super) struct Create(pub(super) Written);

impl Job for Create {
    /// Its key, and the runs that were removed since the last one was made.
    type Answer = (i64, Vec<RunId>);

    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<Self::Answer, StoreError> {
        let Self(run) = self;
        let text = "INSERT INTO runs (id, created_s, over, form, summary) VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT DO NOTHING";
        let values = params![run.id.as_str(), run.created_s, run.over, FORM, run.summary_text];
        let added = sql(db.prepare_cached(text).and_then(|mut statement| statement.execute(values)))?;
        if added == 0 {
            return Err(StoreError::Exists(run.id.clone()));
        }
        let key = db.last_insert_rowid();
        sql(run.write_body(db, key))?;
        Ok((key, std::mem::take(&mut runs.dropped)))
    }

    fn committed(self, answer: &Self::Answer, runs: &mut OpenRuns) {
        let Self(run) = self;
        runs.shared.index().insert(answer.0, run.summary);
        runs.insert(run.id, OpenRun::new(answer.0, run.over));
    }
}

/// Replaces a run's document. Once it says that the run is over, what is left to merge is merged.
pub(super) struct Update(pub(super) Written);

impl Job for Update {
    type Answer = i64;

    fn is_apart(&self) -> bool {
        self.0.over
    }

    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<i64, StoreError> {
        let Self(run) = self;
        let key = sql(key_of(db, &run.id))?.ok_or_else(|| StoreError::NotFound(run.id.clone()))?;
        if run.over {
            merge::merge(db, runs, &run.id, merge::Complete::All)?;
        }
        let text = "UPDATE runs SET over = ?2, form = ?3, summary = ?4 WHERE key = ?1";
        let values = params![key, run.over, FORM, run.summary_text];
        sql(db.prepare_cached(text).and_then(|mut statement| statement.execute(values)))?;
        sql(run.write_body(db, key))?;
        if run.over {
            sql(unfinished::forget(db, key))?;
        }
        Ok(key)
    }

    fn committed(self, key: &i64, runs: &mut OpenRuns) {
        let Self(run) = self;
        runs.shared.index().insert(*key, run.summary);
        if run.over {
            merge::merged(runs, &run.id, merge::Complete::All);
            if let Some(open) = runs.known(&run.id) {
                open.over = true;
            }
            runs.shared.set_growing(*key, None);
            runs.touched.insert(*key);
        }
    }
}

/// An order as it is written.
pub(super) struct WrittenOrder {
    agent: i64,
    number: i64,
    /// How many iterations it gives leave for.
    grants: u64,
    text: String,
}

impl WrittenOrder {
    pub(super) fn of(saved: &SavedOrder) -> Result<Self, StoreError> {
        let grants = match &saved.order {
            Order::Grant { from, to, .. } => to.saturating_sub(*from),
            _ => 0,
        };
        let (agent, number) = (saved.agent.0.cast_signed(), saved.number.cast_signed());
        Ok(Self { agent, number, grants, text: text(&saved.order)? })
    }

    fn write(&self, db: &Connection, run: i64) -> rusqlite::Result<()> {
        let Self { agent, number, grants, text } = self;
        let insert = "INSERT INTO orders (run, incarnation, number, form, body) VALUES (?, ?, ?, ?, ?)
                      ON CONFLICT DO NOTHING";
        let added = db.prepare_cached(insert)?.execute(params![run, agent, number, FORM, text])?;
        if added == 0 {
            return Ok(());
        }
        if *grants > 0 {
            let add = "INSERT INTO agents (run, incarnation, granted) VALUES (?, ?, ?)
                       ON CONFLICT DO UPDATE SET granted = granted + excluded.granted";
            db.prepare_cached(add)?.execute(params![run, agent, grants.cast_signed()])?;
        }
        // Orders come one by one, so one at most is too many.
        let thin = "DELETE FROM orders WHERE run = ?1 AND incarnation = ?2 AND number > 1 AND number = (SELECT number FROM
                    orders WHERE run = ?1 AND incarnation = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3)";
        let offset = i64::try_from(MAX_ORDERS).unwrap_or(i64::MAX) - 1;
        db.prepare_cached(thin)?.execute(params![run, agent, offset])?;
        Ok(())
    }
}

/// Keeps orders, and where the decider stands.
pub(super) struct KeepOrders {
    pub(super) run: RunId,
    pub(super) standing: WrittenStanding,
    pub(super) orders: Vec<WrittenOrder>,
}

impl Job for KeepOrders {
    type Answer = ();

    fn execute(&mut self, db: &Connection, _: &mut OpenRuns) -> Result<(), StoreError> {
        let key = sql(key_of(db, &self.run))?.ok_or_else(|| StoreError::NotFound(self.run.clone()))?;
        for order in &self.orders {
            sql(order.write(db, key))?;
        }
        sql(self.standing.write(db, key))
    }

    fn committed(self, (): &(), _: &mut OpenRuns) {}
}

/// Keeps a window.
pub(super) struct KeepWindow {
    pub(super) run: RunId,
    pub(super) agent: Incarnation,
    pub(super) sequence: u64,
    pub(super) late: bool,
    pub(super) window: Arc<SealedWindow>,
    pub(super) body: Vec<u8>,
    /// What the agent has reported in all.
    pub(super) facts: String,
}

impl Job for KeepWindow {
    /// The message's key; `None` if the window was kept before.
    type Answer = Option<i64>;

    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<Option<i64>, StoreError> {
        let run = runs.get(db, &self.run)?;
        if run.has(self.agent, self.sequence) {
            return Ok(None);
        }
        if !self.late {
            run.put_back_rows_of(db, &self.run, &self.window)?;
        }
        sql(self.write(db, run.key))
    }

    fn committed(self, message: &Option<i64>, runs: &mut OpenRuns) {
        let Some(run) = message.and_then(|_| runs.known(&self.run)) else { return };
        let Some(message) = message.filter(|_| !run.has(self.agent, self.sequence)) else { return };
        if self.late {
            run.sequences.entry(self.agent).or_default().insert(self.sequence);
            return;
        }
        let grows_after_its_end = run.over.then_some(run.key);
        // It was checked before it came here, so all of it can be read.
        if let Err(error) = run.take_in(message, self.agent, self.sequence, &self.window) {
            tracing::error!(run = %self.run, %error, "results in memory are damaged");
        }
        if let Some(key) = grows_after_its_end {
            runs.shared.forget_series(key);
        }
    }
}

impl KeepWindow {
    fn write(&self, db: &Connection, run: i64) -> rusqlite::Result<Option<i64>> {
        let text =
            "INSERT INTO messages (run, incarnation, sequence, late, form, body) VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT DO NOTHING RETURNING key";
        let (incarnation, sequence) = (self.agent.0.cast_signed(), self.sequence.cast_signed());
        let values = params![run, incarnation, sequence, self.late, FORM, self.body];
        let message = db.prepare_cached(text)?.query_row(values, |row| row.get(0)).optional()?;
        if message.is_some() && !self.late {
            unfinished::write_facts(db, run, self.agent, &self.facts)?;
        }
        Ok(message)
    }
}

/// What became of the window.
pub(super) fn kept(message: Option<i64>) -> Kept {
    if message.is_some() { Kept::New } else { Kept::Repeated }
}

/// Puts complete seconds into their final form.
pub(super) struct Complete {
    pub(super) run: RunId,
    pub(super) below_s: u32,
}

impl Job for Complete {
    type Answer = ();

    fn is_apart(&self) -> bool {
        true
    }

    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<(), StoreError> {
        merge::merge(db, runs, &self.run, merge::Complete::Below(self.below_s))
    }

    fn committed(self, (): &(), runs: &mut OpenRuns) {
        merge::merged(runs, &self.run, merge::Complete::Below(self.below_s));
    }
}
