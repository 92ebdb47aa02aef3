//! One agent in virtual time: it does its share of a plan, worker by worker, and gives everything that was measured.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

use tokio::sync::mpsc::unbounded_channel;
use volley_plan::Plan;
use volley_plan::link::{ArrivalShare, Share, UserShare};
use volley_plan::shape::Stripes;
use volley_plan::{Model, model};
use volley_stats::{Histogram, Part, Row, RowKey, Timed, Window};

use super::World;
use super::target::{AnsweredAt, Seen, Target};
use crate::connection;
use crate::engine;
use crate::merger::Merger;
use crate::pace::Work;
use crate::reporter::ToReporter;
use crate::timer::Timer;
use crate::worker::{Lines, Worker, WorkerPlan};
use crate::{Command, Spin, prepare};

/// Run time 0 on the agent's clock: a number that nobody takes for a run time.
const START_NS: u64 = 7_000_000_123;
/// A lease that doesn't end.
const FOR_EVER: u64 = 1 << 60;

/// An agent, its part of a plan, and what happens to it.
#[derive(Clone)]
pub(crate) struct Agent {
    plan: Arc<Plan>,
    share: Share,
    workers: u32,
    lease_until_ns: u64,
    /// What it is told when, in run time.
    commands: Vec<(u64, Command)>,
    /// When its process stands still, in run time.
    stands_still: Range<u64>,
    answered_at: AnsweredAt,
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
        let plan = plan(text);
        let share = whole(&plan);
        Self {
            plan: Arc::new(plan),
            share,
            workers: 1,
            lease_until_ns: FOR_EVER,
            commands: Vec::new(),
            stands_still: 0..0,
            answered_at: Rc::new(move |seen| Some(seen.at_ns + answer_ns)),
        }
    }

    /// Agent `index` of `agents`, which have its whole share between them.
    pub(crate) fn of(self, index: u32, agents: u32) -> Self {
        let share =
            match Work::new(&self.plan, &self.share, 1).expect("a share of the plan").dealt(index, agents) {
                Work::Closed { share, .. } => Share::Users(share),
                Work::Open { share, .. } => Share::Arrivals(share),
            };
        Self { share, ..self }
    }

    pub(crate) fn with_workers(self, workers: u32) -> Self {
        Self { workers, ..self }
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
        Self { answered_at: Rc::new(at), ..self }
    }

    pub(crate) fn run(self) -> Ran {
        let mut merger = Merger::new(self.workers as usize);
        let mut seen = Vec::new();
        for index in 0..self.workers {
            seen.extend(self.run_worker(index, &mut merger));
        }
        seen.sort_by_key(|seen| seen.at_ns);
        Ran { window: merger.last(), seen }
    }

    fn run_worker(&self, index: u32, merger: &mut Merger) -> Vec<Seen> {
        let world = World::new();
        world.stand_still(START_NS + self.stands_still.start..START_NS + self.stands_still.end);
        let runtime = world.runtime();
        let target = Target::new(world, START_NS, Rc::clone(&self.answered_at));
        let work = Work::new(&self.plan, &self.share, 1).expect("a share of the plan");
        let control = Arc::new(engine::control(&self.plan.load, Some(&work), self.workers as usize));
        let plan = WorkerPlan {
            plan: Arc::clone(&self.plan),
            requests: prepare::requests(&self.plan).expect("requests"),
            work: work.dealt(index, self.workers),
            index: index as usize,
            workers: self.workers as usize,
            seed: 1,
            clock: world.clock(),
            spin: Spin::Off,
        };
        control.obey(Command::Start { at_ns: START_NS, lease_until_ns: self.lease_until_ns });
        for (at_ns, command) in self.commands.clone() {
            let control = Arc::clone(&control);
            runtime.spawn_local(async move {
                world.sleep_until(START_NS + at_ns).await;
                control.obey(command);
            });
        }
        let (to_reporter, reported) = mpsc::channel();
        let (_to_worker, cleared) = mpsc::channel();
        let lines = Lines { control, events: unbounded_channel().0, to_reporter, cleared };
        let timer = Timer::of_test(world.clock(), world.alarm());
        Worker::run_on(&runtime, &timer, plan, connection::Target::Virtual(target.clone()), lines, || ());
        for message in reported.try_iter() {
            if let ToReporter::Window { second, next, window, .. } = message {
                merger.add(index as usize, second, next, &window);
            }
        }
        target.seen()
    }
}

/// A share that is all of a plan's load.
fn whole(plan: &Plan) -> Share {
    match &plan.load.model {
        Model::Closed(load) => Share::Users(UserShare { users: load.users.most(), first_user: 0, every: 1 }),
        Model::Open(model::OpenLoad { max_in_flight, .. }) => Share::Arrivals(ArrivalShare {
            stripes: Stripes::default().all(),
            max_in_flight: *max_in_flight,
            connections: plan.http.connections,
        }),
    }
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

    /// Run times at which the target saw requests.
    pub(crate) fn times(&self) -> Vec<u64> {
        self.seen.iter().map(|seen| seen.at_ns).collect()
    }
}
