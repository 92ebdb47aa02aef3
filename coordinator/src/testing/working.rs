//! Agents that do what they are told by themselves, in one run after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use volley_plan::link::{ArrivalShare, Order, Report, RunId, Share};
use volley_plan::shape::Schedule;
use volley_plan::{Model, Plan, parse};
use volley_stats::{Part, SECOND_NS, Window};

use super::{FakeAgent, open_window, window};
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
    let (coordinator, name) = (coordinator.clone(), name.to_owned());
    tokio::spawn(async move {
        let mut agent = FakeAgent::join(&coordinator, incarnation, &name).await;
        loop {
            let mut job = Job::new(lag_ms);
            while !job.is_over {
                tokio::select! {
                    order = agent.order() => job.take(&mut agent, order).await,
                    () = tokio::time::sleep_until(job.next) => job.second(&mut agent).await,
                }
            }
        }
    })
}

/// One run of a working agent.
struct Job {
    lag_ms: u64,
    next: Instant,
    start: Option<Instant>,
    duration: Option<Duration>,
    arrivals: Option<(Arc<Plan>, Schedule, ArrivalShare)>,
    second: u32,
    sequence: u64,
    stopped: bool,
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
            stopped: false,
            is_over: false,
        }
    }

    async fn take(&mut self, agent: &mut FakeAgent, order: Order) {
        let run = agent.progress.clone().map(|progress| progress.run);
        match (order, run) {
            (Order::Prepare { plan, share, seed, .. }, Some(run)) => {
                self.prepare(parse(&plan).unwrap(), share, seed);
                agent.report(&run, Report::Ready).await;
            }
            (Order::Start { at_ns, .. }, _) => {
                let ahead = Duration::from_nanos(at_ns.saturating_sub(agent.now_ns()));
                self.start = Some(Instant::now() + ahead);
            }
            (Order::Grant { from, to, last }, Some(run)) => {
                self.deliver(agent, &run, window(self.second, to - from, 0), last).await;
                if !last {
                    agent.report(&run, Report::GrantWanted { taken: to, iterations: 100 }).await;
                }
            }
            (Order::Stop { .. }, _) => self.stopped = true,
            (Order::Release, _) => self.is_over = true,
            (order, None) => panic!("{order:?} without a run"),
        }
    }

    fn prepare(&mut self, plan: Plan, share: Share, seed: u64) {
        self.duration = plan.load.total_ns().map(Duration::from_nanos);
        if let (Model::Open(open), Share::Arrivals(share)) = (&plan.load.model, share) {
            let schedule = open.schedule(seed).unwrap();
            self.arrivals = Some((Arc::new(plan), schedule, share));
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
        let ended = self.stopped || self.duration.is_some_and(|duration| elapsed >= duration);
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
        let Some((plan, schedule, share)) = &self.arrivals else { return window(self.second, 10, 0) };
        let Model::Open(open) = &plan.load.model else { unreachable!("only the open model has arrivals") };
        let begun_ns = u64::from(self.second) * SECOND_NS;
        let end_ns = (begun_ns + SECOND_NS).min(u64::try_from(elapsed.as_nanos()).unwrap());
        let mut numbers = schedule.counter().numbers_in(begun_ns..end_ns);
        let first = open.measured(schedule, u64::MAX).start;
        numbers.end = numbers.end.min(open.end_number(first)).max(numbers.start);
        // Warm-ups of these tests last whole seconds.
        let part = if begun_ns < plan.load.warmup_ns() { Part::Warmup } else { Part::Measured };
        open_window(self.second, part, (share.stripes.count_in(numbers), 0), self.lag_ms)
    }
}
