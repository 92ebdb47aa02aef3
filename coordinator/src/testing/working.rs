//! Agents that do what they are told by themselves, in one run after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use volley_plan::link::{Hello, Incarnation, Order, Report, RunId};
use volley_plan::shape::{Schedule, StripeSet};
use volley_plan::{Adjust, Load, Model, Plan, parse};
use volley_stats::{Part, SECOND_NS, Window};

use super::{FakeAgent, hello, open_window, window};
use crate::Coordinator;

/// An agent that works: of the closed model 10 requests ok in each second, or all that it is granted at once; of the
/// open model what is due, 1 ms late.
pub(crate) fn working_agent(coordinator: &Coordinator, incarnation: u64, name: &str) -> JoinHandle<()> {
    late_agent(coordinator, incarnation, name, 1)
}

/// The same, late by so much.
pub(crate) fn late_agent(
    coordinator: &Coordinator,
    incarnation: u64,
    name: &str,
    lag_ms: u64,
) -> JoinHandle<()> {
    let hello = hello(Incarnation(incarnation), name);
    let (keep, leave) = watch::channel(false);
    let work = work(coordinator.clone(), hello, lag_ms, leave);
    tokio::spawn(async move {
        work.await;
        drop(keep);
    })
}

/// The same, with all that an agent can say of itself. It leaves, and ends, once it is told so.
pub(crate) fn agent_that_leaves(
    coordinator: &Coordinator,
    hello: Hello,
) -> (JoinHandle<()>, watch::Sender<bool>) {
    let (tell, leave) = watch::channel(false);
    (tokio::spawn(work(coordinator.clone(), hello, 1, leave)), tell)
}

async fn work(coordinator: Coordinator, hello: Hello, lag_ms: u64, leave: watch::Receiver<bool>) {
    let mut agent = FakeAgent::join_as(&coordinator, hello).await;
    loop {
        let mut job = Job::new(lag_ms);
        while !job.is_over {
            agent.leaving = *leave.borrow();
            if agent.leaving && agent.progress.is_none() {
                return;
            }
            tokio::select! {
                order = agent.order() => job.take(&mut agent, order).await,
                () = tokio::time::sleep_until(job.next) => job.second(&mut agent).await,
            }
        }
    }
}

/// What of a run's arrivals is this agent's.
pub(crate) struct Arrivals {
    pub(crate) plan: Arc<Plan>,
    pub(crate) load: Load,
    pub(crate) seed: u64,
    /// From each run time on.
    pub(crate) legs: Vec<(u64, StripeSet)>,
}

impl Arrivals {
    fn schedule(&self) -> Schedule {
        let Model::Open(open) = &self.load.model else { unreachable!("only the open model has arrivals") };
        open.schedule(self.seed).unwrap()
    }

    /// How many are due in a span of run time.
    pub(crate) fn due_in(&self, from_ns: u64, to_ns: u64) -> u64 {
        let Model::Open(open) = &self.load.model else { unreachable!("only the open model has arrivals") };
        let schedule = self.schedule();
        let first = open.measured(&schedule, u64::MAX).start;
        let end_n = open.end_number(first);
        let ends = self.legs.iter().skip(1).map(|leg| leg.0).chain([u64::MAX]);
        let of_leg = |((begin_ns, stripes), end_ns): (&(u64, StripeSet), u64)| {
            let (from_ns, to_ns) = (from_ns.max(*begin_ns), to_ns.min(end_ns));
            let mut numbers = schedule.counter().numbers_in(from_ns..to_ns.max(from_ns));
            numbers.end = numbers.end.min(end_n).max(numbers.start);
            stripes.count_in(numbers)
        };
        self.legs.iter().zip(ends).map(of_leg).sum()
    }
}

/// One run of a working agent.
struct Job {
    lag_ms: u64,
    next: Instant,
    start: Option<Instant>,
    duration: Option<Duration>,
    arrivals: Option<Arrivals>,
    second: u32,
    sequence: u64,
    /// The run time at which it is to stop.
    stop_ns: Option<u64>,
    is_over: bool,
}

impl Job {
    fn new(lag_ms: u64) -> Self {
        Self {
            lag_ms,
            next: Instant::now() + Duration::from_millis(100),
            start: None,
            duration: None,
            arrivals: None,
            second: 0,
            sequence: 0,
            stop_ns: None,
            is_over: false,
        }
    }

    async fn take(&mut self, agent: &mut FakeAgent, order: Order) {
        let run = agent.progress.clone().map(|progress| progress.run);
        match (order, run) {
            (Order::Prepare { plan, share, seed, adjusted, .. }, Some(run)) => {
                self.prepare(parse(&plan).unwrap(), share.stripes, seed);
                adjusted.into_iter().for_each(|adjust| self.adjust(adjust));
                agent.report(&run, Report::Ready).await;
            }
            (Order::Start { at_ns, from_ns, .. }, _) => self.start(agent, at_ns, from_ns),
            (Order::Change { at_ns, share, to, .. }, _) => {
                if let Some(to) = to {
                    self.adjust(Adjust { at_ns, to });
                }
                if let Some(arrivals) = &mut self.arrivals {
                    arrivals.legs.push((at_ns, share.stripes));
                }
            }
            (Order::Grant { from, to, last }, Some(run)) => {
                self.deliver(agent, &run, window(self.second, to - from, 0), last).await;
                if !last {
                    agent.report(&run, Report::GrantWanted { taken: to, iterations: 100 }).await;
                }
            }
            (Order::Stop { at_ns, .. }, _) => self.stop_ns = Some(self.stop_ns.unwrap_or(at_ns).min(at_ns)),
            (Order::Release, _) => self.is_over = true,
            (order, None) => panic!("{order:?} without a run"),
        }
    }

    fn prepare(&mut self, plan: Plan, stripes: StripeSet, seed: u64) {
        self.duration = plan.load.total_ns().map(Duration::from_nanos);
        if let Model::Open(_) = plan.load.model {
            let (load, legs) = (plan.load.clone(), vec![(0, stripes)]);
            self.arrivals = Some(Arrivals { plan: Arc::new(plan), load, seed, legs });
        }
    }

    fn adjust(&mut self, adjust: Adjust) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.load = arrivals.load.adjusted(adjust).unwrap();
        }
    }

    /// Run time 0 lies behind where it joins a run that goes on.
    fn start(&mut self, agent: &FakeAgent, at_ns: u64, from_ns: u64) {
        let now = Instant::now();
        let (ahead_ns, ago_ns) = (at_ns.saturating_sub(agent.now_ns()), agent.now_ns().saturating_sub(at_ns));
        self.start = Some(now + Duration::from_nanos(ahead_ns) - Duration::from_nanos(ago_ns));
        self.second = u32::try_from(from_ns / SECOND_NS).unwrap();
        if let Some(arrivals) = &mut self.arrivals
            && let Some(first) = arrivals.legs.first_mut()
        {
            first.0 = from_ns;
        }
    }

    async fn deliver(&mut self, agent: &FakeAgent, run: &RunId, window: Window, last: bool) {
        self.sequence += 1;
        agent.deliver(run, self.sequence, window, last).await;
    }

    /// Comes by every tenth of a second.
    async fn second(&mut self, agent: &mut FakeAgent) {
        self.next += Duration::from_millis(100);
        agent.ping().await;
        let (Some(start), Some(progress)) = (self.start, agent.progress.clone()) else { return };
        let elapsed = start.elapsed();
        let is_over = |end: Duration| elapsed >= end;
        let stop = self.stop_ns.map(Duration::from_nanos);
        let ended = stop.is_some_and(is_over) || self.duration.is_some_and(is_over);
        if ended || elapsed >= Duration::from_secs(u64::from(self.second) + 1) {
            let window = self.window(elapsed);
            self.deliver(agent, &progress.run, window, ended).await;
            self.second += 1;
            if ended {
                self.start = None;
            }
        }
    }

    /// What happened in the second at hand, of which so much may be over only.
    fn window(&self, elapsed: Duration) -> Window {
        let Some(arrivals) = &self.arrivals else { return window(self.second, 10, 0) };
        let begun_ns = u64::from(self.second) * SECOND_NS;
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap();
        let end_ns = (begun_ns + SECOND_NS).min(elapsed_ns).min(self.stop_ns.unwrap_or(u64::MAX));
        // Warm-ups of these tests last whole seconds.
        let part = if begun_ns < arrivals.plan.load.warmup_ns() { Part::Warmup } else { Part::Measured };
        open_window(self.second, part, (arrivals.due_in(begun_ns, end_ns), 0), self.lag_ms)
    }
}
