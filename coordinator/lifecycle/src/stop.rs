//! Somebody, or a store that fails, ends the load before its time.

use volley_plan::link::{Incarnation, Order};

use crate::agent::{AgentShare, AgentState};
use crate::event::{Action, Level};
use crate::run::{Run, nanoseconds};
use crate::state::{State, StopReason};

impl Run {
    pub(crate) fn stop_asked(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        match &mut self.state {
            State::Gathering { .. } | State::Preparing { .. } => {
                // Nothing was planned until then.
                self.stop_counting(0, &StopReason::Asked);
                self.finish(now_ns, StopReason::Asked, out);
            }
            State::Resuming { pending, .. } => {
                *pending = std::mem::take(pending).max(Some(StopReason::Asked));
                self.note(now_ns, Level::Info, "stop asked for".to_owned(), out);
            }
            State::Running { .. } => {
                self.note(now_ns, Level::Info, "stop asked for".to_owned(), out);
                self.stop(now_ns, StopReason::Asked, out);
            }
            State::Draining { .. } => self.cut_off(now_ns, out),
            State::Finished { .. } => {}
        }
    }

    /// Ends a load whose target has failed already. One that has stopped is left to its end.
    pub(crate) fn threshold_broken(&mut self, now_ns: u64, words: &str, out: &mut Vec<Action>) {
        if matches!(self.state, State::Running { .. }) {
            self.note(now_ns, Level::Warn, format!("the load is stopped: {words}"), out);
            self.stop(now_ns, StopReason::ThresholdBroken, out);
        }
    }

    /// Ends a load that may not go on. One that has stopped already is left to its end.
    pub(crate) fn forbidden(&mut self, now_ns: u64, reason: String, out: &mut Vec<Action>) {
        let text = format!("the load is stopped, since it is forbidden by now: {reason}");
        match &mut self.state {
            State::Gathering { .. } | State::Preparing { .. } => {
                self.finish(now_ns, StopReason::CouldNotRun(reason), out);
            }
            State::Resuming { stopped: None, pending, .. } => {
                *pending = std::mem::take(pending).max(Some(StopReason::Asked));
                self.note(now_ns, Level::Warn, text, out);
            }
            State::Running { .. } => {
                self.note(now_ns, Level::Warn, text, out);
                self.stop(now_ns, StopReason::Asked, out);
            }
            State::Resuming { .. } | State::Draining { .. } | State::Finished { .. } => {}
        }
    }

    /// Somebody asked for the end of a run that drains, so nothing in flight is waited for any longer.
    fn cut_off(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let waits = |agent: &AgentShare| agent.state.is_live() && !agent.orders.is_cut_off();
        let waiting: Vec<Incarnation> =
            self.agents.iter().filter(|(_, agent)| waits(agent)).map(|(&id, _)| id).collect();
        let State::Draining { stop_run_ns, until_ns, reason, .. } = &mut self.state else { return };
        if waiting.is_empty() || *reason == StopReason::AgentsLost {
            return;
        }
        *until_ns = (*until_ns).min(now_ns.saturating_add(self.settings.owed_ns));
        let at_ns = *stop_run_ns;
        self.note(now_ns, Level::Info, "what is in flight is cut off, as was asked for".to_owned(), out);
        for agent in waiting {
            self.send(now_ns, agent, Order::Stop { at_ns, drain_ns: 0 }, out);
        }
    }

    pub(crate) fn store_failed(&mut self, now_ns: u64, reason: String, out: &mut Vec<Action>) {
        self.note(now_ns, Level::Warn, format!("results can no longer be kept: {reason}"), out);
        let reason = StopReason::StoreFailed(reason);
        match &mut self.state {
            State::Gathering { .. } | State::Preparing { .. } => self.finish(now_ns, reason, out),
            State::Resuming { pending, .. } => *pending = std::mem::take(pending).max(Some(reason)),
            State::Running { .. } | State::Draining { .. } => self.end_unkept(now_ns, reason, out),
            State::Finished { .. } => {}
        }
    }

    /// Orders every agent that works to stop now, and drains.
    pub(crate) fn stop(&mut self, now_ns: u64, reason: StopReason, out: &mut Vec<Action>) {
        let drain_ns = nanoseconds(self.load.drain);
        let at_ns = self.order_stop(now_ns, drain_ns, out);
        self.drain(now_ns, at_ns, drain_ns, reason, out);
    }

    /// Ends the run at once, since nothing that is still to come could be kept. Agents stop; what they have not delivered
    /// they go on having, until somebody can keep it.
    pub(crate) fn end_unkept(&mut self, now_ns: u64, reason: StopReason, out: &mut Vec<Action>) {
        let Some(start_ns) = self.start_ns() else { return };
        let at_ns = self.order_stop(now_ns, 0, out);
        self.let_joiners_go(now_ns, out);
        if matches!(self.state, State::Running { .. }) {
            self.stop_at(start_ns, at_ns, now_ns, reason.clone());
        }
        let undelivered = self.agents_that(AgentState::works);
        for &agent in &undelivered {
            self.count_permitted(agent);
            if let Some(share) = self.agents.get_mut(&agent) {
                share.state = AgentState::Undelivered;
            }
            self.count_user_time(agent);
        }
        if !undelivered.is_empty() {
            let names = self.names(&undelivered);
            let text =
                format!("what {names} had not delivered is unknown; it is taken late, once it can be kept");
            self.note(now_ns, Level::Warn, text, out);
        }
        self.finish(now_ns, reason, out);
    }

    /// Gives the run time at which agents are to stop.
    fn order_stop(&mut self, now_ns: u64, drain_ns: u64, out: &mut Vec<Action>) -> u64 {
        let at_ns = self.end_run_ns().or_else(|| self.run_ns(now_ns)).unwrap_or(0);
        for agent in self.agents_that(AgentState::works) {
            self.send(now_ns, agent, Order::Stop { at_ns, drain_ns }, out);
        }
        at_ns
    }
}
