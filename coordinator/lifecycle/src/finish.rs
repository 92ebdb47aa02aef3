//! Time passing, draining, and the end.

use volley_plan::link::{Incarnation, Order};

use crate::agent::{AgentShare, AgentState};
use crate::event::Action;
use crate::planned::Planned;
use crate::run::{Run, nanoseconds};
use crate::state::{State, StopReason};

impl Run {
    pub(crate) fn time(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        match self.state {
            State::Gathering { until_ns } if now_ns >= until_ns => {
                let reason = format!(
                    "{} of {} agents were there in time",
                    self.candidates.len(),
                    self.plan.agents.min
                );
                self.finish(now_ns, StopReason::CouldNotRun(reason), out);
            }
            State::Preparing { until_ns } => self.time_preparing(now_ns, until_ns, out),
            State::Resuming { until_ns, .. } if now_ns >= until_ns => self.resume_late(now_ns, out),
            State::Running { .. } => self.time_running(now_ns, out),
            State::Draining { until_ns, .. } => {
                self.give_up_silent(now_ns, out);
                self.finish_if_settled(now_ns, out);
                if now_ns >= until_ns && !matches!(self.state, State::Finished { .. }) {
                    self.give_up_late(now_ns, out);
                }
            }
            State::Gathering { .. } | State::Resuming { .. } | State::Finished { .. } => {}
        }
    }

    pub(crate) fn time_running(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let State::Running { start_ns } = self.state else { return };
        self.give_up_silent(now_ns, out);
        let total_ns = self.load.total_ns();
        if let Some(duration_ns) = total_ns.filter(|ns| now_ns >= start_ns.saturating_add(*ns)) {
            let drain_ns = nanoseconds(self.load.drain);
            self.drain(now_ns, duration_ns, drain_ns, self.timely_end(), out);
        } else {
            self.finish_if_settled(now_ns, out);
            self.take_in_those_ready(now_ns, out);
        }
    }

    /// Why a run ends at its planned time: an open load that a number of iterations ends lasts until they are due.
    fn timely_end(&self) -> StopReason {
        match &self.planned {
            Planned::Arrivals(arrivals) if arrivals.ends_by_count() => StopReason::CountReached,
            Planned::Iterations(_) | Planned::UserTime { .. } | Planned::Arrivals(_) => {
                StopReason::DurationOver
            }
        }
    }

    pub(crate) fn drain(
        &mut self,
        now_ns: u64,
        stop_run_ns: u64,
        drain_ns: u64,
        reason: StopReason,
        out: &mut Vec<Action>,
    ) {
        let Some(start_ns) = self.start_ns() else { return };
        self.let_joiners_go(now_ns, out);
        let until_ns = start_ns
            .saturating_add(stop_run_ns)
            .max(now_ns)
            .saturating_add(drain_ns)
            .saturating_add(self.settings.owed_ns);
        self.stop_at(start_ns, stop_run_ns, until_ns, reason);
        self.finish_if_settled(now_ns, out);
    }

    /// The load is over from `stop_run_ns` on.
    pub(crate) fn stop_at(&mut self, start_ns: u64, stop_run_ns: u64, until_ns: u64, reason: StopReason) {
        self.count_at_stop(start_ns, stop_run_ns, &reason);
        self.state = State::Draining { start_ns, stop_run_ns, until_ns, reason };
    }

    /// Finishes once no agent that works has anything to say; first drains where a lost one may still come back.
    pub(crate) fn finish_if_settled(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if self.agents.values().any(|agent| agent.state.works()) {
            return;
        }
        let owed_until_ns = self.agents.values().filter_map(|agent| self.owed_until_ns(agent)).max();
        let waits = owed_until_ns.is_some_and(|until_ns| now_ns < until_ns);
        match &self.state {
            State::Running { start_ns } => {
                let start_ns = *start_ns;
                self.let_joiners_go(now_ns, out);
                let (reason, stop_run_ns) = self.natural_end(now_ns);
                let until_ns = owed_until_ns.unwrap_or(now_ns);
                self.stop_at(start_ns, stop_run_ns, until_ns, reason.clone());
                if !waits {
                    self.finish(now_ns, reason, out);
                }
            }
            State::Draining { reason, .. } if !waits => {
                let reason = reason.clone();
                self.finish(now_ns, reason, out);
            }
            _ => {}
        }
    }

    /// Why a run ends in which no agent works any more, and at what run time it ended.
    fn natural_end(&self, now_ns: u64) -> (StopReason, u64) {
        let latest_ns = self.latest_ns();
        if self.is_left_alone() {
            (StopReason::AgentsLost, self.run_ns(now_ns).unwrap_or(latest_ns))
        } else if self.is_count_reached() {
            (StopReason::CountReached, latest_ns)
        } else {
            (StopReason::DurationOver, self.load.total_ns().unwrap_or(latest_ns))
        }
    }

    /// True if nobody is left and something is left undone. Nobody knows what a lost agent left undone.
    fn is_left_alone(&self) -> bool {
        let mut had_part = self.agents.values().filter(|agent| !agent.legs().is_empty());
        let undone = |agent: &AgentShare| agent.was_lost() || self.has_work(agent);
        had_part.clone().all(AgentShare::is_gone) && had_part.any(undone)
    }

    /// True if those that have stayed have done all that a number of iterations asks of them.
    fn is_count_reached(&self) -> bool {
        let undone = |agent: &AgentShare| !agent.is_gone() && agent.unreported() > 0;
        match &self.planned {
            Planned::Iterations(planned) => {
                self.ungranted(*planned) == 0 && !self.agents.values().any(undone)
            }
            Planned::UserTime { .. } => false,
            Planned::Arrivals(arrivals) => arrivals.ends_by_count(),
        }
    }

    /// Patience is over: those that still ping but never delivered their last window count as lost.
    fn give_up_late(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let late = self.agents_that(AgentState::is_live).into_iter();
        let late: Vec<_> = late.map(|agent| (agent, "did not deliver its last results in time")).collect();
        self.lose_all(now_ns, &late, false, out);
        if let State::Draining { reason, .. } = &self.state {
            let reason = reason.clone();
            self.finish(now_ns, reason, out);
        }
    }

    pub(crate) fn finish(&mut self, now_ns: u64, reason: StopReason, out: &mut Vec<Action>) {
        assert!(
            !matches!(self.state, State::Finished { .. }),
            "finished is final: {:?} -> {reason:?}",
            self.state
        );
        let start_ns = self.start_ns();
        let stop_run_ns = self.end_run_ns().unwrap_or(0);
        let outcome = self.outcome_for(reason);
        self.note_health(now_ns, &outcome, out);
        for agent in self.agents.keys().copied().collect::<Vec<_>>() {
            self.dismiss(now_ns, agent, out);
        }
        self.state = State::Finished { start_ns, stop_run_ns, outcome };
        for facts in std::mem::take(&mut self.candidates) {
            out.push(Action::Free { agent: facts.incarnation });
        }
        out.push(Action::Finished);
    }

    /// Lets an agent go that has not been let go yet. One that owes windows keeps them until it has delivered.
    fn dismiss(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get(&agent).filter(|share| !share.orders.is_released()) else { return };
        if share.state.waits() || matches!(share.state, AgentState::Refused { .. }) {
            self.send(now_ns, agent, Order::Release, out);
            out.push(Action::Free { agent });
        }
    }
}
