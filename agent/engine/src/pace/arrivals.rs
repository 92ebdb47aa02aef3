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
        let ends_by_count = load.ends_by_count(&measured);
        Ok(Self { schedule, end_number, ends_by_count })
    }
}

/// The least time from one new slot to the next in the long run, in nanoseconds. Opening connections as fast as it can,
/// a worker does little else, and a target that accepts them does little else either: arrivals pile up that the slots
/// which are there would serve at once, and ask for ever more connections.
const SLOT_GAP_NS: u64 = 200_000;
/// So many may be made without a pause.
const SLOTS_AT_ONCE: u64 = 32;

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
    slots_max: usize,
    /// Turns that nobody has begun, in the order in which they were due.
    waiting: RefCell<VecDeque<Turn>>,
    slots: RefCell<Slots>,
    /// When the slots made so far are accounted for, on the agent's clock.
    slots_paid_ns: Cell<u64>,
}

/// What the slots are at.
#[derive(Debug, Default)]
struct Slots {
    states: Vec<State>,
    /// Slots that have nothing to do. The last to become idle is the first to get work, so that no more connections are in
    /// use than are needed.
    idle: Vec<usize>,
    /// How many are coming.
    coming: usize,
}

/// ```text
///   made ─> Coming ─asks─> Busy ─asks in vain─> Idle ─is wanted─> Coming
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It will ask for a turn: it was woken, or it connects.
    Coming,
    Busy,
    Idle,
}

impl Arrivals {
    pub(crate) fn new(plan: &OpenPlan, share: &ArrivalShare) -> Self {
        let slots_max = share.most_connections() as usize;
        let arrivals = Self {
            cursor: RefCell::new(plan.schedule.cursor(&share.stripes, 0)),
            next: Cell::new(None),
            end_number: plan.end_number,
            in_flight: Cell::new(0),
            max_in_flight: share.max_in_flight,
            slots_max,
            waiting: RefCell::default(),
            slots: RefCell::default(),
            slots_paid_ns: Cell::new(0),
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

    /// Takes a turn up; gives a slot that was idle and must be woken.
    pub(crate) fn admit(&self, turn: Turn, now_ns: u64) -> Option<usize> {
        self.in_flight.set(self.in_flight.get() + 1);
        let slot = self.slots.borrow_mut().wake_one();
        let queued_ns = slot.is_none().then_some(now_ns);
        self.waiting.borrow_mut().push_back(Turn { queued_ns, ..turn });
        slot
    }

    /// When a slot may be made for a turn that waits and for which none is coming, on the agent's clock; [`NEVER`] where
    /// none is wanted.
    #[inline]
    pub(crate) fn slot_at_ns(&self) -> u64 {
        let slots = self.slots.borrow();
        let is_wanted = slots.coming < self.waiting.borrow().len() && slots.states.len() < self.slots_max;
        let may_owe_ns = (SLOTS_AT_ONCE - 1) * SLOT_GAP_NS;
        if is_wanted { self.slots_paid_ns.get().saturating_sub(may_owe_ns) } else { NEVER }
    }

    /// The number of a slot that is to be made now.
    #[inline]
    pub(crate) fn new_slot(&self, now_ns: u64) -> Option<usize> {
        if self.slot_at_ns() > now_ns {
            return None;
        }
        self.slots_paid_ns.set(self.slots_paid_ns.get().max(now_ns) + SLOT_GAP_NS);
        Some(self.slots.borrow_mut().add())
    }

    /// The next turn for a slot that is free; without one it is idle from now on. It may ask again: a stray word of its
    /// connection wakes it too.
    #[inline]
    pub(crate) fn next(&self, slot: usize) -> Next {
        let mut slots = self.slots.borrow_mut();
        match self.waiting.borrow_mut().pop_front() {
            Some(turn) => {
                slots.enter(slot, State::Busy);
                Next::Turn(turn)
            }
            None => {
                slots.enter(slot, State::Idle);
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

impl Slots {
    fn add(&mut self) -> usize {
        self.states.push(State::Coming);
        self.coming += 1;
        self.states.len() - 1
    }

    #[inline]
    fn wake_one(&mut self) -> Option<usize> {
        let slot = self.idle.pop()?;
        self.states[slot] = State::Coming;
        self.coming += 1;
        Some(slot)
    }

    /// A slot that has asked is busy or idle now.
    #[inline]
    fn enter(&mut self, slot: usize, state: State) {
        match std::mem::replace(&mut self.states[slot], state) {
            State::Coming => self.coming -= 1,
            State::Busy => {}
            State::Idle if state == State::Idle => return,
            State::Idle => self.idle.retain(|&idle| idle != slot),
        }
        if state == State::Idle {
            self.idle.push(slot);
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

    /// The slots that are made at this time.
    fn made(arrivals: &Arrivals, now_ns: u64) -> Vec<usize> {
        std::iter::from_fn(|| arrivals.new_slot(now_ns)).collect()
    }

    #[test]
    fn turns_go_to_the_latest_idle_slot_then_to_new_ones_then_wait() {
        let arrivals = arrivals("rate: 10/s, duration: 1s", 4, Some(2));
        let queued = |n, at_ns| Next::Turn(Turn { queued_ns: Some(at_ns), ..turn(n) });
        assert_eq!(
            (arrivals.admit(turn(0), 5), made(&arrivals, 5), made(&arrivals, 5)),
            (None, vec![0], vec![])
        );
        assert_eq!((arrivals.admit(turn(1), 6), made(&arrivals, 6)), (None, vec![1]));
        assert_eq!((arrivals.next(0), arrivals.next(1)), (queued(0, 5), queued(1, 6)));
        assert_eq!((arrivals.admit(turn(2), 7), arrivals.slot_at_ns()), (None, NEVER));
        arrivals.iteration_over();
        assert_eq!(arrivals.next(1), queued(2, 7));
        arrivals.iteration_over();
        arrivals.iteration_over();
        // Each says twice that it is idle, and gets one turn.
        for slot in [0, 1, 0, 1] {
            assert_eq!(arrivals.next(slot), Next::Wait);
        }
        assert_eq!([3, 4, 5].map(|n| arrivals.admit(turn(n), 9)), [Some(1), Some(0), None]);
        assert_eq!(
            [1, 0, 1].map(|slot| arrivals.next(slot)),
            [Next::Turn(turn(3)), Next::Turn(turn(4)), queued(5, 9)]
        );
        assert!(!arrivals.is_full());
        arrivals.admit(turn(6), 9);
        assert!(arrivals.is_full());
        assert_eq!(std::iter::from_fn(|| arrivals.take_back()).count(), 1);
        (0..3).for_each(|_| arrivals.iteration_over());
        arrivals.close();
        assert!(arrivals.is_done());
    }

    #[test]
    fn no_slot_is_made_for_a_turn_that_another_has_taken() {
        let arrivals = arrivals("rate: 10/s, duration: 1s", 100, None);
        (0..20).for_each(|n| assert_eq!(arrivals.admit(turn(n), 0), None));
        assert_eq!(made(&arrivals, 0), (0..20).collect::<Vec<_>>());
        // The first is there and works off what the others were made for.
        for _ in 0..15 {
            assert!(matches!(arrivals.next(0), Next::Turn(_)));
        }
        arrivals.admit(turn(20), 0);
        assert_eq!((arrivals.slot_at_ns(), made(&arrivals, 0)), (NEVER, vec![]));
        for slot in 1..20 {
            assert_eq!(matches!(arrivals.next(slot), Next::Turn(_)), slot <= 6, "{slot}");
        }
        assert_eq!((arrivals.admit(turn(21), 0), arrivals.admit(turn(22), 0)), (Some(19), Some(18)));
    }

    #[test]
    fn connections_are_opened_at_a_bounded_rate() {
        let arrivals = arrivals("rate: 10/s, duration: 1s", 1000, None);
        (0..100).for_each(|n| assert_eq!(arrivals.admit(turn(n), 7), None));
        assert_eq!(made(&arrivals, 1_000_000_000).len() as u64, SLOTS_AT_ONCE);
        assert_eq!(arrivals.slot_at_ns(), 1_000_000_000 + SLOT_GAP_NS);
        let after = |gaps| made(&arrivals, 1_000_000_000 + gaps * SLOT_GAP_NS).len();
        assert_eq!([after(1), after(2), after(5), after(5), after(100)], [1, 1, 3, 0, 32]);
    }

    #[test]
    fn a_slot_that_is_woken_by_chance_takes_a_turn() {
        let arrivals = arrivals("rate: 10/s, duration: 1s", 100, Some(2));
        arrivals.admit(turn(0), 0);
        assert_eq!(
            (made(&arrivals, 0), arrivals.next(0), arrivals.next(0)),
            (vec![0], Next::Turn(Turn { queued_ns: Some(0), ..turn(0) }), Next::Wait)
        );
        arrivals.admit(turn(1), 0);
        // It was woken for that one, and finds another one when it asks again, unwoken.
        assert_eq!((arrivals.next(0), arrivals.next(0)), (Next::Turn(turn(1)), Next::Wait));
        arrivals.waiting.borrow_mut().push_back(turn(2));
        assert_eq!((arrivals.next(0), arrivals.admit(turn(3), 1)), (Next::Turn(turn(2)), None));
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
