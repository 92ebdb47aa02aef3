//! One run as this process knows it: the decider's state, what its page and stream show, and who waits for it. The
//! driver writes, everybody else reads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use volley_lifecycle::{Level, Note, Run};
use volley_plan::link::Incarnation;
use volley_stats::{ErrorKind, Health, Part, SECOND_NS, SealedWindow};
use volley_web::stream::{LogLine, ThresholdTotals, Tick};

use crate::document::{Facts, Late, Progress, QueuePlace, RunDocument, ns_to_s, progress, run_s};
use crate::feed::{Feed, SharedFeed};
use crate::fleet::AgentView;
use crate::outliers::Outliers;
use crate::store::{SharedSeries, Strain};
use crate::thresholds::{Broken, Thresholds};
use crate::timeline::{Gaps, Timeline};
use crate::view;

mod decide;
mod head;

use decide::Aside;
pub(crate) use head::Head;

/// Seconds of which the agents' strain stays in memory, the latest ones: all that are told by the second, and more.
const STRAINS: usize = 7_200;

/// What changes.
struct Inner {
    run: Run,
    /// Where it stands while it waits for its turn. Until then the decider has nothing to decide, and is not asked.
    queue: Option<QueuePlace>,
    seen: BTreeMap<ErrorKind, (u32, u32)>,
    strains: BTreeMap<u32, Strain>,
    /// How each agent was in the latest second that it has reported.
    healths: BTreeMap<Incarnation, (u32, Health)>,
    outliers: Outliers,
    thresholds: Thresholds,
    /// How far the agents' clocks were off when they were first looked at after the start.
    offsets: BTreeMap<Incarnation, i128>,
    late: Late,
    aside: Aside,
}

/// What was read back of a run that goes on since before this coordinator was started.
#[derive(Default)]
pub(crate) struct Recalled {
    /// What its stream says, as far as seconds were complete.
    pub(crate) feed: Feed,
    /// First and last second of each error kind.
    pub(crate) seen: BTreeMap<ErrorKind, (u32, u32)>,
    /// How hard the agents were at work, by second.
    pub(crate) strains: BTreeMap<u32, Strain>,
    /// How the thresholds stood.
    pub(crate) thresholds: Vec<ThresholdTotals>,
    /// The seconds before this one are complete.
    pub(crate) complete_s: u32,
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
    /// What is in flight at the end that somebody asks for is to be cut off.
    cuts_off: AtomicBool,
    /// Something was decided beside the driver: it is to be carried out, or the run to be looked at anew.
    pub(crate) decided: Notify,
}

/// Which agents of the fleet take part, for what only the fleet knows of them.
pub(crate) type AgentViews = BTreeMap<Incarnation, AgentView>;

impl Live {
    /// A run that has just been asked for.
    pub(crate) fn new(head: Head, run: Run, series: SharedSeries) -> Self {
        Self::resumed(head, run, series, Recalled::default())
    }

    /// A run that goes on.
    pub(crate) fn resumed(head: Head, run: Run, series: SharedSeries, recalled: Recalled) -> Self {
        let Recalled { feed, seen, strains, thresholds, complete_s } = recalled;
        let thresholds = Thresholds::of(&head.plan, &thresholds, complete_s);
        let warmup_s = head.plan.load.warmup_ns().div_ceil(SECOND_NS);
        Self {
            head,
            series,
            inner: Mutex::new(Inner {
                run,
                queue: None,
                seen,
                strains,
                healths: BTreeMap::new(),
                outliers: Outliers::after(u32::try_from(warmup_s).unwrap_or(u32::MAX)),
                thresholds,
                offsets: BTreeMap::new(),
                late: Late::default(),
                aside: Aside::default(),
            }),
            feed: Arc::new(SharedFeed::new(feed)),
            over: watch::Sender::new(false),
            kept: AtomicBool::new(false),
            stop: Notify::new(),
            cuts_off: AtomicBool::new(false),
            decided: Notify::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run that waits for its turn. Its decider is only asked, until it is replaced.
    pub(crate) fn queued(head: Head, run: Run, series: SharedSeries, place: QueuePlace) -> Self {
        let live = Self::new(head, run, series);
        live.inner().queue = Some(place);
        live
    }

    /// It waits for its turn.
    pub(crate) fn is_queued(&self) -> bool {
        self.inner().queue.is_some()
    }

    /// It stands here while it waits for its turn; true if that is news. Its turn may have come meanwhile.
    pub(crate) fn stands_at(&self, place: QueuePlace) -> bool {
        let queue = &mut self.inner().queue;
        let is_news = queue.as_ref().is_some_and(|before| *before != place);
        if is_news {
            *queue = Some(place);
        }
        is_news
    }

    /// It is its turn: from now on this is what decides.
    pub(crate) fn begin(&self, run: Run) {
        let mut inner = self.inner();
        (inner.run, inner.queue, inner.aside) = (run, None, Aside::default());
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

    /// What is in flight at the end that somebody asks for is to be cut off.
    pub(crate) fn cut_off_at_stop(&self) {
        self.cuts_off.store(true, Ordering::Release);
    }

    /// Whether it is.
    pub(crate) fn cuts_off_at_stop(&self) -> bool {
        self.cuts_off.load(Ordering::Acquire)
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
    pub(crate) fn see(&self, agent: Incarnation, window: &SealedWindow) {
        let mut inner = self.inner();
        for (second, health) in &window.health {
            inner.strains.entry(*second).or_default().merge(Strain::of(health));
            inner.outliers.see(agent, *second, health);
        }
        inner.note_health(agent, window);
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

    /// Holds the agents against each other in the seconds before this one, and tells of those that have turned out to
    /// differ.
    pub(crate) fn compare_agents(&self, below_s: u32) {
        let told = self.inner().outliers.compare(below_s);
        for (agent, words) in told {
            let name = self.ask(|run| {
                run.agents().find(|of| of.facts.incarnation == agent).map(|of| of.facts.name.clone())
            });
            let name = name.unwrap_or_else(|| agent.to_string());
            let text = format!("agent {name} differs from its peers: {words}");
            self.note(&Note { at_run_ns: Some(u64::from(below_s) * SECOND_NS), level: Level::Warn, text });
        }
    }

    /// Holds the seconds before this one, which are complete, against what the plan demands. Gives what was found broken.
    pub(crate) fn judge(&self, below_s: u32) -> Vec<Broken> {
        let mut inner = self.inner();
        let series = self.series.lock();
        let Inner { run, thresholds, .. } = &mut *inner;
        thresholds.judge(below_s, run, &series).unwrap_or_else(|error| {
            tracing::error!(run = %self.head.id, below_s, %error, "a second cannot be read, and isn't judged");
            Vec::new()
        })
    }

    /// How each agent was in the latest second that it has reported, and how those that do differ from their peers.
    pub(crate) fn fitness(&self) -> (BTreeMap<Incarnation, Health>, BTreeMap<Incarnation, String>) {
        let inner = self.inner();
        let healths = inner.healths.iter().map(|(agent, (_, health))| (*agent, *health)).collect();
        (healths, inner.outliers.said())
    }

    /// Counts what came after the end.
    pub(crate) fn count_late(&self, window: &SealedWindow) {
        self.inner().late.add(window);
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

    /// The seconds of which lost agents left something open.
    pub(crate) fn open_seconds(&self) -> impl Iterator<Item = u32> + use<> {
        let seconds: Vec<_> = self.ask(Gaps::of).seconds().collect();
        seconds.into_iter()
    }

    /// One complete second as the stream tells it.
    pub(crate) fn tick(&self, second: u32, now_ns: u64) -> Tick {
        let strain = self.inner().strains.get(&second).copied().unwrap_or_default();
        let merged = self.series.lock().second(second);
        let merged = merged.unwrap_or_else(|error| {
            tracing::error!(run = %self.head.id, second, %error, "a second cannot be read");
            Default::default()
        });
        let tick = self.ask(|run| {
            let timeline = Timeline::of(run.load(), run.end_run_ns(), Gaps::of(run));
            view::tick((second, second + 1), &merged, strain, &timeline)
        });
        Tick { elapsed_s: self.run_s(now_ns), ..tick }
    }

    /// What changes while the run goes on.
    pub(crate) fn progress(&self, agents: &AgentViews, now_ns: u64) -> Progress {
        let mut inner = self.inner();
        inner.note_offsets(agents, now_ns);
        let series = self.series.lock();
        let Inner { run, seen, late, offsets, outliers, thresholds, .. } = &*inner;
        let outliers = &outliers.said();
        let late = *late;
        let so_far = progress(&Facts {
            run,
            series: &series,
            seen,
            thresholds,
            late,
            agents,
            offsets,
            outliers,
            now_ns,
        });
        match &inner.queue {
            Some(place) => so_far.queued(place.clone()),
            None => so_far,
        }
    }

    /// The whole document.
    pub(crate) fn document(&self, agents: &AgentViews, now_ns: u64) -> RunDocument {
        let progress = self.progress(agents, now_ns);
        let (log, log_lines_dropped) = self.feed.read(Feed::lines);
        let started_at = || self.ask(Run::start_ns).and_then(|start_ns| self.head.at(start_ns));
        let started_at = self.head.started_at.clone().or_else(started_at);
        RunDocument { started_at, log, log_lines_dropped, ..self.head.document(progress) }
    }
}

impl Inner {
    fn note_health(&mut self, agent: Incarnation, window: &SealedWindow) {
        let Some((&second, health)) = window.health.last_key_value() else { return };
        let latest = self.healths.entry(agent).or_insert((second, *health));
        if second >= latest.0 {
            *latest = (second, *health);
        }
    }

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
