//! The open model within one engine: which arrivals are due, and which of them are sent, missed, or not decided yet.

use volley_plan::OpenLoad;
use volley_plan::link::Share;
use volley_plan::shape::{Arrival, Cursor, Schedule, StripeSet};
use volley_stats::Part;

use super::results::Results;
use super::{NEVER, Sent, Times};

/// The arrivals of one engine.
#[derive(Debug)]
pub(crate) struct Arrivals {
    schedule: Schedule,
    share: Share,
    cursor: Cursor,
    next: Option<Arrival>,
    /// All its own before this number are dealt with.
    decided_to: u64,
    warmup_ns: u64,
    /// No arrival reaches this number.
    end_number: u64,
    ends_by_count: bool,
    /// Those of earlier shares that come before these numbers are dealt with: the word of a change may come after its time,
    /// where there was a lease beyond that.
    dealt_with: Vec<(StripeSet, u64)>,
}

impl Arrivals {
    /// The share counts from `from_ns` on.
    pub(crate) fn new(load: &OpenLoad, seed: u64, share: &Share, from_ns: u64) -> Self {
        let schedule = load.schedule(seed).expect("a plan that was parsed has a schedule");
        let measured = load.measured(&schedule, load.shape.total_ns());
        let mut arrivals = Self {
            cursor: schedule.cursor(&share.stripes, from_ns),
            next: None,
            decided_to: 0,
            schedule,
            share: share.clone(),
            warmup_ns: load.shape.warmup_ns(),
            end_number: load.end_number(measured.start),
            ends_by_count: load.ends_by_count(&measured),
            dealt_with: Vec::new(),
        };
        arrivals.advance();
        arrivals
    }

    fn advance(&mut self) {
        let is_new = |n| self.dealt_with.iter().all(|(held, before)| n >= *before || !held.contains(n));
        let next = self.cursor.find(|arrival| is_new(arrival.n));
        self.next = next.filter(|arrival| arrival.n < self.end_number);
    }

    /// From `at_ns` on the share and the load are others.
    pub(crate) fn change(&mut self, load: &OpenLoad, seed: u64, share: &Share, at_ns: u64) {
        let old = std::mem::replace(self, Self::new(load, seed, share, at_ns));
        self.dealt_with = old.dealt_with;
        self.dealt_with.push((old.share.stripes, old.decided_to));
        self.begin(at_ns);
    }

    pub(crate) fn ends_by_count(&self) -> bool {
        self.ends_by_count
    }

    /// The same share, from `from_ns` on.
    pub(crate) fn begin(&mut self, from_ns: u64) {
        self.cursor = self.schedule.cursor(&self.share.stripes, from_ns);
        self.advance();
    }

    /// Whether one is left that is due before `bound_ns`.
    pub(crate) fn any_before(&self, bound_ns: u64) -> bool {
        self.next.is_some_and(|arrival| arrival.due_ns < bound_ns)
    }

    /// Takes up what is due by `run_ns` and before `bound_ns`; gives what is to be sent.
    pub(crate) fn take_up(
        &mut self,
        times: &Times,
        run_ns: u64,
        bound_ns: u64,
        in_flight: usize,
        results: &mut Results,
    ) -> Vec<Sent> {
        let room = self.share.bounds.map_or(0, |bounds| bounds.max_in_flight) as usize;
        let is_due = |arrival: &Arrival| arrival.due_ns <= run_ns && arrival.due_ns < bound_ns;
        let mut taken = Vec::new();
        while let Some(arrival) = self.next.filter(is_due) {
            let Arrival { n, due_ns } = arrival;
            let has_leave = run_ns < times.lease_until_ns && due_ns >= times.lapsed_until_ns;
            if !has_leave && due_ns >= times.own_until_ns {
                break; // Whose it is will be known when word comes.
            }
            self.decided_to = n + 1;
            self.advance();
            let part = if due_ns < self.warmup_ns { Part::Warmup } else { Part::Measured };
            if has_leave && in_flight + taken.len() < room {
                results.started(due_ns, part);
                taken.push(Sent { n, place: n, due_ns, part });
            } else {
                results.missed(due_ns, part);
            }
        }
        taken
    }

    /// When the next one is due that there is leave for, or that will be missed.
    pub(crate) fn next_ns(&self, times: &Times) -> u64 {
        let until_ns = times.lease_until_ns.max(times.own_until_ns);
        self.next.filter(|arrival| arrival.due_ns < until_ns).map_or(NEVER, |arrival| arrival.due_ns)
    }
}
