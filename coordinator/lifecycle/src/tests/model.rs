//! Agents as they are supposed to be: what they can have done, and so report, at any moment of a run.

use std::collections::BTreeMap;

use volley_plan::link::{Incarnation, Order, Share, WindowFacts};
use volley_plan::{Model, Plan};
use volley_stats::Iterations;

use crate::{Action, AgentShare, Run};

/// What an agent knows that was told to stop.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// The run time of the stop.
    at_ns: u64,
    /// When it heard of that, or when its lease had run out before: nothing that is due later was taken up.
    until_ns: u64,
}

/// All agents of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    /// When the measured arrivals of each are due.
    due_ns: BTreeMap<Incarnation, Vec<u64>>,
    /// The orders to stop that are on their way: their numbers and times.
    stops: BTreeMap<Incarnation, Vec<(u64, u64)>>,
    told: BTreeMap<Incarnation, Told>,
}

impl Agents {
    /// Takes notice of what the decider did.
    pub(crate) fn notice(&mut self, run: &Run, actions: &[Action]) {
        for action in actions {
            let Action::Send { agent, number, order } = action else { continue };
            match order {
                Order::Prepare { share, seed, .. } => {
                    self.due_ns.insert(*agent, due_ns(run.plan(), share, *seed));
                }
                Order::Stop { at_ns, .. } => self.stops.entry(*agent).or_default().push((*number, *at_ns)),
                Order::Start { .. } | Order::Grant { .. } | Order::Release => {}
            }
        }
    }

    /// `agent` has taken its orders up to this number. It may hear late of a stop, or never.
    pub(crate) fn hear(&mut self, run: &Run, agent: Incarnation, acknowledged: u64, now_ns: u64) {
        let Some(share) = run.agents().find(|share| share.facts.incarnation == agent) else { return };
        let (Some(start_ns), Some(stops)) = (run.start_ns(), self.stops.get(&agent)) else { return };
        let Some(&(_, at_ns)) = stops.iter().find(|(number, _)| *number <= acknowledged) else { return };
        let until_ns = share.lease_until_ns.min(now_ns).saturating_sub(start_ns);
        self.told.entry(agent).or_insert(Told { at_ns, until_ns });
    }

    /// What `agent` may report next: `most` iterations or fewer, all that is left of them if this is the last window.
    pub(crate) fn report(
        &self,
        run: &Run,
        agent: &AgentShare,
        now_ns: u64,
        most: u64,
        last: bool,
    ) -> WindowFacts {
        let (started, missed) = match &run.plan().load.model {
            Model::Open(_) => self.arrivals(run, agent, now_ns, most, last),
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
            latest_ns: now_ns,
            last,
            ..WindowFacts::default()
        }
    }

    /// Started and missed arrivals that come next. Each is dealt with in the order in which it is due.
    fn arrivals(&self, run: &Run, agent: &AgentShare, now_ns: u64, most: u64, last: bool) -> (u64, u64) {
        let Some(start_ns) = run.start_ns().filter(|&start_ns| start_ns <= now_ns) else { return (0, 0) };
        let (run_ns, total_ns) =
            (now_ns - start_ns, run.plan().load.total_ns().expect("an open load has an end"));
        let id = agent.facts.incarnation;
        let until_ns = match self.told.get(&id) {
            Some(told) => told.until_ns,
            None => agent.lease_until_ns - start_ns,
        };
        let Iterations { started, missed, .. } = agent.reported.iterations;
        let done = usize::try_from(started + missed).expect("small");
        let left = self.due_ns[&id].get(done..).unwrap_or_default();
        let due_before = |bound_ns: u64| left.iter().take_while(|&&due_ns| due_ns < bound_ns).count() as u64;
        let taken_up = due_before(run_ns.min(until_ns)).min(most);
        // Some are turned away, since too many are in flight.
        let turned_away = taken_up / 9;
        // Only once it has heard of the end, or the time is over, does it know what it will not send any more.
        let stop_ns = match self.told.get(&id) {
            Some(told) => told.at_ns.min(total_ns),
            None if run_ns >= total_ns => total_ns,
            None => 0,
        };
        let beyond = due_before(stop_ns).saturating_sub(taken_up);
        let missed = if last { beyond } else { beyond.min(most.saturating_sub(taken_up)) };
        (taken_up - turned_away, turned_away + missed)
    }
}

/// When the measured arrivals of an agent are due.
fn due_ns(plan: &Plan, share: &Share, seed: u64) -> Vec<u64> {
    let (Model::Open(open), Share::Arrivals(share)) = (&plan.load.model, share) else { return Vec::new() };
    let schedule = open.schedule(seed).expect("a schedule");
    let numbers = open.measured(&schedule, open.shape.total_ns());
    let cursor = schedule.cursor(&share.stripes, open.shape.warmup_ns());
    cursor.take_while(|arrival| arrival.n < numbers.end).map(|arrival| arrival.due_ns).collect()
}
