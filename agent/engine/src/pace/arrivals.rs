//! The open model within one worker: which arrivals are due, who is free, and who waits for a connection.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use volley_plan::link::Bounds;
use volley_plan::shape::{Arrival, Cursor, StripeSet};

use super::OpenPlan;
use super::slots::{Slots, State};
use crate::control::NEVER;
use crate::turn::{Next, Turn};

/// The least time from one new slot to the next in the long run, in nanoseconds. Opening connections as fast as it can,
/// a worker does little else, and a target that accepts them does little else either: arrivals pile up that the slots
/// which are there would serve at once, and ask for ever more connections.
const SLOT_GAP_NS: u64 = 200_000;
/// So many may be made without a pause.
const SLOTS_AT_ONCE: u64 = 32;

/// One worker's arrivals. Times are run time here, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Arrivals {
    cursor: RefCell<Option<Cursor>>,
    /// The one that is due next.
    next: Cell<Option<Arrival>>,
    /// The number below which the arrivals of the leg at hand have been taken.
    taken: Cell<u64>,
    /// No arrival that was taken in an earlier leg and is of this one too has a number as high; 0 where there is none.
    dealt_to: Cell<u64>,
    end_number: Cell<u64>,
    /// See [`OpenPlan::ends_at_ns`].
    ends_at_ns: Cell<Option<u64>>,
    legs: RefCell<Box<Legs>>,
    /// When the first of them begins.
    change_at_ns: Cell<u64>,
    /// Iterations in flight, those that wait included.
    in_flight: Cell<u32>,
    max_in_flight: Cell<u32>,
    /// Turns that nobody has begun, in the order in which they were due.
    waiting: RefCell<VecDeque<Turn>>,
    slots: RefCell<Slots>,
    /// When the slots made so far are accounted for, on the agent's clock.
    slots_paid_ns: Cell<u64>,
}

/// What the worker has over time.
#[derive(Debug, Default)]
struct Legs {
    /// Those that have not begun, by their beginnings.
    ahead: VecDeque<OpenLeg>,
    /// The stripes of the one at hand.
    held: Option<StripeSet>,
    /// Of earlier ones, as far as they reach into the one at hand: their stripes, and the number below which their arrivals
    /// have been taken. Word of a change may come after its time to one that had a lease beyond it, since it gave nothing
    /// away.
    dealt: Vec<(StripeSet, u64)>,
}

/// Whose turn it is from a time on, and what bounds it.
#[derive(Debug)]
struct OpenLeg {
    from_ns: u64,
    stripes: StripeSet,
    cursor: Cursor,
    end_number: u64,
    ends_at_ns: Option<u64>,
    max_in_flight: u32,
    slots_max: usize,
}

impl Default for Arrivals {
    /// None, before the first leg.
    fn default() -> Self {
        Self {
            cursor: RefCell::default(),
            next: Cell::new(None),
            taken: Cell::new(0),
            dealt_to: Cell::new(0),
            end_number: Cell::new(0),
            ends_at_ns: Cell::new(None),
            legs: RefCell::default(),
            change_at_ns: Cell::new(NEVER),
            in_flight: Cell::new(0),
            max_in_flight: Cell::new(0),
            waiting: RefCell::default(),
            slots: RefCell::default(),
            slots_paid_ns: Cell::new(0),
        }
    }
}

impl Arrivals {
    /// From `from_ns` on these stripes are the worker's, within these bounds. To find the first arrival is done here,
    /// ahead of time: of Poisson ones the earlier are counted.
    pub(crate) fn learn(&self, from_ns: u64, stripes: &StripeSet, plan: &OpenPlan, bounds: Option<Bounds>) {
        let mut legs = self.legs.borrow_mut();
        legs.ahead.push_back(OpenLeg {
            from_ns,
            stripes: stripes.clone(),
            cursor: plan.cursor(stripes, from_ns),
            end_number: plan.end_number,
            ends_at_ns: plan.ends_at_ns,
            max_in_flight: bounds.map_or(0, |bounds| bounds.max_in_flight),
            slots_max: bounds.map_or(0, |bounds| bounds.most_connections() as usize),
        });
        self.change_at_ns.set(legs.ahead.front().map_or(NEVER, |leg| leg.from_ns));
    }

    /// When the next leg begins: what is due from then on is not of the one at hand.
    #[inline]
    pub(crate) fn change_at_ns(&self) -> u64 {
        self.change_at_ns.get()
    }

    /// Goes over to the next leg, and gives the slots that are to be woken since they are too many. What was due before it
    /// has been taken.
    pub(crate) fn change(&self) -> Vec<usize> {
        let mut legs = self.legs.borrow_mut();
        let Some(leg) = legs.ahead.pop_front() else { return Vec::new() };
        self.change_at_ns.set(legs.ahead.front().map_or(NEVER, |leg| leg.from_ns));
        *self.cursor.borrow_mut() = Some(leg.cursor);
        self.end_number.set(leg.end_number);
        self.ends_at_ns.set(leg.ends_at_ns);
        self.max_in_flight.set(leg.max_in_flight);
        let held = legs.held.replace(leg.stripes);
        legs.dealt.extend(held.map(|held| (held, self.taken.replace(0))));
        drop(legs);
        self.go_over();
        self.slots.borrow_mut().bound(leg.slots_max)
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
        self.taken.set(arrival.n + 1);
        self.advance();
        Some(arrival)
    }

    #[inline]
    fn advance(&self) {
        let mut cursor = self.cursor.borrow_mut();
        let mut arrival = cursor.as_mut().and_then(Cursor::next);
        while arrival.is_some_and(|arrival| arrival.n < self.dealt_to.get() && self.is_dealt(arrival.n)) {
            arrival = cursor.as_mut().and_then(Cursor::next);
        }
        let end_number = self.end_number.get();
        self.next.set(arrival.filter(|arrival| arrival.n < end_number));
    }

    #[cold]
    fn is_dealt(&self, n: u64) -> bool {
        self.legs.borrow().dealt.iter().any(|(held, taken)| n < *taken && held.contains(n))
    }

    /// Finds the first arrival of a leg that was not taken in an earlier one.
    fn go_over(&self) {
        self.bound_dealt();
        self.advance();
        let first = self.next.get().map_or(0, |arrival| arrival.n);
        self.legs.borrow_mut().dealt.retain(|(_, taken)| *taken > first);
        self.bound_dealt();
    }

    fn bound_dealt(&self) {
        let most = self.legs.borrow().dealt.iter().map(|(_, taken)| *taken).max();
        self.dealt_to.set(most.unwrap_or(0));
    }

    /// There will be no more: the run stops.
    pub(crate) fn close(&self) {
        self.next.set(None);
        self.legs.borrow_mut().ahead.clear();
        self.change_at_ns.set(NEVER);
    }

    /// Whether one more iteration would be too many.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.in_flight.get() >= self.max_in_flight.get()
    }

    /// Whether nothing that is known of will be due any more, and nothing is in flight.
    pub(crate) fn is_done(&self) -> bool {
        self.next.get().is_none() && self.in_flight.get() == 0 && self.legs.borrow().ahead.is_empty()
    }

    /// Where a number of iterations ends the run: when the last of them is due, whoever's it is.
    pub(crate) fn ends_at_ns(&self) -> Option<u64> {
        self.ends_at_ns.get()
    }

    /// Takes a turn up; gives a slot that was idle and must be woken.
    pub(crate) fn admit(&self, turn: Turn) -> Option<usize> {
        self.in_flight.set(self.in_flight.get() + 1);
        let slot = self.slots.borrow_mut().wake_one();
        self.waiting.borrow_mut().push_back(Turn { is_queued: slot.is_none(), ..turn });
        slot
    }

    /// When a slot may be made for a turn that waits and for which none is coming, on the agent's clock; [`NEVER`] where
    /// none is wanted.
    #[inline]
    pub(crate) fn slot_at_ns(&self) -> u64 {
        let slots = self.slots.borrow();
        let is_wanted = slots.coming < self.waiting.borrow().len() && slots.may_grow();
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

    /// The next turn for a slot that is free; without one it is idle from now on, or leaves where it is one too many. It may
    /// ask again: a stray word of its connection wakes it too.
    #[inline]
    pub(crate) fn next(&self, slot: usize) -> Next {
        let (mut slots, mut waiting) = (self.slots.borrow_mut(), self.waiting.borrow_mut());
        if slots.is_too_many(waiting.len()) {
            // What waits is left to the others, each of which is at work and will ask.
            slots.enter(slot, State::Gone);
            return Next::Over;
        }
        match waiting.pop_front() {
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
