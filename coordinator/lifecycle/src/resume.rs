//! A run goes on after its coordinator was started again in the middle of it.
//!
//! What the predecessor had saved is known: shares, orders, grants, and all windows that it had acknowledged. What it had
//! not is learned from the agents: when run time 0 was, and how far they are. The leases that it gave are unknown, but none
//! reaches further than one lease beyond the start of this process; until then nothing changes hands.

use std::collections::BTreeMap;
use std::sync::Arc;

use volley_plan::Plan;
use volley_plan::link::{RunId, WindowFacts};
use volley_stats::SECOND_NS;

use crate::agent::AgentShare;
use crate::change::seconds;
use crate::event::{Action, Level};
use crate::planned::Planned;
use crate::record::{AgentRecord, Phase, RunRecord, at_other_times};
use crate::run::{Run, nanoseconds};
use crate::settings::Settings;
use crate::state::{State, StopReason, Stopped};

/// What agents have measured is known so much later at most, as long as all is well.
const BEHIND_NS: u64 = 2 * SECOND_NS;

/// What the restored agents of a run have in common.
struct Restored {
    now_ns: u64,
    /// Run time 0 by the wall clock.
    start_ns: u64,
    earlier_until_ns: u64,
    absent_until_ns: u64,
    ready_by_ns: u64,
    plan: String,
    hash: String,
}

impl Run {
    /// A run of an earlier process, at `now_ns` of this one's clock, which must have begun before the run did: it has run
    /// times of the run's beginning on it. Agents come with the sum of their windows that were kept. `fallback_run_ns` is
    /// how far the run is by the wall clock; it matters only where no agent comes back that knows better.
    #[must_use]
    pub fn resumed(
        now_ns: u64,
        id: RunId,
        plan: Arc<Plan>,
        settings: Settings,
        record: RunRecord,
        agents: Vec<(AgentRecord, WindowFacts)>,
        fallback_run_ns: u64,
    ) -> Self {
        let mut run = Self::gathering(now_ns, id, plan, record.seed, settings);
        let start_ns = now_ns.saturating_sub(fallback_run_ns);
        let absent_until_ns = now_ns.saturating_add(settings.absent_ns.max(run.lease_ns));
        let restored = Restored {
            now_ns,
            start_ns,
            // That of an order to start begins when the run does: it counts once that is known.
            earlier_until_ns: now_ns.saturating_add(run.lease_ns),
            absent_until_ns,
            ready_by_ns: now_ns.saturating_add(settings.prepare_ns),
            plan: run.plan.canonical_json(),
            hash: run.plan.hash().to_string(),
        };
        let agents =
            agents.into_iter().map(|(agent, facts)| (agent.incarnation(), restored.agent(agent, facts)));
        run.agents = agents.collect();
        (run.ledger, run.changed_ns) = (record.ledger, record.changed_ns);
        run.restore_load(record.adjusted);
        run.restore_counts(record.passed_ns, &record.relieved);
        run.restore_phase(record.phase, start_ns, absent_until_ns);
        run
    }

    fn restore_load(&mut self, adjusted: Vec<volley_plan::Adjust>) {
        // Each was found possible before it was saved.
        let load = adjusted.iter().try_fold(self.load.clone(), |load, adjust| load.adjusted(*adjust));
        if let (Ok(load), false) = (load, adjusted.is_empty()) {
            self.load_is(load);
        }
        self.adjusted = adjusted;
    }

    fn restore_counts(&mut self, passed_ns: u64, relieved: &BTreeMap<volley_plan::link::Incarnation, u64>) {
        for (agent, &at_ns) in relieved {
            let at_n = self.planned.number_at(at_ns);
            if let Some(agent) = self.agents.get_mut(agent) {
                agent.legs.end(at_ns, at_n);
            }
        }
        if let Planned::Arrivals(arrivals) = &mut self.planned {
            arrivals.pass(passed_ns);
        }
    }

    fn restore_phase(&mut self, phase: Phase, start_ns: u64, until_ns: u64) {
        let stopped = match phase {
            Phase::Gathering => return,
            Phase::Preparing => {
                self.state =
                    State::Preparing { until_ns: self.seen_ns.saturating_add(self.settings.prepare_ns) };
                return;
            }
            Phase::Running => None,
            Phase::Draining(stopped) => Some(stopped),
            Phase::Finished { has_started, stop_run_ns, outcome } => {
                let is_counted = has_started || outcome.reason == StopReason::Asked;
                let stopped = Stopped { run_ns: stop_run_ns, reason: outcome.reason.clone() };
                self.recount(is_counted.then_some(&stopped));
                let start_ns = has_started.then_some(start_ns);
                self.state = State::Finished { start_ns, stop_run_ns, outcome };
                return;
            }
        };
        self.was_resumed = true;
        self.recount(stopped.as_ref());
        self.state = State::Resuming { until_ns, start_ns, stopped, pending: None };
    }

    /// Counts again what is not saved since it follows from what is.
    fn recount(&mut self, stopped: Option<&Stopped>) {
        if let Some(stopped) = stopped {
            self.stop_counting(stopped.run_ns, &stopped.reason);
        }
        for agent in self.agents.keys().copied().collect::<Vec<_>>() {
            self.count_reported(agent);
            self.count_user_time(agent);
        }
    }

    /// An agent was heard of, which may know when run time 0 was. Where all are there and none has been told yet, the run
    /// starts now.
    pub(crate) fn resume_by(&mut self, now_ns: u64, start_ns: Option<u64>, out: &mut Vec<Action>) {
        let is_absent = |agent: &AgentShare| agent.state.works() && agent.absent_until_ns > 0;
        let all_there = !self.agents.values().any(is_absent);
        match start_ns {
            Some(start_ns) => self.go_on(now_ns, start_ns, out),
            None if all_there && self.is_untold() => {
                self.go_on(now_ns, now_ns.saturating_add(self.settings.lead_ns), out);
            }
            None => {}
        }
    }

    /// True if the order to start was saved, and may have reached nobody.
    fn is_untold(&self) -> bool {
        let untold = |agent: &AgentShare| agent.orders.start_is_pending() && agent.reported.sequence == 0;
        let mut told_to_start = self.agents.values().filter(|agent| !agent.legs().is_empty());
        self.stop_reason().is_none() && told_to_start.all(untold)
    }

    /// Nobody has come who knows when run time 0 was. Those who have come and wait for the order to start get it now;
    /// otherwise the wall clock has to do.
    pub(crate) fn resume_late(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let State::Resuming { start_ns, .. } = self.state else { return };
        let is_there = |agent: &AgentShare| agent.state.works() && agent.absent_until_ns == 0;
        let begins = self.is_untold() && self.agents.values().any(is_there);
        let start_ns = if begins { self.begin_anew(now_ns, start_ns) } else { start_ns };
        self.go_on(now_ns, start_ns, out);
        self.time(now_ns, out);
    }

    /// When run time 0 is of a run that begins anew. An agent that is absent may have begun with the predecessor all the same,
    /// by whose time it has leave for run times that are later by the new one's; before they are over it gives nothing away.
    fn begin_anew(&mut self, now_ns: u64, assumed_ns: u64) -> u64 {
        let start_ns = now_ns.saturating_add(self.settings.lead_ns);
        for agent in self.agents.values_mut().filter(|agent| agent.absent_until_ns > 0) {
            let turned_ns = agent.earlier_until_ns.saturating_add(start_ns).saturating_sub(assumed_ns);
            agent.earlier_until_ns = agent.earlier_until_ns.max(turned_ns);
        }
        start_ns
    }

    /// Run time 0 is known: everything that waited for that is done.
    fn go_on(&mut self, now_ns: u64, start_ns: u64, out: &mut Vec<Action>) {
        let State::Resuming { start_ns: assumed_ns, stopped, pending, .. } = self.state.clone() else {
            return;
        };
        for agent in self.agents.values_mut() {
            agent.starts_at(assumed_ns, start_ns, self.lease_ns);
        }
        self.state = State::Running { start_ns };
        let text = self.going_on_in_words(now_ns.saturating_sub(start_ns), stopped.as_ref());
        self.note(now_ns, Level::Warn, format!("the coordinator was started again; {text}"), out);
        if let Some(Stopped { run_ns, reason }) = stopped {
            let patience_ns = nanoseconds(self.load.drain).saturating_add(self.settings.owed_ns);
            self.stop_at(start_ns, run_ns, now_ns.saturating_add(patience_ns), reason);
        }
        self.make_up(now_ns, out);
        self.follow(now_ns, pending, out);
    }

    /// How the run goes on at this run time, if it does.
    fn going_on_in_words(&self, run_ns: u64, stopped: Option<&Stopped>) -> String {
        if let Some(Stopped { run_ns, .. }) = stopped {
            return format!("its load had stopped at {}", seconds(*run_ns));
        }
        if let Some(total_ns) = self.load.total_ns().filter(|total_ns| *total_ns <= run_ns) {
            return format!("its load was over by then, at {}", seconds(total_ns));
        }
        // The predecessor was there when it took the last seconds in, and hardly longer: by then no lease reached further.
        let reported_s = self.agents.values().map(AgentShare::watermark_s).max().unwrap_or(0);
        let paused_ns = u64::from(reported_s).saturating_mul(SECOND_NS).saturating_add(self.lease_ns);
        let pause = if run_ns > paused_ns.saturating_add(BEHIND_NS) {
            let from = seconds(paused_ns);
            format!(
                "; nothing is known of agents after second {reported_s}, so they may have had no lease from {from} on"
            )
        } else {
            String::new()
        };
        format!("the run goes on at {}{pause}", seconds(run_ns))
    }

    /// Does what came while run time was unknown: last words, joiners that are ready, agents that want to leave.
    fn make_up(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let has_ended = |agent: &&AgentShare| agent.reported.last && !agent.orders.is_released();
        let ended: Vec<_> =
            self.agents.values().filter(has_ended).map(|agent| agent.facts.incarnation).collect();
        for agent in ended {
            self.last_word(now_ns, agent, out);
        }
        if !matches!(self.state, State::Running { .. }) {
            return self.let_joiners_go(now_ns, out);
        }
        self.take_in_those_ready(now_ns, out);
        self.relieve_those_who_want(now_ns, out);
    }

    fn follow(&mut self, now_ns: u64, pending: Option<StopReason>, out: &mut Vec<Action>) {
        match (pending, &self.state) {
            (Some(reason @ StopReason::StoreFailed(_)), State::Running { .. } | State::Draining { .. }) => {
                self.end_unkept(now_ns, reason, out);
            }
            (Some(reason), State::Running { .. }) => self.stop(now_ns, reason, out),
            (Some(_), State::Draining { .. }) => self.stop_asked(now_ns, out),
            _ => {}
        }
    }
}

impl Restored {
    fn agent(&self, record: AgentRecord, facts: WindowFacts) -> AgentShare {
        let mut share = AgentShare::new(record.facts, record.prepared, self.now_ns, 0);
        share.state = at_other_times(&record.state, |run_ns| self.start_ns.saturating_add(run_ns));
        share.start_ns = self.start_ns;
        share.granted = record.granted;
        share.reported = facts;
        share.legs = record.legs;
        share.granted_to = record.granted_to;
        share.told_last = record.told_last;
        (share.lease_until_ns, share.earlier_until_ns) = (0, self.earlier_until_ns);
        share.ready_by_ns = self.ready_by_ns;
        share.absent_until_ns = self.absent_until_ns;
        share.wants_to_leave = record.wants_to_leave;
        share.permitted_to = record.permitted_to;
        share.missed = record.missed;
        share.missed_when_lost = record.missed_when_lost;
        share.orders = record.orders.with_plan(&self.plan, &self.hash);
        share
    }
}

impl AgentShare {
    /// Run time 0 was at `start_ns`, and not at `assumed_ns` as far as anything here was made by that. The first lease
    /// lasts from there, and there may lie further ahead than the lead of this process.
    fn starts_at(&mut self, assumed_ns: u64, start_ns: u64, first_lease_ns: u64) {
        let turn = |clock_ns: u64| clock_ns.saturating_add(start_ns).saturating_sub(assumed_ns);
        self.state = at_other_times(&self.state, turn);
        self.start_ns = start_ns;
        let lease_ns = self.orders.start_at(start_ns).max(first_lease_ns);
        self.earlier_until_ns = self.earlier_until_ns.max(start_ns.saturating_add(lease_ns));
    }
}
