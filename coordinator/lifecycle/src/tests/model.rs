//! Agents as they are supposed to be: what they can have done, and so report, at any moment of a run.

use std::collections::BTreeMap;

use volley_plan::Model;
use volley_plan::link::{Incarnation, Order, WindowFacts};
use volley_stats::Iterations;

use crate::{Action, AgentShare, Leg, Run};

/// What an agent knows that was told to stop.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// The run time of the stop.
    at_ns: u64,
    /// Nothing that is due later was taken up: it heard of the stop then, or its lease had run out before.
    until_ns: u64,
}

/// The measured arrivals of an agent, in the order in which they are due.
#[derive(Clone, Debug, Default)]
struct Due {
    legs: Vec<Leg>,
    adjusted: usize,
    due_ns: Vec<u64>,
}

/// All agents of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    due: BTreeMap<Incarnation, Due>,
    /// The orders to stop that are on their way: their numbers and times.
    stops: BTreeMap<Incarnation, Vec<(u64, u64)>>,
    told: BTreeMap<Incarnation, Told>,
}

impl Agents {
    /// Takes notice of what the decider did.
    pub(crate) fn notice(&mut self, actions: &[Action]) {
        for action in actions {
            if let Action::Send { agent, number, order: Order::Stop { at_ns, .. } } = action {
                self.stops.entry(*agent).or_default().push((*number, *at_ns));
            }
        }
    }

    /// `agent` has taken its orders up to this number, at `run_ns`. It may hear late of a stop, or never.
    pub(crate) fn hear(&mut self, agent: Incarnation, acknowledged: u64, run_ns: u64, lease_ns: u64) {
        let Some(stops) = self.stops.get(&agent) else { return };
        let heard = stops.iter().filter(|(number, _)| *number <= acknowledged).map(|(_, at_ns)| *at_ns);
        let Some(at_ns) = heard.min() else { return };
        let so_far_ns = lease_ns.min(run_ns);
        let told = self.told.entry(agent).or_insert(Told { at_ns, until_ns: at_ns.max(so_far_ns) });
        if at_ns < told.at_ns {
            *told = Told { at_ns, until_ns: at_ns.max(so_far_ns).min(told.until_ns) };
        }
    }

    /// True if `agent` knows at `run_ns` that it is to end.
    pub(crate) fn knows_the_end(&self, run: &Run, agent: Incarnation, run_ns: u64) -> bool {
        self.told.contains_key(&agent) || run.load().total_ns().is_some_and(|total_ns| run_ns >= total_ns)
    }

    /// What `agent` may report next, at `run_ns` and with a lease up to `lease_ns`: `most` iterations or fewer, all that is
    /// left of them if this is the last window.
    pub(crate) fn report(
        &mut self,
        run: &Run,
        agent: &AgentShare,
        (run_ns, lease_ns): (u64, u64),
        (most, last): (u64, bool),
    ) -> WindowFacts {
        let (started, missed) = match &run.load().model {
            Model::Open(_) => self.arrivals(run, agent, (run_ns, lease_ns), (most, last)),
            Model::Closed(closed) if closed.iterations.is_some() => (most.min(agent.unreported()), 0),
            Model::Closed(_) => (most, 0),
        };
        let (failed, cancelled) = (started / 5, started / 7);
        WindowFacts {
            iterations: Iterations { started, finished: started, missed },
            started,
            ok: started - failed - cancelled,
            failed,
            cancelled,
            latest_ns: run_ns,
            last,
            ..WindowFacts::default()
        }
    }

    /// Started and missed arrivals that come next. Each is dealt with in the order in which it is due.
    fn arrivals(
        &mut self,
        run: &Run,
        agent: &AgentShare,
        (run_ns, lease_ns): (u64, u64),
        (most, last): (u64, bool),
    ) -> (u64, u64) {
        let total_ns = run.load().total_ns().expect("an open load has an end");
        let id = agent.facts.incarnation;
        let until_ns = self.told.get(&id).map_or(lease_ns, |told| told.until_ns.min(lease_ns));
        let Iterations { started, missed, .. } = agent.reported.iterations;
        let done = usize::try_from(started + missed).expect("small");
        // Only once it has heard of the end, or the time is over, does it know what it will not send any more.
        let stop_ns = match self.told.get(&id) {
            Some(told) => told.at_ns.min(total_ns),
            None if run_ns >= total_ns => total_ns,
            None => 0,
        };
        let left = self.due_ns(run, agent).get(done..).unwrap_or_default();
        let due_before = |bound_ns: u64| left.iter().take_while(|&&due_ns| due_ns < bound_ns).count() as u64;
        let taken_up = due_before(run_ns.min(until_ns)).min(most);
        // Some are turned away, since too many are in flight.
        let turned_away = taken_up / 9;
        let beyond = due_before(stop_ns).saturating_sub(taken_up);
        let missed = if last { beyond } else { beyond.min(most.saturating_sub(taken_up)) };
        (taken_up - turned_away, turned_away + missed)
    }

    /// When the measured arrivals of an agent are due, by its legs.
    fn due_ns(&mut self, run: &Run, agent: &AgentShare) -> &[u64] {
        let known = self.due.entry(agent.facts.incarnation).or_default();
        if known.legs != agent.legs() || known.adjusted != run.adjusted().len() {
            let (legs, adjusted) = (agent.legs().to_vec(), run.adjusted().len());
            *known = Due { due_ns: due_ns(run, agent), legs, adjusted };
        }
        &known.due_ns
    }
}

fn due_ns(run: &Run, agent: &AgentShare) -> Vec<u64> {
    let Model::Open(open) = &run.load().model else { return Vec::new() };
    let schedule = open.schedule(run.seed).expect("a schedule");
    let numbers = open.measured(&schedule, open.shape.total_ns());
    let all = volley_plan::shape::Stripes::default().all();
    let cursor = schedule.cursor(&all, open.shape.warmup_ns());
    let arrivals = cursor.take_while(|arrival| arrival.n < numbers.end);
    let is_own = |due_ns, n| agent.share_at(due_ns).is_some_and(|share| share.stripes.contains(n));
    arrivals.filter(|arrival| is_own(arrival.due_ns, arrival.n)).map(|arrival| arrival.due_ns).collect()
}
