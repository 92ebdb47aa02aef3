//! The account of a run's measured part, and the counts that it needs when an agent is lost or the load stops.

use std::ops::Range;

use volley_plan::link::{Incarnation, WindowFacts};
use volley_plan::shape::UserShape;
use volley_plan::{Accounts, Model, Users};
use volley_stats::SECOND_NS;

use crate::agent::{AgentShare, AgentState};
use crate::arrivals::Gap;
use crate::planned::{Planned, all_users};
use crate::run::Run;
use crate::state::{State, StopReason};
use crate::user_time::user_ms;

impl Run {
    /// The account of the measured part up to now; final once the run is over.
    ///
    /// While the load goes on, *planned* is what the plan has in all; of a run of the open model that was stopped it is
    /// what was due before the stop, and of one of the closed model that time or a person ended what it did until then.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        self.accounts_for(self.stop_reason())
    }

    /// What of an agent's part is missing, or may be, beyond what it reported as missed itself: the account's sums, by
    /// agent. Nothing where a closed run has no number of iterations.
    #[must_use]
    pub fn gap(&self, agent: &AgentShare) -> Gap {
        self.gap_for(agent, self.stop_reason())
    }

    pub(crate) fn accounts_for(&self, reason: Option<&StopReason>) -> Accounts {
        let mut accounts = Accounts::default();
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        for agent in self.agents.values() {
            accounts.add(&self.counted(agent));
            let gap = self.gap_for(agent, reason);
            add(&mut accounts.missed, gap.missed);
            add(&mut accounts.unknown, gap.unknown);
            if agent.was_lost() || agent.state.owes() {
                add(&mut accounts.unresolved, agent.in_flight());
            }
        }
        match &self.planned {
            Planned::Iterations(planned) => self.add_iterations(*planned, reason, &mut accounts),
            Planned::UserTime { planned_ms, .. } => self.add_user_time(*planned_ms, &mut accounts),
            Planned::Arrivals(arrivals) if arrivals.has_stopped() => {
                let planned = self.agents.values().map(|agent| arrivals.planned(agent));
                accounts.planned = Some(planned.fold(0, u64::saturating_add));
            }
            Planned::Arrivals(arrivals) => {
                accounts.planned = Some(arrivals.count());
                // It never started.
                add(&mut accounts.missed, if reason.is_some() { arrivals.count() } else { 0 });
            }
        }
        accounts
    }

    /// What an agent reported, as far as it counts.
    fn counted(&self, agent: &AgentShare) -> WindowFacts {
        let mut facts = agent.reported;
        if let Planned::Arrivals(arrivals) = &self.planned {
            facts.iterations.missed = arrivals.missed(agent);
        }
        facts
    }

    fn gap_for(&self, agent: &AgentShare, reason: Option<&StopReason>) -> Gap {
        let unreported = agent.unreported();
        match (&self.planned, &agent.state) {
            (Planned::Arrivals(arrivals), _) => arrivals.gap(agent),
            (Planned::UserTime { .. }, _) => Gap::default(),
            (Planned::Iterations(_), state) if state.owes() => Gap { missed: 0, unknown: unreported },
            // It has said everything, so what it did not start is known not to have been sent.
            (Planned::Iterations(_), AgentState::Lost { delivered: true, .. } | AgentState::Left { .. }) => {
                Gap { missed: unreported, unknown: 0 }
            }
            // Time may have kept it from the rest.
            (Planned::Iterations(_), AgentState::Done) if reason.is_some() && !is_cut_short(reason) => {
                Gap { missed: unreported, unknown: 0 }
            }
            (Planned::Iterations(_), _) => Gap::default(),
        }
    }

    fn add_iterations(&self, planned: u64, reason: Option<&StopReason>, accounts: &mut Accounts) {
        if is_cut_short(reason) {
            let known = accounts.started.saturating_add(accounts.missed);
            accounts.planned = Some(known.saturating_add(accounts.unknown));
            return;
        }
        accounts.planned = Some(planned);
        if reason.is_some() {
            accounts.missed = accounts.missed.saturating_add(self.ungranted(planned));
        }
    }

    /// Iterations that nobody has leave for.
    pub(crate) fn ungranted(&self, planned: u64) -> u64 {
        let granted = self.agents.values().map(|agent| agent.granted);
        planned.saturating_sub(granted.fold(0, u64::saturating_add))
    }

    fn add_user_time(&self, planned_ms: u64, accounts: &mut Accounts) {
        accounts.planned_user_ms = planned_ms;
        for agent in self.agents.values() {
            accounts.lost_user_ms = accounts.lost_user_ms.saturating_add(agent.lost_user_ms);
            // It may have sent more than it reported.
            accounts.unknown_is_open |= agent.state.owes();
        }
    }

    /// Counts what the load's stop decides over: which arrivals were due before it and which a lease permitted, or for
    /// how long users were planned.
    pub(crate) fn count_at_stop(&mut self, start_ns: u64, stop_run_ns: u64, reason: &StopReason) {
        self.stop_counting(stop_run_ns, reason);
        let Planned::Arrivals(arrivals) = &mut self.planned else { return };
        // Whoever had none at the stop may still be given a lease up to it.
        let permitted_ns =
            |agent: &AgentShare| agent.lease_end_ns().saturating_sub(start_ns).max(stop_run_ns);
        let mut kept: Vec<_> = self.agents.values_mut().filter(|agent| !agent.was_lost()).collect();
        // Rising times are counted in one go.
        kept.sort_by_key(|agent| permitted_ns(agent));
        for agent in kept {
            agent.permitted_to = arrivals.number_at(permitted_ns(agent));
        }
    }

    /// Nothing is planned beyond the stop.
    pub(crate) fn stop_counting(&mut self, stop_run_ns: u64, reason: &StopReason) {
        if let Planned::Arrivals(arrivals) = &mut self.planned {
            arrivals.stop((*reason != StopReason::CountReached).then_some(stop_run_ns));
        }
        if reason.is_early() {
            self.plan_user_time(stop_run_ns);
        }
    }

    /// A timed closed run was ended early, at `end_ns`.
    fn plan_user_time(&mut self, end_ns: u64) {
        let Planned::UserTime { planned_ms, until_ns } = &mut self.planned else { return };
        let Some(shape) = staged(&self.load.model) else { return };
        (*planned_ms, *until_ns) = (user_ms(shape, &all_users(), 0..end_ns), end_ns);
        for agent in self.agents.keys().copied().collect::<Vec<_>>() {
            self.count_user_time(agent);
        }
    }

    /// Counts what an agent had leave for that is given up now.
    pub(crate) fn count_permitted(&mut self, agent: Incarnation) {
        let Some(start_ns) = self.start_ns() else { return };
        let (Planned::Arrivals(arrivals), Some(share)) = (&mut self.planned, self.agents.get_mut(&agent))
        else {
            return;
        };
        share.missed_when_lost = share.missed;
        // What it had leave for when the load stopped was counted then; later leases were for answers.
        if !arrivals.has_stopped() {
            share.permitted_to = arrivals.number_at(share.lease_end_ns().saturating_sub(start_ns));
        }
    }

    /// Counts the time of users that is lost with an agent: what a lost one did not report and one that left did not do of
    /// its own, and on whoever took users over half of the time over which they began anew.
    pub(crate) fn count_user_time(&mut self, agent: Incarnation) {
        let Planned::UserTime { until_ns, .. } = self.planned else { return };
        let (Some(shape), Some(agent)) = (staged(&self.load.model), self.agents.get_mut(&agent)) else {
            return;
        };
        let done_ns = match agent.state {
            AgentState::Lost { .. } | AgentState::Undelivered => {
                u64::from(agent.watermark_s()).saturating_mul(SECOND_NS)
            }
            AgentState::Left { at_run_ns } => at_run_ns,
            _ => u64::MAX,
        };
        let within = |span_ns: Range<u64>, bounds_ns: Range<u64>| {
            span_ns.start.max(bounds_ns.start)..span_ns.end.min(bounds_ns.end)
        };
        let undone = agent
            .legs
            .spans()
            .map(|(leg, span_ns)| user_ms(shape, &leg.share.stripes, within(span_ns, done_ns..until_ns)));
        let anew = agent.legs.gains().map(|(stripes, leg, span_ns)| {
            let ramp_ns = span_ns.start..span_ns.end.min(span_ns.start.saturating_add(leg.over_ns));
            let ramp_ns = within(ramp_ns, 0..until_ns.min(done_ns));
            let passed_ns = ramp_ns.end.saturating_sub(ramp_ns.start);
            of_a_ramp(user_ms(shape, &stripes, ramp_ns), passed_ns, leg.over_ns)
        });
        let lost_ms = undone.chain(anew).fold(0, u64::saturating_add);
        agent.lost_user_ms = lost_ms;
    }

    /// While the load goes on, what those that are gone would have sent is missed as time passes.
    pub(crate) fn count_due(&mut self, now_ns: u64) {
        let State::Running { start_ns } = self.state else { return };
        if let Planned::Arrivals(arrivals) = &mut self.planned
            && self.agents.values().any(AgentShare::is_gone)
        {
            arrivals.pass(now_ns.saturating_sub(start_ns));
        }
    }
}

/// What users that begin evenly over `over_ns` have not been there of `user_ms`, the time since the first of them should
/// have been, once `passed_ns` of it have passed: half of it in the end.
fn of_a_ramp(user_ms: u64, passed_ns: u64, over_ns: u64) -> u64 {
    let (passed, over) = (u128::from(passed_ns.min(over_ns)), u128::from(over_ns.max(1)));
    let lost = u128::from(user_ms) * (2 * over - passed) / (2 * over);
    u64::try_from(lost).unwrap_or(u64::MAX)
}

/// A run of a number of iterations that time or a person ended had planned no more than it did until then.
fn is_cut_short(reason: Option<&StopReason>) -> bool {
    reason.is_some_and(|reason| *reason == StopReason::DurationOver || reason.is_early())
}

/// The users of a closed load by time, where time bounds them.
fn staged(model: &Model) -> Option<&UserShape> {
    match model {
        Model::Closed(closed) => match &closed.users {
            Users::Staged(shape) => Some(shape),
            Users::Steady(_) => None,
        },
        Model::Open(_) => None,
    }
}
