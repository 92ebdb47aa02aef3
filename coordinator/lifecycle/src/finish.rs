//! Time passing, loss, draining, and the end.

use volley_plan::link::{Incarnation, Order};
use volley_plan::words::counted;

use crate::agent::{AgentShare, AgentState};
use crate::event::{Action, Level};
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
            State::Running { start_ns } => {
                self.give_up_silent(now_ns, out);
                let total_ns = self.plan.load.total_ns();
                if let Some(duration_ns) = total_ns.filter(|ns| now_ns >= start_ns.saturating_add(*ns)) {
                    let drain_ns = nanoseconds(self.plan.load.drain);
                    self.drain(now_ns, duration_ns, drain_ns, self.timely_end(), out);
                } else {
                    self.finish_if_settled(now_ns, out);
                }
            }
            State::Draining { until_ns, .. } => {
                self.give_up_silent(now_ns, out);
                self.finish_if_settled(now_ns, out);
                if now_ns >= until_ns && !matches!(self.state, State::Finished { .. }) {
                    self.give_up_late(now_ns, out);
                }
            }
            State::Gathering { .. } | State::Finished { .. } => {}
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

    fn time_preparing(&mut self, now_ns: u64, until_ns: u64, out: &mut Vec<Action>) {
        let lease_ns = self.settings.lease_ns;
        let silent =
            self.agents.values().find(|agent| agent.state.is_live() && now_ns >= agent.lost_ns(lease_ns));
        let slow = self.agents.values().find(|agent| agent.state == AgentState::Preparing);
        let reason = match (silent, slow) {
            (Some(agent), _) => format!("agent {} went silent while it prepared", agent.facts.name),
            (None, Some(agent)) if now_ns >= until_ns => {
                format!("agent {} was not ready in time", agent.facts.name)
            }
            _ => return,
        };
        self.note(now_ns, Level::Warn, reason.clone(), out);
        self.finish(now_ns, StopReason::CouldNotRun(reason), out);
    }

    /// Declares those lost whose last lease has run out.
    fn give_up_silent(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let lease_ns = self.settings.lease_ns;
        let is_silent = |agent: &AgentShare| agent.state.is_live() && now_ns >= agent.lost_ns(lease_ns);
        let silent: Vec<Incarnation> =
            self.agents.iter().filter(|(_, agent)| is_silent(agent)).map(|(&id, _)| id).collect();
        for agent in silent {
            self.lose(now_ns, agent, "was lost", false, out);
        }
    }

    pub(crate) fn lose(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        how: &str,
        delivered: bool,
        out: &mut Vec<Action>,
    ) {
        let at_ns = self.run_ns(now_ns).unwrap_or(0);
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.state = AgentState::Lost { at_ns: now_ns, delivered };
        self.count_permitted(agent);
        self.count_lost_time(agent);
        let Some(share) = self.agents.get(&agent) else { return };
        let in_flight = counted(share.in_flight(), "request");
        let mut text = format!("agent {} {how}: {in_flight} in flight unresolved", share.facts.name);
        match &self.planned {
            _ if delivered => {}
            Planned::UserTime { .. } => {
                text += &format!(", what it sent after second {} is unknown", share.reported.watermark_s);
            }
            Planned::Iterations(_) | Planned::Arrivals(_) => {
                text += &format!(", {} unknown", counted(self.gap(share).unknown, "iteration"));
            }
        }
        if !delivered {
            // Should it come back, it learns that its share is gone.
            self.send(now_ns, agent, Order::Stop { at_ns, drain_ns: 0 }, out);
        }
        self.note(now_ns, Level::Warn, text, out);
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
        let until_ns = start_ns
            .saturating_add(stop_run_ns)
            .max(now_ns)
            .saturating_add(drain_ns)
            .saturating_add(self.settings.owed_ns);
        self.stop_at(start_ns, stop_run_ns, until_ns, reason);
        self.finish_if_settled(now_ns, out);
    }

    /// The load is over from `stop_run_ns` on.
    fn stop_at(&mut self, start_ns: u64, stop_run_ns: u64, until_ns: u64, reason: StopReason) {
        self.count_at_stop(start_ns, stop_run_ns, &reason);
        self.state = State::Draining { start_ns, stop_run_ns, until_ns, reason };
    }

    /// Until when a lost agent's reports are still waited for; `None` for one that owes nothing or is not lost.
    pub(crate) fn owed_until_ns(&self, agent: &AgentShare) -> Option<u64> {
        match agent.state {
            AgentState::Lost { at_ns, delivered: false } => Some(at_ns.saturating_add(self.settings.owed_ns)),
            _ => None,
        }
    }

    /// Finishes once no live agent has anything to say; first drains where a lost one may still come back.
    pub(crate) fn finish_if_settled(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if self.agents.values().any(|agent| agent.state.is_live()) {
            return;
        }
        let owed_until_ns = self.agents.values().filter_map(|agent| self.owed_until_ns(agent)).max();
        let waits = owed_until_ns.is_some_and(|until_ns| now_ns < until_ns);
        match &self.state {
            State::Running { start_ns } => {
                let start_ns = *start_ns;
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

    /// Why a run ends in which no live agent is left, and at what run time it ended.
    fn natural_end(&self, now_ns: u64) -> (StopReason, u64) {
        let latest_ns = self.latest_ns();
        if self.agents.values().all(AgentShare::was_lost) {
            (StopReason::AgentsLost, self.run_ns(now_ns).unwrap_or(latest_ns))
        } else if self.is_count_reached() {
            (StopReason::CountReached, latest_ns)
        } else {
            (StopReason::DurationOver, self.plan.load.total_ns().unwrap_or(latest_ns))
        }
    }

    /// True if those that were not lost have done all that a number of iterations asks of them.
    fn is_count_reached(&self) -> bool {
        let undone = |agent: &AgentShare| !agent.was_lost() && agent.unreported() > 0;
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
        let late: Vec<Incarnation> =
            self.agents.iter().filter(|(_, agent)| agent.state.is_live()).map(|(&id, _)| id).collect();
        for agent in late {
            self.lose(now_ns, agent, "did not deliver its last results in time", false, out);
        }
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
        let Some(share) = self.agents.get(&agent) else { return };
        match share.state {
            AgentState::Preparing | AgentState::Ready | AgentState::Refused { .. } => {
                self.send(now_ns, agent, Order::Release, out);
                out.push(Action::Free { agent });
            }
            AgentState::Running | AgentState::Done | AgentState::Lost { .. } => {}
        }
    }
}
