//! The open model within one worker: which arrivals are due, who is free, and who waits for a connection.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use volley_plan::OpenLoad;
use volley_plan::link::ArrivalShare;
use volley_plan::shape::{Arrival, Cursor, Schedule, ShapeError};

use crate::control::NEVER;
use crate::turn::{Next, Turn};

/// What all workers of an engine know of the open load.
#[derive(Clone, Debug)]
pub(crate) struct OpenPlan {
    schedule: Schedule,
    /// No arrival reaches this number.
    end_number: u64,
    /// The plan's number of iterations ends the run, not its time.
    pub(crate) ends_by_count: bool,
}

impl OpenPlan {
    /// # Errors
    /// None for a plan that was parsed.
    pub(crate) fn new(load: &OpenLoad, seed: u64) -> Result<Self, ShapeError> {
        let schedule = load.schedule(seed)?;
        let measured = load.measured(&schedule, load.shape.total_ns());
        let end_number = load.end_number(measured.start);
        let ends_by_count = load.iterations.is_some() && measured.end == end_number;
        Ok(Self { schedule, end_number, ends_by_count })
    }
}

/// Whom a turn goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// This slot is idle and must be woken.
    Idle(usize),
    /// A slot that is to be made, with this number.
    New(usize),
    /// Nobody is free: it waits.
    Nobody,
}

/// One worker's arrivals. Times are run time here, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Arrivals {
    cursor: RefCell<Cursor>,
    /// The one that is due next.
    next: Cell<Option<Arrival>>,
    end_number: u64,
    /// Iterations in flight, those that wait included.
    in_flight: Cell<u32>,
    max_in_flight: u32,
    slots: Cell<usize>,
    slots_max: usize,
    /// Turns that nobody has begun, in the order in which they were due.
    waiting: RefCell<VecDeque<Turn>>,
    idle: RefCell<Idle>,
}

/// Slots that have nothing to do. The last to become idle is the first to get work, so that no more connections are in
/// use than are needed.
#[derive(Debug, Default)]
struct Idle {
    stack: Vec<usize>,
    /// By slot: whether it is on the stack.
    is_on: Vec<bool>,
}

impl Arrivals {
    pub(crate) fn new(plan: &OpenPlan, share: &ArrivalShare) -> Self {
        let slots_max = share.connections.unwrap_or(u32::MAX).min(share.max_in_flight) as usize;
        let arrivals = Self {
            cursor: RefCell::new(plan.schedule.cursor(&share.stripes, 0)),
            next: Cell::new(None),
            end_number: plan.end_number,
            in_flight: Cell::new(0),
            max_in_flight: share.max_in_flight,
            slots: Cell::new(0),
            slots_max,
            waiting: RefCell::default(),
            idle: RefCell::default(),
        };
        arrivals.advance();
        arrivals
    }

    /// When the next one is due; [`NEVER`] when there is none.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        self.next.get().map_or(NEVER, |arrival| arrival.due_ns)
    }

    /// Takes the next one if it is due before `until_ns`.
    #[inline]
    pub(crate) fn take_before(&self, until_ns: u64) -> Option<Arrival> {
        let arrival = self.next.get().filter(|arrival| arrival.due_ns < until_ns)?;
        self.advance();
        Some(arrival)
    }

    fn advance(&self) {
        let arrival = self.cursor.borrow_mut().next();
        self.next.set(arrival.filter(|arrival| arrival.n < self.end_number));
    }

    /// There will be no more: the run stops.
    pub(crate) fn close(&self) {
        self.next.set(None);
    }

    /// Whether one more iteration would be too many.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.in_flight.get() >= self.max_in_flight
    }

    /// Whether nothing is due any more and nothing in flight.
    pub(crate) fn is_done(&self) -> bool {
        self.next.get().is_none() && self.in_flight.get() == 0
    }

    /// Takes a turn up; says who must be told.
    pub(crate) fn admit(&self, turn: Turn, now_ns: u64) -> Whom {
        self.in_flight.set(self.in_flight.get() + 1);
        let whom = match self.idle.borrow_mut().pop() {
            Some(slot) => Whom::Idle(slot),
            None if self.slots.get() < self.slots_max => {
                self.slots.set(self.slots.get() + 1);
                Whom::New(self.slots.get() - 1)
            }
            None => Whom::Nobody,
        };
        let queued_ns = (whom == Whom::Nobody).then_some(now_ns);
        self.waiting.borrow_mut().push_back(Turn { queued_ns, ..turn });
        whom
    }

    /// The next turn for a slot that is free; without one it is idle from now on.
    #[inline]
    pub(crate) fn next(&self, slot: usize) -> Next {
        match self.waiting.borrow_mut().pop_front() {
            Some(turn) => Next::Turn(turn),
            None => {
                self.idle.borrow_mut().push(slot);
                Next::Wait
            }
        }
    }

    /// An iteration has ended.
    #[inline]
    pub(crate) fn iteration_over(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
    }

    /// Takes a turn back that nobody has begun. It is no longer in flight.
    pub(crate) fn take_back(&self) -> Option<Turn> {
        let turn = self.waiting.borrow_mut().pop_front()?;
        self.iteration_over();
        Some(turn)
    }
}

impl Idle {
    #[inline]
    fn pop(&mut self) -> Option<usize> {
        let slot = self.stack.pop()?;
        self.is_on[slot] = false;
        Some(slot)
    }

    /// A slot may be woken by a stray word of its connection and say again that it is idle.
    #[inline]
    fn push(&mut self, slot: usize) {
        if self.is_on.len() <= slot {
            self.is_on.resize(slot + 1, false);
        }
        if !std::mem::replace(&mut self.is_on[slot], true) {
            self.stack.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::shape::Stripes;
    use volley_plan::{Model, parse};
    use volley_stats::Part;

    fn arrivals(plan: &str, max_in_flight: u32, connections: Option<u32>) -> Arrivals {
        let plan = parse(&format!("target: http://h/\n{}", plan.replace(", ", "\n"))).unwrap();
        let Model::Open(load) = &plan.load.model else { panic!("not open") };
        let share = ArrivalShare { stripes: Stripes::default().all(), max_in_flight, connections };
        Arrivals::new(&OpenPlan::new(load, 1).unwrap(), &share)
    }

    fn turn(n: u64) -> Turn {
        Turn { n, due_ns: n, part: Part::Measured, queued_ns: None }
    }

    #[test]
    fn turns_go_to_the_latest_idle_slot_then_to_new_ones_then_wait() {
        let arrivals = arrivals("rate: 10/s, duration: 1s", 4, Some(2));
        assert_eq!((arrivals.admit(turn(0), 5), arrivals.admit(turn(1), 5)), (Whom::New(0), Whom::New(1)));
        assert_eq!((arrivals.next(0), arrivals.next(1)), (Next::Turn(turn(0)), Next::Turn(turn(1))));
        assert_eq!(arrivals.admit(turn(2), 7), Whom::Nobody);
        arrivals.iteration_over();
        assert_eq!(arrivals.next(1), Next::Turn(Turn { queued_ns: Some(7), ..turn(2) }));
        arrivals.iteration_over();
        arrivals.iteration_over();
        // Each says twice that it is idle, and gets one turn.
        for slot in [0, 1, 0, 1] {
            assert_eq!(arrivals.next(slot), Next::Wait);
        }
        assert_eq!(
            [3, 4, 5].map(|n| arrivals.admit(turn(n), 9)),
            [Whom::Idle(1), Whom::Idle(0), Whom::Nobody]
        );
        assert!(!arrivals.is_full());
        arrivals.admit(turn(6), 9);
        assert!(arrivals.is_full());
        assert_eq!(std::iter::from_fn(|| arrivals.take_back()).count(), 4);
        arrivals.close();
        assert!(arrivals.is_done());
    }

    /// How many arrivals come, and whether their number is what ends the run.
    fn check(plan: &str, expected: (usize, bool)) {
        let arrivals = arrivals(plan, 1, None);
        let parsed = parse(&format!("target: http://h/\n{}", plan.replace(", ", "\n"))).unwrap();
        let Model::Open(load) = &parsed.load.model else { panic!("not open") };
        let ends_by_count = OpenPlan::new(load, 1).unwrap().ends_by_count;
        let count = std::iter::from_fn(|| arrivals.take_before(NEVER)).count();
        assert_eq!((count, ends_by_count), expected, "{plan}");
    }

    #[test]
    fn a_number_of_iterations_or_the_time_ends_the_arrivals() {
        check("rate: 10/s, duration: 2s", (20, false));
        check("rate: 10/s, duration: 2s, iterations: 7", (7, true));
        check("rate: 10/s, duration: 2s, iterations: 20", (20, true));
        check("rate: 10/s, duration: 2s, iterations: 21", (20, false));
        check("rate: 10/s, duration: 2s, iterations: 7, warmup: 1s", (17, true));
        check("rate: 10/s, iterations: 13", (13, true));
    }
}
