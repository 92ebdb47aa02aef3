//! Time passing, loss, draining, and the end with its account.

use volley_plan::link::{Incarnation, Order};
use volley_plan::words::counted;
use volley_plan::{Accounts, Verdict};

use crate::agent::{AgentShare, AgentState};
use crate::run::{Action, Level, Run, nanoseconds};
use crate::state::{Outcome, State, StopReason};

/// How far two clocks may disagree about the end of the planned time.
const CLOCK_SLACK_NS: u64 = 100_000_000;

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
                if let Some(duration_ns) =
                    self.duration_ns().filter(|ns| now_ns >= start_ns.saturating_add(*ns))
                {
                    let drain_ns = nanoseconds(self.load().drain);
                    self.drain(now_ns, duration_ns, drain_ns, StopReason::DurationOver, out);
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
        let counts = self.ledger.is_some();
        let at_ns = self.run_ns(now_ns).unwrap_or(0);
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.state = AgentState::Lost { at_ns: now_ns, delivered };
        let mut text = format!(
            "agent {} {how}: {} requests in flight are unresolved",
            share.facts.name,
            share.in_flight()
        );
        match (delivered, counts) {
            (true, _) => {}
            (false, true) => text += &format!(", {} unknown", counted(share.unreported(), "iteration")),
            (false, false) => {
                text += &format!(", what it sent after second {} is unknown", share.reported.watermark_s);
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
        self.state = State::Draining { start_ns, stop_run_ns, until_ns, reason };
        self.finish_if_settled(now_ns, out);
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
                self.state = State::Draining { start_ns, stop_run_ns, until_ns, reason: reason.clone() };
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
        let latest_ns = self.agents.values().map(|agent| agent.reported.latest_ns).max().unwrap_or(0);
        let undone = |agent: &AgentShare| !agent.was_lost() && agent.unreported() > 0;
        let all_done = self.ledger.as_ref().is_some_and(|ledger| ledger.remaining() == 0)
            && !self.agents.values().any(undone);
        if self.agents.values().all(AgentShare::was_lost) {
            (StopReason::AgentsLost, self.run_ns(now_ns).unwrap_or(latest_ns))
        } else if all_done || !self.is_over(now_ns) {
            (StopReason::CountReached, latest_ns)
        } else {
            (StopReason::DurationOver, self.duration_ns().unwrap_or(latest_ns))
        }
    }

    /// True if the planned time is over, as nearly as two clocks can agree on it.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        let run_ns = self.run_ns(now_ns).unwrap_or(0);
        self.duration_ns().is_some_and(|duration_ns| run_ns.saturating_add(CLOCK_SLACK_NS) >= duration_ns)
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
        let length_ns = self.end_run_ns().unwrap_or(0);
        let outcome = self.outcome_for(reason);
        for agent in self.agents.keys().copied().collect::<Vec<_>>() {
            self.dismiss(now_ns, agent, out);
        }
        self.state = State::Finished { start_ns, length_ns, outcome };
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

    fn outcome_for(&self, reason: StopReason) -> Outcome {
        let lost: Vec<&str> = self
            .agents
            .values()
            .filter(|agent| agent.was_lost())
            .map(|agent| agent.facts.name.as_str())
            .collect();
        let incomplete = !lost.is_empty();
        let invalid = match &reason {
            StopReason::CouldNotRun(why) => Some(why.clone()),
            StopReason::StoreFailed(why) => Some(format!("results could not be kept: {why}")),
            StopReason::AgentsLost => Some(format!("no agent was left ({})", lost.join(", "))),
            StopReason::CountReached | StopReason::DurationOver | StopReason::Asked => {
                self.accounts_for(Some(&reason)).invalid_because()
            }
        };
        let verdict = if invalid.is_some() { Verdict::Invalid } else { Verdict::None };
        let lost =
            incomplete.then(|| format!("lost {}: {}", counted(lost.len() as u64, "agent"), lost.join(", ")));
        let sentence = [invalid, lost].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Outcome { reason, verdict, incomplete, sentence }
    }

    /// The account up to now; final once the run is over.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        self.accounts_for(self.stop_reason())
    }

    /// Why the load has stopped, once it has.
    pub(crate) fn stop_reason(&self) -> Option<&StopReason> {
        match &self.state {
            State::Draining { reason, .. } => Some(reason),
            State::Finished { outcome, .. } => Some(&outcome.reason),
            _ => None,
        }
    }

    fn accounts_for(&self, reason: Option<&StopReason>) -> Accounts {
        let mut accounts = Accounts::default();
        // A run that time or a person ended had planned no more than it did until then.
        let cut_short = matches!(reason, Some(StopReason::DurationOver | StopReason::Asked));
        let unknown = |accounts: &mut Accounts, n: u64| accounts.unknown = accounts.unknown.saturating_add(n);
        let missed = |accounts: &mut Accounts, n: u64| accounts.missed = accounts.missed.saturating_add(n);
        for agent in self.agents.values() {
            let facts = agent.reported;
            accounts.add(facts.iterations, facts.started, facts.ok, facts.failed, facts.cancelled);
            let unreported = if self.ledger.is_some() { agent.unreported() } else { 0 };
            match agent.state {
                AgentState::Lost { delivered: false, .. } => unknown(&mut accounts, unreported),
                // It has said everything, so what it did not start is known not to have been sent.
                AgentState::Lost { delivered: true, .. } => missed(&mut accounts, unreported),
                AgentState::Done if !cut_short => missed(&mut accounts, unreported),
                _ => {}
            }
            let silent = matches!(agent.state, AgentState::Lost { delivered: false, .. });
            accounts.unknown_is_open |= silent && self.ledger.is_none();
            if agent.was_lost() {
                accounts.unresolved = accounts.unresolved.saturating_add(agent.in_flight());
            }
        }
        match &self.ledger {
            Some(_) if cut_short => {
                let known = accounts.started.saturating_add(accounts.missed);
                accounts.planned = Some(known.saturating_add(accounts.unknown));
            }
            Some(ledger) => {
                accounts.planned = Some(ledger.total());
                let ungranted = if reason.is_some() { ledger.remaining() } else { 0 };
                accounts.missed = accounts.missed.saturating_add(ungranted);
            }
            None => self.add_user_time(reason, &mut accounts),
        }
        accounts
    }

    /// A timed closed run plans users times time; what was lost of it is what lost agents did not measure.
    fn add_user_time(&self, reason: Option<&StopReason>, accounts: &mut Accounts) {
        let planned_ns = match (self.end_run_ns(), reason) {
            (Some(end_ns), Some(StopReason::Asked)) => end_ns,
            _ => self.duration_ns().unwrap_or(0),
        };
        let user_ms = |users: u32, ns: u64| u64::from(users).saturating_mul(ns / 1_000_000);
        for agent in self.agents.values() {
            accounts.planned_user_ms += user_ms(agent.share.users, planned_ns);
            if agent.was_lost() {
                let reported_ns = u64::from(agent.reported.watermark_s) * volley_stats::SECOND_NS;
                accounts.lost_user_ms += user_ms(agent.share.users, planned_ns.saturating_sub(reported_ns));
            }
        }
    }
}
