//! What agents say: that they are there, and what they have measured.

use volley_plan::link::{Incarnation, Order, Share, WindowFacts};
use volley_plan::{Model, Users};
use volley_stats::SECOND_NS;

use crate::agent::{AgentShare, AgentState};
use crate::change::seconds;
use crate::event::{Action, Level, ToKeep};
use crate::planned::Planned;
use crate::run::Run;
use crate::state::{State, StopReason};

/// A time without a lease that is worth a line of the event log.
const PAUSE_NS: u64 = SECOND_NS / 2;
/// How far two clocks may disagree about the end of the planned time.
const CLOCK_SLACK_NS: u64 = 100_000_000;

impl Run {
    pub(crate) fn pinged(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        acknowledged: u64,
        start_ns: Option<u64>,
        out: &mut Vec<Action>,
    ) {
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.heard_ns = now_ns;
        if share.state.is_live() {
            share.absent_until_ns = 0;
        }
        share.orders.acknowledge(acknowledged);
        if matches!(self.state, State::Resuming { .. }) {
            self.resume_by(now_ns, start_ns, out);
        }
        self.send_again(now_ns, agent, out);
        self.renew(now_ns, agent, out);
        self.take_in_those_ready(now_ns, out);
    }

    /// Orders that must have been lost on the way go out again. While it is unknown when run time 0 was, none can.
    fn send_again(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        if matches!(self.state, State::Resuming { .. }) {
            return;
        }
        let Some(share) = self.agents.get_mut(&agent) else { return };
        let again = share.orders.lost(now_ns);
        out.extend(again.into_iter().map(|(number, order)| Action::Send { agent, number, order }));
    }

    fn renew(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let (State::Running { start_ns } | State::Draining { start_ns, .. }) = self.state else { return };
        let lease_ns = self.lease_ns;
        self.note_pause(now_ns, agent, out);
        let Some(share) = self.agents.get_mut(&agent).filter(|share| share.state.works()) else { return };
        // A lease must not reach past an order that the agent may not know of, and never gets shorter.
        let pending_ns = share.orders.pending_ns().map_or(u64::MAX, |at_ns| start_ns.saturating_add(at_ns));
        let until_ns =
            now_ns.max(start_ns).saturating_add(lease_ns).min(pending_ns).max(share.lease_until_ns);
        share.lease_until_ns = until_ns;
        out.push(Action::Renew { agent, until_ns: until_ns.saturating_sub(start_ns) });
    }

    /// An agent is given a lease again that had none for a while. Mostly nobody had, since nobody here answered; so a pause
    /// is told once, by the first that is heard of after it.
    fn note_pause(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get(&agent).filter(|share| share.state == AgentState::Running) else {
            return;
        };
        let (from_ns, is_over) = (share.lease_end_ns(), !matches!(self.state, State::Running { .. }));
        if is_over || now_ns < from_ns.saturating_add(PAUSE_NS) || from_ns < self.told_pause_ns {
            return;
        }
        self.told_pause_ns = now_ns;
        let [from, to] = [from_ns, now_ns].map(|ns| seconds(self.run_ns(ns).unwrap_or(0)));
        let name = &share.facts.name;
        let text = format!("agent {name} had no lease from {from} to {to}, and what was due then is missed");
        self.note(now_ns, Level::Warn, text, out);
    }

    /// How a window is to be kept that an agent delivers, before the run hears of it; `None` for one that is not: a repeat,
    /// one with others missing before it, or one of an agent that had no leave to send anything.
    #[must_use]
    pub fn to_keep(&self, agent: Incarnation, facts: &WindowFacts) -> Option<ToKeep> {
        self.start_ns()?;
        let share = self.agents.get(&agent).filter(|share| share.is_next(facts))?;
        let late = matches!(self.state, State::Finished { .. });
        Some(ToKeep { reported: share.reported_with(facts, late), late })
    }

    pub(crate) fn window(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        facts: WindowFacts,
        out: &mut Vec<Action>,
    ) {
        if self.start_ns().is_none() {
            return; // Nobody had leave to send anything.
        }
        let late = matches!(self.state, State::Finished { .. });
        let Some(share) = self.agents.get_mut(&agent) else { return };
        let known = share.reported.sequence;
        if facts.sequence <= known {
            out.push(Action::Acknowledge { agent, sequence: known });
            return;
        }
        if !share.is_next(&facts) {
            return;
        }
        share.reported = share.reported_with(&facts, late);
        if !late {
            self.count_reported(agent);
        }
        out.push(Action::Acknowledge { agent, sequence: facts.sequence });
        if facts.last {
            self.last_word(now_ns, agent, out);
        }
    }

    /// Counts what follows from what an agent has reported by now.
    pub(crate) fn count_reported(&mut self, agent: Incarnation) {
        let Some(share) = self.agents.get_mut(&agent) else { return };
        let due = match &self.planned {
            Planned::Arrivals(arrivals) => arrivals.due_before_stop(share),
            Planned::Iterations(_) | Planned::UserTime { .. } => u64::MAX,
        };
        share.count_missed(due);
        if share.was_lost() {
            self.count_user_time(agent);
        }
    }

    /// An agent has said all it has to say, and is let go. While it is unknown when run time 0 was, that waits.
    pub(crate) fn last_word(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        match self.state {
            State::Resuming { .. } => return,
            State::Finished { .. } => {}
            _ => self.settle(now_ns, agent, out),
        }
        self.send(now_ns, agent, Order::Release, out);
        out.push(Action::Free { agent });
        self.finish_if_settled(now_ns, out);
    }

    fn settle(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let early = self.ends_early(now_ns, agent);
        let short_ns = self.ended_short_ns(agent);
        let Some(share) = self.agents.get_mut(&agent) else { return };
        match &mut share.state {
            AgentState::Lost { delivered, .. } => {
                *delivered = true;
                let text = format!(
                    "agent {} came back and delivered all that it had measured: nothing of its part is unknown any more",
                    share.facts.name
                );
                self.note(now_ns, Level::Info, text, out);
            }
            AgentState::Leaving { at_run_ns, .. } => {
                share.state = AgentState::Left { at_run_ns: *at_run_ns };
                let text =
                    format!("agent {} has left and delivered all that it had measured", share.facts.name);
                self.note(now_ns, Level::Info, text, out);
                self.count_user_time(agent);
                self.take_back(now_ns, agent, out);
            }
            _ if early => self.lose_all(now_ns, &[(agent, "ended before its time")], true, out),
            state => match short_ns {
                Some(at_run_ns) => {
                    *state = AgentState::Left { at_run_ns };
                    let text = format!(
                        "agent {} ended without having done all that was its own: the rest is missed",
                        share.facts.name
                    );
                    self.note(now_ns, Level::Warn, text, out);
                }
                None => *state = AgentState::Done,
            },
        }
    }

    /// From when on nothing was done of what was an agent's, of one that has said its last word and has not accounted for
    /// all of it. It came to its end before it heard of a change that gave it more, or was told to end on its host, or had to
    /// end while nobody heard it. In a run that was stopped early, and in which nothing of the kind happened, it is a fault of
    /// the agent's, and shows.
    fn ended_short_ns(&self, agent: Incarnation) -> Option<u64> {
        let share = self.agents.get(&agent)?;
        let Planned::Arrivals(arrivals) = &self.planned else { return None };
        let latest = share.legs().split_first().and_then(|(_, later)| later.last());
        let was_early = self.stop_reason().is_some_and(StopReason::is_early);
        let is_plain = was_early && !self.was_resumed && !share.wants_to_leave && latest.is_none();
        if is_plain || share.accounted() >= arrivals.due_before_stop(share) {
            return None;
        }
        let reported_ns = u64::from(share.reported.watermark_s).saturating_mul(SECOND_NS);
        Some(latest.map_or(reported_ns, |leg| leg.from_ns))
    }

    /// True if an agent says its last word though it has work and time left and nobody told it to stop.
    fn ends_early(&self, now_ns: u64, agent: Incarnation) -> bool {
        let Some(share) = self.agents.get(&agent) else { return false };
        let running = matches!(self.state, State::Running { .. }) && share.state == AgentState::Running;
        // When it said so is not known of one whose coordinator was away, but what of its arrivals it has not accounted for.
        let is_known = self.was_resumed && matches!(self.planned, Planned::Arrivals(_));
        running && self.has_work(share) && (is_known || self.has_time(now_ns, share.share()))
    }

    pub(crate) fn has_work(&self, agent: &AgentShare) -> bool {
        match &self.planned {
            Planned::Iterations(_) => agent.unreported() > 0 || (self.ledger.is_some() && !agent.told_last),
            Planned::UserTime { .. } => true,
            Planned::Arrivals(arrivals) => arrivals.has_work(agent),
        }
    }

    /// True if some of the planned time of this share is left, as nearly as two clocks can agree on it.
    fn has_time(&self, now_ns: u64, share: &Share) -> bool {
        let run_ns = self.run_ns(now_ns).unwrap_or(0).saturating_add(CLOCK_SLACK_NS);
        match &self.load.model {
            Model::Closed(closed) => match &closed.users {
                Users::Steady(_) => true,
                // Of an agent's users the first is there the longest.
                Users::Staged(shape) => {
                    let first = share.user_numbers(closed).next();
                    first.is_some_and(|first| shape.span(first, run_ns).is_some())
                }
            },
            Model::Open(_) => self.load.total_ns().is_none_or(|total_ns| run_ns < total_ns),
        }
    }
}
