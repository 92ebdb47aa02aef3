//! One agent in virtual time: it does its share of a plan, worker by worker, and gives everything that was measured.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

use tokio::runtime::LocalRuntime;
use tokio::sync::mpsc::unbounded_channel;
use volley_plan::allow::AllowList;
use volley_plan::link::{Hand, Share};
use volley_plan::{Adjust, Plan};
use volley_stats::{Histogram, Part, Row, RowKey, SECOND_NS, Second, Timed, Window};

use super::World;
use super::target::{ANSWER, Answers, Seen, Target};
use crate::control::Control;
use crate::deal::Deal;
use crate::dial;
use crate::files::Files;
use crate::merger::Merger;
use crate::recorder::Gauges;
use crate::reporter::ToReporter;
use crate::timer::Timer;
use crate::worker::{Lines, Worker, WorkerPlan};
use crate::{Command, Setup, Spin, prepare};

/// Run time 0 on the agent's clock: a number that nobody takes for a run time.
const START_NS: u64 = 7_000_000_123;
/// So long before its share counts an agent that joins is told to start.
const JOIN_LEAD_NS: u64 = SECOND_NS / 2;
/// A lease that doesn't end.
const FOR_EVER: u64 = 1 << 60;

/// An agent, its part of a plan, and what happens to it.
#[derive(Clone)]
pub(crate) struct Agent {
    plan: Arc<Plan>,
    share: Share,
    workers: usize,
    /// How the load was adjusted before.
    adjusted: Vec<Adjust>,
    /// From which run time on the share is its own.
    from_ns: u64,
    lease_until_ns: u64,
    /// What it is told when, in run time.
    commands: Vec<(u64, Command)>,
    /// When its process stands still, in run time.
    stands_still: Range<u64>,
    answers: Answers,
    /// When its target refuses connections, in run time.
    refuses: Range<u64>,
}

/// What an agent measured, and what the target saw.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) window: Window,
    pub(crate) seen: Vec<Seen>,
}

/// The plan of this text, without its target.
pub(crate) fn plan(text: &str) -> Plan {
    volley_plan::parse(&format!("target: http://target.test/\n{text}")).expect("a valid plan")
}

impl Agent {
    /// An agent that does all of a plan, against a target that takes so long for each answer.
    pub(crate) fn alone(text: &str, answer_ns: u64) -> Self {
        Self::doing(plan(text)).answered(move |seen| Some(seen.at_ns + answer_ns))
    }

    /// An agent that does all of a plan, against a target that answers nothing.
    pub(crate) fn doing(plan: Plan) -> Self {
        let share = Share::all(&plan);
        Self {
            plan: Arc::new(plan),
            share,
            workers: 1,
            adjusted: Vec::new(),
            from_ns: 0,
            lease_until_ns: FOR_EVER,
            commands: Vec::new(),
            stands_still: 0..0,
            answers: Rc::new(|_| Vec::new()),
            refuses: 0..0,
        }
    }

    /// Agent `index` of `agents`, which have its whole share between them.
    pub(crate) fn of(self, index: usize, agents: usize) -> Self {
        let share = self.shares(agents).swap_remove(index);
        self.with_share(share)
    }

    /// Its whole share, dealt to so many agents.
    pub(crate) fn shares(&self, agents: usize) -> Vec<Share> {
        let hands = vec![Hand { weight: 1, holds: None }; agents];
        self.share.dealt(&self.plan.load, &hands)
    }

    pub(crate) fn with_share(self, share: Share) -> Self {
        Self { share, ..self }
    }

    pub(crate) fn with_workers(self, workers: usize) -> Self {
        Self { workers, ..self }
    }

    /// It joins a run that goes on, with a load that was so adjusted, and hears of the start half a second before its share
    /// counts.
    pub(crate) fn joining(self, from_ns: u64, adjusted: &[Adjust]) -> Self {
        Self { from_ns, adjusted: adjusted.to_vec(), ..self }
    }

    pub(crate) fn with_lease(self, until_ns: u64) -> Self {
        Self { lease_until_ns: until_ns, ..self }
    }

    pub(crate) fn told(mut self, at_ns: u64, command: Command) -> Self {
        self.commands.push((at_ns, command));
        self
    }

    pub(crate) fn stopped(self, times_ns: Range<u64>) -> Self {
        Self { stands_still: times_ns, ..self }
    }

    /// With a target that answers at the run times that this gives.
    pub(crate) fn answered(self, at: impl Fn(&Seen) -> Option<u64> + 'static) -> Self {
        self.answered_by(move |seen| at(seen).map(|at_ns| (at_ns, ANSWER)).into_iter().collect())
    }

    /// With a target that answers in these pieces, each at its run time.
    pub(crate) fn answered_by(self, answers: impl Fn(&Seen) -> Vec<(u64, &'static [u8])> + 'static) -> Self {
        Self { answers: Rc::new(answers), ..self }
    }

    /// With a target that refuses connections within these run times, at their end.
    pub(crate) fn refused(self, times_ns: Range<u64>) -> Self {
        Self { refuses: times_ns, ..self }
    }

    pub(crate) fn run(self) -> Ran {
        let workers = self.control(World::new()).workers();
        let mut merger = Merger::new(workers);
        let mut seen = Vec::new();
        for index in 0..workers {
            seen.extend(self.run_worker(index, &mut merger));
        }
        seen.sort_by_key(|seen| seen.at_ns);
        Ran { window: merger.last(), seen }
    }

    fn control(&self, world: &'static World) -> Control {
        let setup = Setup {
            plan: Arc::clone(&self.plan),
            share: self.share.clone(),
            adjusted: self.adjusted.clone(),
            allow: Arc::new(AllowList::anything()),
            workers: self.workers,
            seed: 1,
            clock: world.clock(),
            spin: Spin::Off,
            files: None,
            listener: None,
        };
        Control::new(Deal::new(&setup).expect("a share of the plan"))
    }

    fn run_worker(&self, index: usize, merger: &mut Merger) -> Vec<Seen> {
        let world = World::new();
        world.stand_still(START_NS + self.stands_still.start..START_NS + self.stands_still.end);
        let runtime = world.runtime();
        let target = Target::new(world, START_NS, Rc::clone(&self.answers), self.refuses.clone());
        let control = Arc::new(self.control(world));
        let plan = WorkerPlan {
            plan: Arc::clone(&self.plan),
            requests: prepare::requests(&self.plan, &Files::new(None)).expect("requests"),
            index,
            workers: control.workers(),
            seed: 1,
            clock: world.clock(),
            spin: Spin::Off,
            listener: None,
        };
        let start =
            Command::Start { at_ns: START_NS, from_ns: self.from_ns, lease_until_ns: self.lease_until_ns };
        match self.from_ns.checked_sub(JOIN_LEAD_NS) {
            None => control.obey(start, 0).expect("a start"),
            Some(told_ns) => tell(world, &runtime, &control, told_ns, start),
        }
        for (at_ns, command) in self.commands.clone() {
            tell(world, &runtime, &control, at_ns, command);
        }
        merger.begins_at(u32::try_from(self.from_ns / SECOND_NS).expect("a second"));
        let (to_reporter, reported) = mpsc::channel();
        let (_to_worker, cleared) = mpsc::channel();
        let lines = Lines { control, events: unbounded_channel().0, to_reporter, cleared };
        let timer = Timer::of_test(world.clock(), world.alarm());
        let dialled = |gauges: &Rc<Gauges>| dial::Target::Virtual(target.clone(), Rc::clone(gauges));
        Worker::run_on(&runtime, &timer, plan, dialled, lines, || ());
        for message in reported.try_iter() {
            if let ToReporter::Window { second, next, window, .. } = message {
                merger.add(index, second, next, &window);
            }
        }
        target.seen()
    }
}

/// The command comes at this run time.
fn tell(world: &'static World, runtime: &LocalRuntime, control: &Arc<Control>, at_ns: u64, command: Command) {
    let control = Arc::clone(control);
    runtime.spawn_local(async move {
        world.sleep_until(START_NS + at_ns).await;
        control.obey(command, world.now_ns()).expect("what the plan permits");
    });
}

impl Ran {
    /// What several agents did together.
    pub(crate) fn together(agents: impl IntoIterator<Item = Agent>) -> Self {
        let mut sum =
            Self { window: Window { watermark_s: u32::MAX, ..Window::default() }, ..Self::default() };
        for agent in agents {
            let ran = agent.run();
            sum.window.merge(&ran.window);
            sum.seen.extend(ran.seen);
        }
        sum.seen.sort_by_key(|seen| seen.at_ns);
        sum
    }

    /// The sum of all rows of a part.
    pub(crate) fn total(&self, part: Part) -> Row<u64> {
        let mut sum = Row::default();
        for (_, row) in self.window.rows.iter().filter(|(key, _)| key.part == part) {
            sum.merge(row);
        }
        sum
    }

    /// The sum of the measured part.
    pub(crate) fn measured(&self) -> Row<u64> {
        self.total(Part::Measured)
    }

    /// What is timed of the measured part.
    pub(crate) fn timed(&self, timed: Timed) -> Histogram<u64, { volley_stats::COARSE_DIGITS }> {
        self.measured().timing.of(timed).clone()
    }

    /// The requests of a step that were started in each second.
    pub(crate) fn started(&self, step: u16, part: Part) -> Vec<u64> {
        let seconds = self.window.seconds.keys();
        let row = |second| self.window.rows.get(&RowKey { part, ..RowKey::second(second, step) });
        seconds.map(|&second| row(second).map_or(0, |row| row.counters.started)).collect()
    }

    /// Measured iterations of each second: started, missed. Seconds without any at the end are left out.
    pub(crate) fn iterations(&self) -> Vec<(u64, u64)> {
        let of = |second: &Second| (second.iterations.started, second.iterations.missed);
        let mut iterations: Vec<_> = self.window.seconds.values().map(of).collect();
        while iterations.last() == Some(&(0, 0)) {
            iterations.pop();
        }
        iterations
    }

    /// Users at the beginning of each second.
    pub(crate) fn users(&self) -> Vec<u32> {
        self.window.seconds.values().map(|second| second.users).collect()
    }

    /// The numbers of the iterations whose requests the target saw, rising. None may come twice.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.seen.iter().filter_map(|seen| seen.n).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "one twice");
        numbers
    }

    /// Run times at which the target saw requests.
    pub(crate) fn times(&self) -> Vec<u64> {
        self.seen.iter().map(|seen| seen.at_ns).collect()
    }
}
