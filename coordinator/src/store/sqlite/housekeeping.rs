//! What the writer does in between, in slices of some milliseconds: it puts minutes together, takes the seconds of old
//! runs away and whole runs that are too old or too many, and gives free pages back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior};
use volley_stats::{Parts, RowKey};

use super::Retention;
use super::minutes::MinuteKey;
use super::open_runs::OpenRuns;
use super::read::ReadError;
use super::{roll_up, thin};

/// How long a slice should take. It ends at the first point after that, and no single step takes long.
const SLICE: Duration = Duration::from_millis(10);
/// While jobs come, so many times as long as a slice took is left to them before the next one.
const REST: u32 = 3;
/// How often to look for what has become old.
const LOOK_EVERY: Duration = Duration::from_secs(300);
/// How long to leave everything alone after an error.
const AFTER_ERROR: Duration = Duration::from_secs(30);

/// A run's minutes that are to be put together.
#[derive(Debug, Default)]
pub(super) struct Rolling {
    /// The next one, counted in seconds.
    pub(super) next_s: u32,
    /// The minute at hand, partly done.
    pub(super) at_hand: Option<Minute>,
    /// Earlier ones that a late row has undone.
    pub(super) again: BTreeSet<u32>,
}

/// A minute that is being put together.
#[derive(Debug)]
pub(super) struct Minute {
    pub(super) from_s: u32,
    pub(super) keys: VecDeque<MinuteKey>,
    /// The rows that are written.
    pub(super) done: Vec<RowKey>,
    /// What is merged of it so far.
    pub(super) all: Parts,
}

/// Something that takes longer than a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Put a run's minutes together.
    RollUp(i64),
    /// Take a run's seconds away.
    Thin(i64),
    /// Take a run away.
    Remove(i64),
    /// Give free pages back.
    GiveBack,
}

/// What is to be done, and how it goes.
pub(super) struct Housekeeping {
    retention: Retention,
    tasks: VecDeque<Task>,
    pub(super) rolling: BTreeMap<i64, Rolling>,
    look_at: Instant,
    /// After an error, nothing is done before this.
    paused_until: Instant,
    /// While jobs come, no slice is taken before this.
    rest_until: Instant,
    /// Tasks that can't be done, since something is damaged: said once, and left alone until the next start.
    given_up: Vec<Task>,
    /// Rows that are deleted at a time, so that it takes some milliseconds.
    pub(super) batch: i64,
}

impl Housekeeping {
    pub(super) fn new(retention: Retention) -> Self {
        let now = Instant::now();
        Self {
            retention,
            tasks: VecDeque::new(),
            rolling: BTreeMap::new(),
            look_at: now,
            paused_until: now,
            rest_until: now,
            given_up: Vec::new(),
            batch: 32,
        }
    }

    /// How long there is nothing to do.
    pub(super) fn idle_for(&self, now: Instant) -> Duration {
        let next = if self.tasks.is_empty() { self.look_at } else { self.paused_until };
        next.saturating_duration_since(now)
    }

    /// True if a slice may be taken: at once where nothing else is to do, else after a rest.
    pub(super) fn may_work(&self, is_busy: bool, now: Instant) -> bool {
        self.idle_for(now).is_zero() && (!is_busy || now >= self.rest_until)
    }

    /// Learns what jobs have left to be done.
    pub(super) fn take_in(&mut self, runs: &mut OpenRuns) {
        for (run, minute) in std::mem::take(&mut runs.undone) {
            let rolling = self.rolling.entry(run).or_default();
            rolling.at_hand.take_if(|at_hand| at_hand.from_s == minute);
            if minute < rolling.next_s {
                rolling.again.insert(minute);
            }
        }
        for run in std::mem::take(&mut runs.touched) {
            self.add(Task::RollUp(run));
        }
        for run in std::mem::take(&mut runs.removed) {
            self.add(Task::Remove(run));
        }
    }

    fn add(&mut self, task: Task) {
        if !self.tasks.contains(&task) && !self.given_up.contains(&task) {
            self.tasks.push_back(task);
        }
    }

    /// Takes one slice.
    pub(super) fn work(&mut self, db: &mut Connection, runs: &mut OpenRuns) {
        let begun = Instant::now();
        if let Err(error) = self.slice(db, runs, begun) {
            self.failed(&error);
            return;
        }
        let took = begun.elapsed();
        runs.shared.note_slice(took);
        self.rest_until = Instant::now() + took * REST;
    }

    /// The transaction at hand was undone, so what is half done is begun anew: at once but for what is damaged, later
    /// where the disk doesn't work.
    fn failed(&mut self, error: &ReadError) {
        tracing::warn!(?error, task = ?self.tasks.front(), "the store's housekeeping has failed");
        for rolling in self.rolling.values_mut() {
            rolling.at_hand = None;
        }
        match error {
            ReadError::Codec(_) => self.given_up.extend(self.tasks.pop_front()),
            ReadError::Sql(_) => {
                self.paused_until = Instant::now() + AFTER_ERROR;
                self.look_at = self.look_at.max(self.paused_until);
            }
        }
    }

    fn slice(&mut self, db: &mut Connection, runs: &mut OpenRuns, begun: Instant) -> Result<(), ReadError> {
        if begun >= self.look_at {
            self.look_at = begun + LOOK_EVERY;
            for task in thin::due(db, self.retention, Timestamp::now())? {
                self.add(task);
            }
            return Ok(());
        }
        let Some(task) = self.tasks.front().copied() else { return Ok(()) };
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut is_done = false;
        while !is_done && begun.elapsed() < SLICE {
            is_done = self.step(&transaction, runs, task)?;
        }
        transaction.commit()?;
        if is_done {
            self.tasks.pop_front();
            self.follow(task, runs);
        }
        Ok(())
    }

    /// One step of a task; true if it was the last.
    fn step(&mut self, db: &Connection, runs: &mut OpenRuns, task: Task) -> Result<bool, ReadError> {
        match task {
            Task::RollUp(run) => roll_up::step(db, run, self.rolling.entry(run).or_default()),
            Task::Thin(run) => {
                runs.shared.forget_series(run);
                Ok(self.delete(|most| thin::thin(db, run, most))?)
            }
            Task::Remove(run) => {
                // If this transaction is undone, the run is hidden all the same, and removed later.
                if let Some(id) = thin::hide(db, run)? {
                    runs.hide(id, run);
                }
                Ok(self.delete(|most| thin::remove(db, run, most))?)
            }
            Task::GiveBack => Ok(self.delete(|most| thin::give_back(db, most))?),
        }
    }

    /// Deletes some rows, and learns from the time that it took how many to take next.
    fn delete(&mut self, some: impl Fn(i64) -> rusqlite::Result<bool>) -> rusqlite::Result<bool> {
        let begun = Instant::now();
        let is_done = some(self.batch)?;
        let took = begun.elapsed();
        if took < SLICE / 6 {
            self.batch = (self.batch * 2).min(4_096);
        } else if took > SLICE / 3 {
            self.batch = (self.batch / 2).max(4);
        }
        Ok(is_done)
    }

    /// What comes after a task.
    fn follow(&mut self, task: Task, runs: &OpenRuns) {
        match task {
            Task::RollUp(run) => {
                if !runs.goes_on(run) {
                    self.rolling.remove(&run);
                    // One more that is over: there may be too many, and it may be old itself.
                    self.look_at = Instant::now();
                }
            }
            Task::Thin(_) | Task::Remove(_) => self.add(Task::GiveBack),
            Task::GiveBack => {}
        }
    }
}
