//! A run of an engine, with the test in the coordinator's place.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use volley_engine::{Clock, Command, Engine, Event, Listening, Setup, Spin};
use volley_plan::allow::AllowList;
use volley_plan::link::Share;
use volley_plan::{Amount, Ledger, Model, Plan, Request, Step};
use volley_stats::{AddressCounts, Addresses, Counters, ErrorKind, Iterations, SECOND_NS, TotalRow, Window};

/// No test waits longer for one event.
const PATIENCE: Duration = Duration::from_secs(30);
/// A lease that doesn't end.
pub(crate) const FOR_EVER: u64 = 1 << 60;

/// The plan of the short form, with `rest` for everything but the target.
pub(crate) fn plan(address: SocketAddr, rest: &str) -> Plan {
    volley_plan::parse(&format!("target: http://{address}/\n{}", rest.replace(", ", "\n"))).unwrap()
}

/// The same with a second step, whose path is `/second`.
pub(crate) fn two_steps(address: SocketAddr, rest: &str) -> Plan {
    let mut plan = plan(address, rest);
    let mut second = plan.requests().next().unwrap().clone();
    second.path = "/second".to_owned();
    plan.scenarios[0].steps.push(Step::Request(second));
    plan
}

/// The first request of a plan.
pub(crate) fn first(plan: &mut Plan) -> &mut Request {
    let Step::Request(request) = &mut plan.scenarios[0].steps[0] else { panic!("no request") };
    request
}

/// An engine that a test drives.
pub(crate) struct Run {
    engine: Option<Engine>,
    events: UnboundedReceiver<Event>,
    clock: Clock,
    users: u32,
    ledger: Option<Ledger>,
    /// The most that is granted at once.
    pub(crate) grant_bound: u64,
    /// Whether windows may add to seconds that were complete: what waited for a lease is filed by when it was due.
    pub(crate) late_rows: bool,
    report: Report,
}

/// What a run reported in all.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) windows: Vec<Window>,
    pub(crate) total: TotalRow,
    pub(crate) iterations: Iterations,
    pub(crate) grants: u32,
}

impl Report {
    pub(crate) fn counters(&self) -> &Counters {
        &self.total.counters
    }

    /// The failures by kind.
    pub(crate) fn errors(&self) -> Vec<(ErrorKind, u64)> {
        self.counters().errors.iter().collect()
    }

    /// Connections, failures and requests by address.
    pub(crate) fn addresses(&self) -> Vec<(String, u64, u64, u64)> {
        let mut sum = Addresses::default();
        self.windows.iter().for_each(|window| sum.merge(&window.addresses));
        let of = |(address, counts): (&str, &AddressCounts)| {
            (address.to_owned(), counts.connections, counts.failures, counts.requests)
        };
        sum.iter().map(of).collect()
    }

    /// The largest number of users, of connections and of requests in flight that a second shows.
    pub(crate) fn scalars_max(&self) -> (u32, u32, u32) {
        let seconds = || self.windows.iter().flat_map(|window| window.seconds.values());
        (
            seconds().map(|second| second.users).max().unwrap_or(0),
            seconds().map(|second| second.connections).max().unwrap_or(0),
            seconds().map(|second| second.in_flight).max().unwrap_or(0),
        )
    }

    fn add(&mut self, window: Window) {
        for row in window.rows.values() {
            self.total.merge(row);
        }
        let iterations = window.iterations();
        self.iterations.started += iterations.started;
        self.iterations.finished += iterations.finished;
        self.iterations.missed += iterations.missed;
        self.windows.push(window);
    }

    /// What holds of every run.
    fn check(&self) {
        let counters = self.counters();
        assert_eq!(counters.fault(), None);
        assert_eq!(counters.started, counters.ok + counters.failed + counters.cancelled);
        assert_eq!(self.total.latency.count(), counters.ok);
        assert_eq!(self.total.failed_latency.count(), counters.failed);
        assert_eq!(self.total.cancelled_age.count(), counters.cancelled);
        self.check_health();
        let watermarks: Vec<u32> = self.windows.iter().map(|window| window.watermark_s).collect();
        assert!(watermarks.is_sorted(), "{watermarks:?}");
        for window in &self.windows {
            assert!(
                window.rows.keys().all(|key| key.to_s == key.from_s + 1 && key.to_s <= window.watermark_s)
            );
            let end_ns = u64::from(window.watermark_s) * SECOND_NS;
            assert!(window.latest_ns <= end_ns, "{} is after {end_ns}", window.latest_ns);
        }
    }
}

impl Report {
    /// Nothing was added to a second that had been complete.
    fn check_order(&self) {
        for pair in self.windows.windows(2) {
            let watermark_s = pair[0].watermark_s;
            assert!(pair[1].rows.keys().all(|key| key.from_s >= watermark_s), "a row below the watermark");
            assert!(pair[1].seconds.keys().all(|&second| second >= watermark_s));
        }
    }

    /// Each second says once how the generator was.
    fn check_health(&self) {
        let seconds = |window: &Window| window.seconds.keys().copied().collect::<Vec<_>>();
        let examined = |window: &Window| window.health.keys().copied().collect::<Vec<_>>();
        let mut last = None;
        for window in &self.windows {
            let completed =
                seconds(window).into_iter().filter(|&second| last < Some(second)).collect::<Vec<_>>();
            last = completed.last().copied().or(last);
            assert_eq!(examined(window), completed);
            let spans = || window.health.values().map(|health| health.span_ns);
            assert!(spans().all(|span_ns| span_ns < 20 * SECOND_NS), "{:?}", window.health);
            assert!(completed.is_empty() || spans().sum::<u64>() > 0);
        }
    }
}

impl Run {
    /// Launches an engine for the whole plan and waits until it is ready.
    pub(crate) async fn ready(plan: Plan, workers: usize) -> Self {
        let mut run = Self::launch(plan, workers);
        assert_eq!(run.event().await, Event::Ready);
        run
    }

    pub(crate) fn launch(plan: Plan, workers: usize) -> Self {
        let share = Share::all(&plan);
        Self::launch_share(plan, share, workers, AllowList::anything())
    }

    /// The same with a folder for files that the plan names.
    pub(crate) fn launch_with_files(plan: Plan, workers: usize, files: Option<PathBuf>) -> Self {
        let share = Share::all(&plan);
        Self::launch_setup(plan, share, workers, AllowList::anything(), files)
    }

    /// An engine for a share of a plan, which may be sent to these targets.
    pub(crate) fn launch_share(plan: Plan, share: Share, workers: usize, allow: AllowList) -> Self {
        Self::launch_setup(plan, share, workers, allow, None)
    }

    /// An engine for the whole plan whose requests somebody is told of.
    pub(crate) fn launch_heard(plan: Plan, workers: usize, listener: Listening) -> Self {
        let share = Share::all(&plan);
        Self::launch_told(plan, share, workers, (AllowList::anything(), None, Some(listener)))
    }

    fn launch_setup(
        plan: Plan,
        share: Share,
        workers: usize,
        allow: AllowList,
        files: Option<PathBuf>,
    ) -> Self {
        Self::launch_told(plan, share, workers, (allow, files, None))
    }

    fn launch_told(
        plan: Plan,
        share: Share,
        workers: usize,
        (allow, files, listener): (AllowList, Option<PathBuf>, Option<Listening>),
    ) -> Self {
        let (granted, users) = match &plan.load.model {
            Model::Closed(load) => match load.iterations {
                Some(Amount::InAll(iterations)) => (Some(iterations), load.users.most()),
                _ => (None, load.users.most()),
            },
            Model::Open(_) => (None, 0),
        };
        let (clock, spin, plan) = (Clock::start(), Spin::Auto, Arc::new(plan));
        let allow = Arc::new(allow);
        let adjusted = Vec::new();
        let setup = Setup { plan, share, adjusted, allow, workers, seed: 1, clock, spin, files, listener };
        let (engine, events) = Engine::launch(setup);
        Self {
            engine: Some(engine),
            events,
            clock,
            users,
            ledger: granted.map(Ledger::new),
            grant_bound: u64::MAX,
            late_rows: false,
            report: Report::default(),
        }
    }

    /// Waits until it is ready, and starts it now.
    pub(crate) async fn starts(&mut self) {
        assert_eq!(self.event().await, Event::Ready);
        self.start(FOR_EVER);
    }

    /// Waits until it refuses; says why.
    pub(crate) async fn refuses(&mut self) -> String {
        match self.event().await {
            Event::Refused { reason } => reason,
            other => panic!("{other:?} in place of a refusal"),
        }
    }

    /// What the engine's clock reads.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub(crate) fn command(&self, command: Command) {
        self.engine.as_ref().unwrap().command(command);
    }

    /// Starts now, with this lease and the first grant.
    pub(crate) fn start(&mut self, lease_until_ns: u64) {
        let (users, bound) = (self.users, self.grant_bound);
        if let Some(first) = self.ledger.as_mut().map(|ledger| match bound {
            u64::MAX => ledger.first(users, users),
            bound => ledger.more(bound, 1),
        }) {
            self.grant(first);
        }
        self.command(Command::Start { at_ns: self.clock.now_ns(), from_ns: 0, lease_until_ns });
    }

    fn grant(&mut self, range: std::ops::Range<u64>) {
        let last = self.ledger.as_ref().unwrap().remaining() == 0;
        self.report.grants += 1;
        self.command(Command::Grant { from: range.start, to: range.end, last });
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Event {
        let event = tokio::time::timeout(PATIENCE, self.events.recv()).await;
        event.expect("an event in time").expect("the events have not ended")
    }

    /// Takes events and answers wishes until a window came; true when it was the last one.
    pub(crate) async fn window(&mut self) -> bool {
        loop {
            match self.event().await {
                Event::GrantWanted { taken, iterations } => {
                    let bound = self.grant_bound;
                    let ledger = self.ledger.as_mut().expect("a plan with a number of requests");
                    assert!(iterations >= 2 * u64::from(self.users));
                    assert!(ledger.remaining() > 0, "a grant was wanted after the last one");
                    let more = ledger.more(iterations.min(bound), 1);
                    assert_eq!(taken, more.start, "the end of the last grant");
                    self.grant(more);
                }
                Event::Window { window, last } => {
                    self.report.add(window);
                    return last;
                }
                other => panic!("{other:?} in the middle of a run"),
            }
        }
    }

    /// Goes on until the last window, makes sure that nothing follows, and gives what was reported.
    pub(crate) async fn finish(mut self) -> Report {
        while !self.window().await {}
        let after = tokio::time::timeout(PATIENCE, self.events.recv()).await;
        assert_eq!(after.expect("the events end in time"), None);
        self.engine = None;
        self.report.check();
        if !self.late_rows {
            self.report.check_order();
        }
        self.report
    }
}

/// The whole run of a plan.
pub(crate) async fn run(plan: Plan, workers: usize) -> Report {
    let mut run = Run::ready(plan, workers).await;
    run.start(FOR_EVER);
    run.finish().await
}
