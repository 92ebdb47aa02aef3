//! The arrivals that a run of the open model plans, and what is known of those that nobody reported.

mod by_second;

use std::ops::Range;

use volley_plan::OpenLoad;
use volley_plan::shape::{Counter, Schedule};
use volley_stats::SECOND_NS;

use crate::agent::{AgentShare, AgentState};

/// What of an agent's part is missing beyond what it reported as missed itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Planned, and known to have been sent by nobody.
    pub missed: u64,
    /// Permitted to the agent, which was lost before it reported.
    pub unknown: u64,
}

/// The measured arrivals by their numbers.
///
/// Counting those of a Poisson schedule costs, so what is asked for again and again is counted once: the whole when the
/// run is made and when it is adjusted, what was due when shares change, what a lost agent had leave for when it is lost,
/// and what was due when the load stops.
///
/// An adjusted load has the same arrivals under the same numbers up to the adjustment, and nothing that was counted lies
/// beyond it; so all that was counted stays true.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// All that the plan has.
    measured: Range<u64>,
    /// The plan's number of iterations ends the load, not its time.
    ends_by_count: bool,
    total_ns: u64,
    counter: Counter,
    /// The run time up to which the missed ones of lost agents are counted while the load goes on: whole seconds.
    passed_ns: u64,
    /// The first arrival that is not due before that.
    due: u64,
    /// The first arrival that is not due before the stop.
    stop: Option<u64>,
}

/// Where a counter stands decides over its speed and over nothing that it says.
impl PartialEq for Arrivals {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |it: &Self| (it.measured.clone(), it.passed_ns, it.due, it.stop);
        numbers(self) == numbers(other)
    }
}

impl Arrivals {
    /// The arrivals of a run with this seed.
    pub(crate) fn new(open: &OpenLoad, seed: u64) -> Self {
        let (schedule, measured) = schedule(open, seed);
        Self {
            ends_by_count: open.ends_by_count(&measured),
            due: 0,
            measured,
            total_ns: open.shape.total_ns(),
            counter: schedule.counter(),
            passed_ns: 0,
            stop: None,
        }
    }

    /// The load is another one from some run time on that lies ahead.
    pub(crate) fn adjust(&mut self, open: &OpenLoad, seed: u64) {
        let (schedule, measured) = schedule(open, seed);
        self.ends_by_count = open.ends_by_count(&measured);
        self.measured = measured;
        self.counter = schedule.counter();
    }

    /// How many there are in all.
    pub(crate) fn count(&self) -> u64 {
        self.measured.end - self.measured.start
    }

    pub(crate) fn ends_by_count(&self) -> bool {
        self.ends_by_count
    }

    /// The first arrival that is not due before `run_ns`. Cheap as long as the times asked for rise.
    pub(crate) fn number_at(&mut self, run_ns: u64) -> u64 {
        self.counter.arrivals_before(run_ns.min(self.total_ns))
    }

    /// The run time up to which the missed ones of those that are gone are counted.
    pub(crate) fn passed_ns(&self) -> u64 {
        self.passed_ns
    }

    /// The load goes on past `run_ns`.
    pub(crate) fn pass(&mut self, run_ns: u64) {
        let second_ns = run_ns - run_ns % SECOND_NS;
        if second_ns > self.passed_ns {
            self.passed_ns = second_ns;
            self.due = self.number_at(second_ns);
        }
    }

    /// The load stopped at `run_ns`; `None` stands for the end of all arrivals.
    pub(crate) fn stop(&mut self, run_ns: Option<u64>) {
        self.stop = Some(run_ns.map_or(self.measured.end, |run_ns| self.number_at(run_ns)));
    }

    /// The load has stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// An agent's arrivals before the one with this number.
    fn of(&self, agent: &AgentShare, number: u64) -> u64 {
        let Range { start, end } = self.measured;
        agent.legs.count_in(&(start..number.clamp(start, end)))
    }

    /// An agent's arrivals that were due before the stop; while the load goes on, all that it has and is to have.
    pub(crate) fn due_before_stop(&self, agent: &AgentShare) -> u64 {
        self.of(agent, self.stop.unwrap_or(self.measured.end))
    }

    /// True if the agent has not reported all arrivals that it will ever have.
    pub(crate) fn has_work(&self, agent: &AgentShare) -> bool {
        agent.accounted() < self.of(agent, self.measured.end)
    }

    /// An agent's arrivals that were due before the stop, or so far. An order to stop takes its time: what was due
    /// between the stop and its hearing of it was planned as well if the agent started it, but never more than what its
    /// lease permitted. What it turned away in that time was not planned.
    pub(crate) fn planned(&self, agent: &AgentShare) -> u64 {
        let permitted = self.of(agent, agent.permitted_to);
        self.of(agent, self.stop.unwrap_or(self.due)).max(permitted.min(agent.accounted()))
    }

    /// What an agent missed of what was planned. Once the load has stopped, nothing that it reports beyond is counted.
    pub(crate) fn missed(&self, agent: &AgentShare) -> u64 {
        let beyond = self.planned(agent).saturating_sub(agent.reported.iterations.started);
        if self.has_stopped() { agent.missed.min(beyond) } else { agent.missed }
    }

    /// What of an agent's part is missing beyond what it reported.
    pub(crate) fn gap(&self, agent: &AgentShare) -> Gap {
        let planned = self.planned(agent);
        match &agent.state {
            state if state.owes() => {}
            // It has said everything, so what it did not start is known not to have been sent.
            AgentState::Lost { delivered: true, .. } | AgentState::Left { .. } => {
                return Gap { missed: planned.saturating_sub(agent.accounted()), unknown: 0 };
            }
            _ => return Gap::default(),
        }
        let permitted = self.of(agent, agent.permitted_to);
        // The load has not gone on for a whole second since its lease ended.
        let planned = if self.stop.is_none() { planned.max(permitted) } else { planned };
        let unreported = planned.saturating_sub(agent.accounted());
        // What it reports as missed after its loss may be of the time after its lease, and must not count twice.
        let told = agent.missed.saturating_sub(agent.missed_when_lost);
        let missed = planned.saturating_sub(permitted).saturating_sub(told).min(unreported);
        Gap { missed, unknown: unreported - missed }
    }
}

fn schedule(open: &OpenLoad, seed: u64) -> (Schedule, Range<u64>) {
    let schedule = open.schedule(seed).expect("a plan that was parsed has a schedule: the parser tried it");
    let measured = open.measured(&schedule, open.shape.total_ns());
    (schedule, measured)
}
