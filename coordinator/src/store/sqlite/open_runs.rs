//! What the writer knows of the runs that are being written to: merged results that are not in their final form yet, and
//! which windows are kept.
//!
//! One rule makes restarts simple: a window in `messages` (that was not late) is in no other table; merging moves it, in
//! one transaction. So what is kept of a run is always its merged results plus its messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _, params};
use volley_plan::link::{Incarnation, RunId, WindowFacts};
use volley_stats::{DecodeError, Health, Part, RowKey, SealedWindow, Second, StepId};

use super::codec::{self, Cause};
use super::read;
use super::{Shared, SharedSeries, StoreError, sql};
use crate::store::Strain;
use crate::store::sequences::Sequences;

/// Runs that are over and still open, because a late window may come again soon.
const MAX_OVER: usize = 32;
/// Seconds whose rows stay in memory below the complete ones: most late rows find theirs there.
const STAY_S: u32 = 60;
/// How long rows stay in memory that were brought back for a late row: whoever shows its second comes soon.
const STAY: Duration = Duration::from_secs(5);

/// What one agent has reported in windows that are not merged yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported {
    pub(super) iterations: u64,
    pub(super) started: u64,
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
}

/// What of a run is not in its final form yet.
#[derive(Debug, Default)]
pub(super) struct Unmerged {
    /// Keys of the messages.
    pub(super) messages: Vec<i64>,
    /// Rows, scalars and totals that those add to.
    pub(super) rows: BTreeSet<RowKey>,
    pub(super) seconds: BTreeSet<u32>,
    pub(super) totals: BTreeSet<(Part, StepId)>,
    /// Whether any of them tells of addresses.
    pub(super) has_addresses: bool,
    /// What they say by agent.
    pub(super) agents: BTreeMap<Incarnation, Reported>,
    pub(super) agent_seconds: BTreeMap<(u32, Incarnation), Second>,
    pub(super) health: BTreeMap<(u32, Incarnation), Health>,
    pub(super) strains: BTreeMap<u32, Strain>,
}

impl Unmerged {
    /// Notes what a window touches. It is in the series already, or will be at once.
    fn touch(&mut self, message: i64, agent: Incarnation, window: &SealedWindow) {
        self.messages.push(message);
        for key in window.rows.keys() {
            self.rows.insert(*key);
            self.totals.insert((key.part, key.step));
        }
        self.has_addresses |= !window.addresses.is_empty();
        self.seconds.extend(window.seconds.keys());
        for (second, scalars) in &window.seconds {
            self.agent_seconds.entry((*second, agent)).or_default().merge(scalars);
        }
        for (second, health) in &window.health {
            self.health.entry((*second, agent)).or_default().merge(health);
            self.strains.entry(*second).or_default().merge(Strain::of(health));
        }
        let facts = WindowFacts::counted(window);
        let sum = self.agents.entry(agent).or_default();
        for (sum, more) in [
            (&mut sum.iterations, facts.iterations.started),
            (&mut sum.started, facts.started),
            (&mut sum.ok, facts.ok),
            (&mut sum.failed, facts.failed),
            (&mut sum.cancelled, facts.cancelled),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// One run.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) key: i64,
    pub(super) over: bool,
    pub(super) series: SharedSeries,
    /// Rows that begin before this second may be on disk alone.
    pub(super) let_go_s: u32,
    pub(super) sequences: BTreeMap<Incarnation, Sequences>,
    pub(super) unmerged: Unmerged,
    /// Seconds before it are known to be complete.
    pub(super) complete_s: u32,
    /// Seconds that late rows came for, and when.
    late: BTreeMap<u32, Instant>,
    used: u64,
}

impl OpenRun {
    /// A run of which nothing is there yet.
    pub(super) fn new(key: i64, over: bool) -> Self {
        Self {
            key,
            over,
            series: SharedSeries::default(),
            let_go_s: 0,
            sequences: BTreeMap::new(),
            unmerged: Unmerged::default(),
            complete_s: 0,
            late: BTreeMap::new(),
            used: 0,
        }
    }

    /// Reads a run. Rows stay on disk until something is added to them, but for the latest of a run that goes on, which
    /// are looked at all the time.
    pub(super) fn load(db: &Connection, run: &RunId) -> Result<Option<Self>, StoreError> {
        let text = "SELECT key, over, complete_s FROM runs WHERE id = ? AND NOT removed";
        let found = sql(db.prepare_cached(text).and_then(|mut statement| {
            let row = statement.query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            row.optional()
        }))?;
        let Some((key, over, complete_s)) = found else { return Ok(None) };
        let mut open = Self { complete_s, let_go_s: u32::MAX, ..Self::new(key, over) };
        let damaged = |source: Cause| StoreError::Damaged { run: run.clone(), source };
        read::put_back_totals(db, key, &mut open.series.lock()).map_err(|error| error.of(run))?;
        if !over {
            open.let_go_s = complete_s.saturating_sub(STAY_S);
            let latest = open.let_go_s..=u32::MAX;
            read::put_back_rows(db, key, latest, &mut open.series.lock()).map_err(|error| error.of(run))?;
        }
        open.sequences = sql(read::sequences(db, key))?;
        for message in sql(read::messages(db, key))? {
            open.sequences.entry(message.agent).or_default().insert(message.sequence);
            if !message.late {
                let window = codec::decode_window(message.form, &message.body);
                let window = window.map_err(|error| damaged(error.into()))?;
                open.put_back_rows_of(db, run, &window)?;
                let taken = open.take_in(message.key, message.agent, message.sequence, &window);
                taken.map_err(|error| damaged(error.into()))?;
            }
        }
        Ok(Some(open))
    }

    /// Brings the rows into memory that a window adds to.
    pub(super) fn put_back_rows_of(
        &mut self,
        db: &Connection,
        run: &RunId,
        window: &SealedWindow,
    ) -> Result<(), StoreError> {
        let of_rows = window.rows.keys().filter(|key| key.from_s < self.let_go_s);
        let of_rows: Vec<_> = of_rows.collect();
        let others = window.seconds.keys().chain(window.health.keys()).copied();
        let others: Vec<_> = others.filter(|&second| second < self.let_go_s).collect();
        if of_rows.is_empty() && others.is_empty() {
            return Ok(());
        }
        let mut series = self.series.lock();
        // Those that are there have all that the disk has, and maybe more.
        let absent = of_rows.into_iter().filter(|key| !series.has_row(key)).map(|key| key.from_s);
        let mut seconds: BTreeSet<u32> = absent.collect();
        // Whatever is added to a second, its span is written anew, from all of its rows.
        seconds.extend(others.into_iter().filter(|&second| series.rows_in(second) == 0));
        for second in seconds {
            read::put_back_rows(db, self.key, second..=second, &mut series).map_err(|error| error.of(run))?;
        }
        Ok(())
    }

    /// Adds a window that is on disk, and whose rows are in memory as far as there are any.
    ///
    /// # Errors
    /// See [`SharedSeries::add`].
    pub(super) fn take_in(
        &mut self,
        message: i64,
        agent: Incarnation,
        sequence: u64,
        window: &SealedWindow,
    ) -> Result<(), DecodeError> {
        self.sequences.entry(agent).or_default().insert(sequence);
        self.unmerged.touch(message, agent, window);
        self.series.add(window)
    }

    /// Lets go of rows that are on disk and that nobody is likely to need soon. `touched` are the seconds that were
    /// merged last.
    pub(super) fn let_go(&mut self, touched: impl Iterator<Item = u32>) {
        let below_s = self.complete_s.saturating_sub(STAY_S);
        let now = Instant::now();
        self.late.extend(touched.filter(|second| *second < below_s).map(|second| (second, now)));
        self.late.retain(|_, came| now.duration_since(*came) < STAY);
        self.series.lock().retain_rows(|key| key.to_s > below_s || self.late.contains_key(&key.from_s));
        self.let_go_s = self.let_go_s.max(below_s);
    }

    /// True if the window is kept already.
    pub(super) fn has(&self, agent: Incarnation, sequence: u64) -> bool {
        self.sequences.get(&agent).is_some_and(|sequences| sequences.contains(sequence))
    }

    /// Nothing of it is in memory alone, and nobody is waiting for more of it.
    fn may_close(&self) -> bool {
        self.over && self.unmerged.messages.is_empty()
    }
}

/// The runs that are being written to.
pub(super) struct OpenRuns {
    by_id: BTreeMap<RunId, OpenRun>,
    pub(super) shared: Arc<Shared>,
    uses: u64,
    /// Runs that were removed since somebody was last told.
    pub(super) dropped: Vec<RunId>,
    /// Runs in which housekeeping has something to look at.
    pub(super) touched: BTreeSet<i64>,
    /// Runs that are hidden, and are to be taken away.
    pub(super) removed: BTreeSet<i64>,
    /// Minutes that were undone by late rows, by run.
    pub(super) undone: BTreeSet<(i64, u32)>,
    /// Runs that were read from disk in the transaction at hand.
    read_now: Vec<RunId>,
}

impl OpenRuns {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            by_id: BTreeMap::new(),
            shared,
            uses: 0,
            dropped: Vec::new(),
            touched: BTreeSet::new(),
            removed: BTreeSet::new(),
            undone: BTreeSet::new(),
            read_now: Vec::new(),
        }
    }

    /// A run, read from disk if need be.
    pub(super) fn get(&mut self, db: &Connection, run: &RunId) -> Result<&mut OpenRun, StoreError> {
        self.uses += 1;
        let uses = self.uses;
        if !self.by_id.contains_key(run) {
            let open = OpenRun::load(db, run)?.ok_or_else(|| StoreError::NotFound(run.clone()))?;
            self.insert(run.clone(), open);
            self.read_now.push(run.clone());
        }
        let open = self.by_id.get_mut(run).ok_or_else(|| StoreError::NotFound(run.clone()))?;
        open.used = uses;
        Ok(open)
    }

    /// The run, if it is open.
    pub(super) fn known(&mut self, run: &RunId) -> Option<&mut OpenRun> {
        self.by_id.get_mut(run)
    }

    /// Opens a run.
    pub(super) fn insert(&mut self, run: RunId, open: OpenRun) {
        self.shared.set_growing(open.key, (!open.over).then(|| open.series.clone()));
        self.by_id.insert(run, open);
    }

    /// A transaction has come to its end. What was read in one that was undone is not believed; and runs that are over
    /// are closed where there are too many, those first that were used longest ago.
    pub(super) fn settle(&mut self, is_undone: bool) {
        for run in std::mem::take(&mut self.read_now) {
            if is_undone {
                self.close(&run);
            }
        }
        let closable = || self.by_id.iter().filter(|(_, open)| open.may_close());
        if closable().count() > MAX_OVER {
            let oldest = closable().min_by_key(|(_, open)| open.used).map(|(run, _)| run.clone());
            oldest.and_then(|run| self.by_id.remove(&run));
        }
    }

    /// Forgets what is in memory of a run; what is on disk is read again when needed.
    pub(super) fn close(&mut self, run: &RunId) {
        if let Some(open) = self.by_id.remove(run) {
            self.shared.set_growing(open.key, None);
        }
    }

    /// The run is being removed: nobody sees it any more.
    pub(super) fn hide(&mut self, run: RunId, key: i64) {
        self.close(&run);
        self.shared.forget(&run, key);
        self.dropped.push(run);
    }

    /// True if the run with this key is open and not over.
    pub(super) fn goes_on(&self, key: i64) -> bool {
        self.by_id.values().any(|open| open.key == key && !open.over)
    }
}

/// The key of a run; `None` if there is none.
pub(super) fn key_of(db: &Connection, run: &RunId) -> rusqlite::Result<Option<i64>> {
    let mut statement = db.prepare_cached("SELECT key FROM runs WHERE id = ? AND NOT removed")?;
    statement.query_row(params![run.as_str()], |row| row.get(0)).optional()
}
