//! An agent that leaves in order: its part goes to others, what it has begun it finishes.

use volley_plan::link::{Incarnation, Order};

use crate::agent::{AgentShare, AgentState};
use crate::change::{Change, seconds};
use crate::event::{Action, Level};
use crate::run::{Run, nanoseconds};
use crate::state::{State, StopReason};

impl Run {
    pub(crate) fn leaving(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        match self.state {
            State::Gathering { .. } => self.leave_candidates(agent, out),
            State::Preparing { .. } => self.leave_early(now_ns, agent, out),
            State::Running { .. } => self.leave_now(now_ns, agent, out),
            // In a run that drains it has been told to stop, and goes when it has delivered; it may stop before that.
            State::Resuming { .. } | State::Draining { .. } => {
                if let Some(share) = self.agents.get_mut(&agent) {
                    share.wants_to_leave = true;
                }
            }
            State::Finished { .. } => {}
        }
    }

    fn leave_candidates(&mut self, agent: Incarnation, out: &mut Vec<Action>) {
        let before = self.candidates.len();
        self.candidates.retain(|facts| facts.incarnation != agent);
        if self.candidates.len() < before {
            out.push(Action::Free { agent });
        }
    }

    /// While everybody gets ready, shares are dealt out already: it leaves as soon as the run has started, if others can
    /// take its part over.
    fn leave_early(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let stays = |share: &AgentShare| share.facts.incarnation != agent && !share.wants_to_leave;
        let can_stay_away = self.agents.values().any(stays) && !self.is_per_user();
        let Some(share) = self.agents.get_mut(&agent) else { return };
        if can_stay_away {
            share.wants_to_leave = true;
            return;
        }
        let why = format!("agent {} left before the start", share.facts.name);
        self.note(now_ns, Level::Warn, why.clone(), out);
        self.finish(now_ns, StopReason::CouldNotRun(why), out);
    }

    /// Those who said so while it could not be done.
    pub(crate) fn relieve_those_who_want(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let wants = |agent: &&AgentShare| agent.wants_to_leave;
        let wanting: Vec<_> =
            self.agents.values().filter(wants).map(|agent| agent.facts.incarnation).collect();
        for agent in wanting {
            self.leave_now(now_ns, agent, out);
        }
    }

    fn leave_now(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.wants_to_leave = false;
        match share.state {
            AgentState::Running => self.relieve(now_ns, agent, out),
            AgentState::Preparing => {
                let note = format!("agent {} left before it had a part", share.facts.name);
                self.let_go(now_ns, agent, "it left before it had a part".to_owned(), note, out);
            }
            _ => {}
        }
    }

    /// Takes an agent's part away in order: at a time beyond every lease it goes to the others. Where nobody can take it
    /// over the agent stops now; but it may use that time to do what it was granted, or where the load ends before it.
    fn relieve(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let safe_ns = self.safe_ns(now_ns);
        self.set_leaving(now_ns, agent, safe_ns);
        let name = self.names(&[agent]);
        let (at_ns, text) = if self.can_hand_over(safe_ns) {
            let change = Change { at_ns: safe_ns, to: None, nobody_gives: true, joiner: None };
            let takers = self.change(now_ns, &change, out);
            let takers = self.names(&takers);
            (safe_ns, format!("agent {name} leaves: its part goes to {takers} from {} on", seconds(safe_ns)))
        } else {
            let ends_first = self.load.total_ns().is_some_and(|total_ns| total_ns <= safe_ns);
            let may_go_on = self.ledger.is_some() || ends_first;
            let at_ns = if may_go_on { safe_ns } else { self.run_ns(now_ns).unwrap_or(0) };
            (at_ns, format!("agent {name} leaves, and nobody can take its part over"))
        };
        self.set_leaving(now_ns, agent, at_ns);
        self.note(now_ns, Level::Info, text, out);
        self.send(now_ns, agent, Order::Stop { at_ns, drain_ns: nanoseconds(self.load.drain) }, out);
    }

    /// From now on the agent is not among those who can take anything over.
    fn set_leaving(&mut self, now_ns: u64, agent: Incarnation, at_run_ns: u64) {
        let start_ns = self.start_ns().unwrap_or(now_ns);
        let patience_ns = nanoseconds(self.load.drain).saturating_add(self.settings.owed_ns);
        let until_ns = start_ns.saturating_add(at_run_ns).max(now_ns).saturating_add(patience_ns);
        if let Some(share) = self.agents.get_mut(&agent) {
            share.state = AgentState::Leaving { at_run_ns, until_ns };
        }
    }
}
