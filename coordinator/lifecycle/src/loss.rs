//! An agent is lost: its last lease has run out and nothing was heard of it for as long.

use volley_plan::link::{Incarnation, Order};
use volley_plan::words::counted;
use volley_stats::SECOND_NS;

use crate::agent::{AgentShare, AgentState};
use crate::change::{Change, seconds};
use crate::event::{Action, Level};
use crate::planned::Planned;
use crate::run::Run;

impl Run {
    /// Declares those lost whose last lease has run out or who take too long to leave, and lets joiners go that went silent
    /// or never got ready.
    pub(crate) fn give_up_silent(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let over = |agent: &AgentShare| agent.state.is_live() && now_ns >= agent.patience_ns(self.lease_ns);
        let given_up: Vec<Incarnation> =
            self.agents.iter().filter(|(_, agent)| over(agent)).map(|(&id, _)| id).collect();
        // All at once, so that nobody is given what another one of them had.
        let (joiners, silent): (Vec<_>, Vec<_>) = given_up.into_iter().partition(|id| self.is_joiner(*id));
        for agent in joiners {
            let name = self.names(&[agent]);
            let reason = "it went silent, or was not ready in time".to_owned();
            let note = format!("agent {name} was to take part; it went silent, or was not ready in time");
            self.let_go(now_ns, agent, reason, note, out);
        }
        let lease_ns = self.lease_ns;
        let how = |agent: &AgentShare| {
            let is_silent = now_ns >= agent.lost_ns(lease_ns);
            if is_silent { "was lost" } else { "did not deliver its last results in time" }
        };
        let silent: Vec<_> =
            silent.into_iter().filter_map(|id| self.agents.get(&id).map(|agent| (id, how(agent)))).collect();
        self.lose_all(now_ns, &silent, false, out);
    }

    fn is_joiner(&self, agent: Incarnation) -> bool {
        self.agents.get(&agent).is_some_and(|agent| agent.state.waits())
    }

    /// These agents are lost, each in its way. `delivered` says that nothing more is to come of them.
    pub(crate) fn lose_all(
        &mut self,
        now_ns: u64,
        lost: &[(Incarnation, &str)],
        delivered: bool,
        out: &mut Vec<Action>,
    ) {
        if lost.is_empty() {
            return;
        }
        let mut hold_any = false;
        for &(agent, _) in lost {
            let Some(share) = self.agents.get_mut(&agent) else { continue };
            hold_any |= share.legs.hold_any();
            share.state = AgentState::Lost { at_ns: now_ns, delivered };
            self.count_permitted(agent);
        }
        let whither = if hold_any { self.fail_over(now_ns, out) } else { None };
        for &(agent, how) in lost {
            self.count_user_time(agent);
            self.bid_farewell(now_ns, agent, how, whither.as_deref(), out);
        }
        self.tell_last(now_ns, out);
    }

    /// The part of lost agents goes to the others as soon as can be: beyond the leases of those that give something away,
    /// and without taking anything from anybody else, whose leases would have to be waited for. Says where it goes.
    fn fail_over(&mut self, now_ns: u64, out: &mut Vec<Action>) -> Option<String> {
        let gives = |agent: &&AgentShare| agent.legs.hold_any() && !agent.can_take();
        let until_ns = |agent: &AgentShare| {
            let lease_ns = self.run_ns(agent.lease_end_ns()).unwrap_or(0);
            match agent.state {
                // One that leaves while nobody could take its part over was told until when it is its own.
                AgentState::Leaving { at_run_ns, .. } => lease_ns.max(at_run_ns),
                _ if agent.may_send() => lease_ns,
                // What it has sent was due before its last watermark, whatever its clock was.
                _ => lease_ns.min(u64::from(agent.reported.watermark_s).saturating_mul(SECOND_NS)),
            }
        };
        let given_ns = self.agents.values().filter(gives).map(until_ns).max().unwrap_or(0);
        let at_ns = self.soonest_ns(now_ns).max(given_ns);
        if !self.can_hand_over(at_ns) {
            return None;
        }
        let change = Change { at_ns, to: None, nobody_gives: true, joiner: None };
        let takers = self.change(now_ns, &change, out);
        Some(format!("its part goes to {} from {} on", self.names(&takers), seconds(at_ns)))
    }

    /// Notes what the loss means. Should the agent come back, it learns that its share is gone.
    fn bid_farewell(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        how: &str,
        whither: Option<&str>,
        out: &mut Vec<Action>,
    ) {
        let run_ns = self.run_ns(now_ns).unwrap_or(0);
        let Some(share) = self.agents.get(&agent) else { return };
        let delivered = matches!(share.state, AgentState::Lost { delivered: true, .. });
        let unresolved = counted(share.in_flight(), "request");
        let unknown = match &self.planned {
            _ if delivered => None,
            Planned::UserTime { .. } => {
                Some(format!("what it sent after second {} is unknown", share.watermark_s()))
            }
            Planned::Iterations(_) | Planned::Arrivals(_) => {
                Some(format!("{} unknown", counted(self.gap(share).unknown, "iteration")))
            }
        };
        let facts: Vec<_> =
            unknown.into_iter().chain([format!("{unresolved} in flight unresolved")]).collect();
        let whither = whither.map_or(String::new(), |whither| format!("; {whither}"));
        let text = format!("agent {} {how}: {}{whither}", share.facts.name, facts.join(", "));
        let at_ns = share.legs.end_ns().unwrap_or(run_ns);
        if !delivered {
            self.send(now_ns, agent, Order::Stop { at_ns, drain_ns: 0 }, out);
        }
        self.note(now_ns, Level::Warn, text, out);
    }

    /// Until when a lost agent's reports are still waited for; `None` for one that owes nothing or is not lost.
    pub(crate) fn owed_until_ns(&self, agent: &AgentShare) -> Option<u64> {
        match agent.state {
            AgentState::Lost { at_ns, delivered: false } => {
                Some(at_ns.saturating_add(self.settings.owed_ns).max(agent.absent_until_ns))
            }
            _ => None,
        }
    }
}
