//! One run as this process knows it: the decider's state, what its page and stream show, and who waits for it. The
//! driver writes, everybody else reads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};
use volley_lifecycle::{Action, Event, Level, Note, Run, State};
use volley_plan::Plan;
use volley_plan::link::{Incarnation, RunId, WindowFacts};
use volley_stats::{ErrorKind, Part, SECOND_NS, Window};
use volley_web::stream::{LogLine, Tick};

use crate::document::{DOCUMENT_VERSION, Facts, Late, Progress, RunDocument, ns_to_s, progress, run_s};
use crate::feed::{Feed, SharedFeed};
use crate::fleet::AgentView;
use crate::store::{SharedSeries, Strain};
use crate::timeline::Timeline;
use crate::view;

/// Seconds of which the agents' strain stays in memory, the latest ones: all that are told by the second, and more.
const STRAINS: usize = 7_200;

/// What stays the same all through a run.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) note: Option<String>,
    /// When it was asked for, by the wall clock and by the coordinator's.
    pub(crate) created_at: Timestamp,
    pub(crate) created_ns: u64,
}

/// What changes.
struct Inner {
    run: Run,
    seen: BTreeMap<ErrorKind, (u32, u32)>,
    strains: BTreeMap<u32, Strain>,
    /// How far the agents' clocks were off when they were first looked at after the start.
    offsets: BTreeMap<Incarnation, i128>,
    late: Late,
}

/// One run.
pub(crate) struct Live {
    pub(crate) head: Head,
    series: SharedSeries,
    inner: Mutex<Inner>,
    feed: Arc<SharedFeed>,
    over: watch::Sender<bool>,
    /// The store has the run as it ended.
    kept: AtomicBool,
    /// Somebody asked for the run's end. Apart from the driver's other inputs, so that it can't be held up by them.
    pub(crate) stop: Notify,
}

/// Which agents of the fleet take part, for what only the fleet knows of them.
pub(crate) type AgentViews = BTreeMap<Incarnation, AgentView>;

impl Live {
    pub(crate) fn new(head: Head, run: Run, series: SharedSeries) -> Self {
        Self {
            head,
            series,
            inner: Mutex::new(Inner {
                run,
                seen: BTreeMap::new(),
                strains: BTreeMap::new(),
                offsets: BTreeMap::new(),
                late: Late::default(),
            }),
            feed: Arc::new(SharedFeed::new(Feed::default())),
            over: watch::Sender::new(false),
            kept: AtomicBool::new(false),
            stop: Notify::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the decider decide.
    pub(crate) fn handle(&self, now_ns: u64, event: Event) -> Vec<Action> {
        self.inner().run.handle(now_ns, event)
    }

    /// Asks the decider.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Run) -> T) -> T {
        question(&self.inner().run)
    }

    pub(crate) fn is_gathering(&self) -> bool {
        self.ask(|run| matches!(run.state(), State::Gathering { .. }))
    }

    /// The feed, for those who read it.
    pub(crate) fn feed(&self) -> &Arc<SharedFeed> {
        &self.feed
    }

    /// Becomes true once the run is over and all of it is kept and published.
    pub(crate) fn over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    /// The run is over, and all of it is kept and published.
    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// The store has the run as it ended, so it can be read from there.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Acquire)
    }

    pub(crate) fn set_kept(&self) {
        self.kept.store(true, Ordering::Release);
    }

    pub(crate) fn set_over(&self) {
        self.over.send_replace(true);
    }

    /// Adds a line to the event log.
    pub(crate) fn note(&self, note: &Note) {
        let at_s = note.at_run_ns.map_or(0.0, ns_to_s);
        let level = match note.level {
            Level::Info => "info",
            Level::Warn => "warn",
        };
        let line = LogLine { at_s, text: note.text.clone(), level: level.to_owned() };
        self.feed.publish(|feed| feed.log(line));
    }

    /// Remembers when each kind of error was first and last seen, and how hard the agents were at work.
    pub(crate) fn see(&self, window: &Window) {
        let mut inner = self.inner();
        for (second, health) in &window.health {
            inner.strains.entry(*second).or_default().merge(Strain::of(health));
        }
        while inner.strains.len() > STRAINS {
            inner.strains.pop_first();
        }
        for (key, row) in window.rows.iter().filter(|(key, _)| key.part == Part::Measured) {
            for (kind, _) in row.counters.errors.iter() {
                let last_s = key.to_s.saturating_sub(1);
                let (first, last) = inner.seen.entry(kind).or_insert((key.from_s, last_s));
                (*first, *last) = ((*first).min(key.from_s), (*last).max(last_s));
            }
        }
    }

    /// Counts what came after the end.
    pub(crate) fn count_late(&self, window: &Window) {
        let facts = WindowFacts::counted(window);
        let late = &mut self.inner().late;
        late.windows += 1;
        for (sum, more) in [
            (&mut late.started, facts.started),
            (&mut late.ok, facts.ok),
            (&mut late.failed, facts.failed),
            (&mut late.cancelled, facts.cancelled),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// Seconds from the start that are complete: those that every live agent has reported and that have passed; all of
    /// them once the run is over.
    pub(crate) fn complete_s(&self, now_ns: u64) -> u32 {
        let (start_ns, watermark_s, over) =
            self.ask(|run| (run.start_ns(), run.watermark_s(), run.outcome().is_some()));
        let Some(start_ns) = start_ns else { return 0 };
        // Agents are not trusted with the future: their clocks may be a little ahead, and what they say may be wrong.
        let begun = now_ns.saturating_sub(start_ns).div_ceil(SECOND_NS);
        let begun = u32::try_from(begun).unwrap_or(u32::MAX);
        // Never both locks in this order: others take the series' lock while they hold the inner one.
        let end_s = if over { self.series.lock().end_s() } else { watermark_s };
        let length_s = if over { self.length_s() } else { 0 };
        end_s.max(length_s).min(begun)
    }

    /// The run in seconds until the load's end, rounded up; 0 while it goes on.
    pub(crate) fn length_s(&self) -> u32 {
        let length_ns = self.ask(Run::end_run_ns).unwrap_or(0);
        u32::try_from(length_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
    }

    /// Run time so far, or at the end of the load, in seconds.
    pub(crate) fn run_s(&self, now_ns: u64) -> f64 {
        self.ask(|run| run_s(run, now_ns))
    }

    /// What the plan says of the run's seconds.
    pub(crate) fn timeline(&self) -> Timeline<'_> {
        Timeline::of(&self.head.plan, self.ask(Run::end_run_ns))
    }

    /// One complete second as the stream tells it.
    pub(crate) fn tick(&self, second: u32, now_ns: u64) -> Tick {
        let strain = self.inner().strains.get(&second).copied().unwrap_or_default();
        let merged = self.series.lock().second(second);
        let merged = merged.unwrap_or_else(|error| {
            tracing::error!(run = %self.head.id, second, %error, "a second cannot be read");
            Default::default()
        });
        let tick = view::tick((second, second + 1), &merged, strain, &self.timeline());
        Tick { elapsed_s: self.run_s(now_ns), ..tick }
    }

    /// What changes while the run goes on.
    pub(crate) fn progress(&self, agents: &AgentViews, now_ns: u64) -> Progress {
        let mut inner = self.inner();
        inner.note_offsets(agents, now_ns);
        let series = self.series.lock();
        let Inner { run, seen, late, offsets, .. } = &*inner;
        progress(&Facts { run, series: &series, seen, late: *late, agents, offsets, now_ns })
    }

    /// The whole document.
    pub(crate) fn document(&self, agents: &AgentViews, now_ns: u64) -> RunDocument {
        let progress = self.progress(agents, now_ns);
        let (log, log_lines_dropped) = self.feed.read(Feed::lines);
        let started_at = self.ask(Run::start_ns).and_then(|start_ns| self.head.at(start_ns));
        RunDocument { started_at, log, log_lines_dropped, ..self.head.document(progress) }
    }
}

impl Inner {
    /// An offset says nothing by itself, since the clocks count from different moments; what it grows by does.
    fn note_offsets(&mut self, agents: &AgentViews, now_ns: u64) {
        if self.run.start_ns().is_some_and(|start_ns| start_ns <= now_ns) {
            for (agent, view) in agents {
                if let (Some(offset_ns), true) = (view.offset_ns, view.way_ns.is_some()) {
                    self.offsets.entry(*agent).or_insert(offset_ns);
                }
            }
        }
    }
}

impl Head {
    /// The document of a run that has only been asked for.
    pub(crate) fn document(&self, progress: Progress) -> RunDocument {
        RunDocument {
            volley: DOCUMENT_VERSION,
            id: self.id.clone(),
            name: self.plan.name.clone(),
            note: self.note.clone(),
            created_at: to_the_millisecond(self.created_at),
            started_at: None,
            load: self.plan.load_in_words(),
            target: self.plan.url(),
            plan: self.plan.canonical_json(),
            plan_hash: self.plan.hash().to_string(),
            progress,
            log: Vec::new(),
            log_lines_dropped: 0,
        }
    }

    /// A moment of the coordinator's clock by the wall clock, dated from the run's creation: a step of the wall
    /// clock in mid-run doesn't move it.
    fn at(&self, clock_ns: u64) -> Option<String> {
        let after = i64::try_from(clock_ns.saturating_sub(self.created_ns)).ok()?;
        let moment = self.created_at.checked_add(SignedDuration::from_nanos(after)).ok()?;
        Some(to_the_millisecond(moment))
    }
}

fn to_the_millisecond(moment: Timestamp) -> String {
    format!("{moment:.3}")
}
