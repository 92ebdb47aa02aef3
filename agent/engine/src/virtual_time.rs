//! Time that passes only when nothing else can happen, for exact tests of a worker without sockets and without waiting.
//!
//! A worker runs in a runtime of its own, with pipes in memory to a scripted target on the same thread. When no task can
//! run, the runtime is about to park; then the clock is moved to the earliest alarm, and that is rung.

mod agent;
mod target;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::Clock;

pub(crate) use target::Target;

/// A clock and all that waits for it. It is never freed: a test makes a few of them.
#[derive(Debug, Default)]
pub(crate) struct World {
    now_ns: AtomicU64,
    /// Whom to wake, by time and number of the alarm.
    alarms: Mutex<BTreeMap<(u64, u64), Waker>>,
    made: AtomicU64,
    /// The process stands still from one time to another.
    stands_still: Mutex<Range<u64>>,
}

impl World {
    pub(crate) fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    pub(crate) fn clock(&'static self) -> Clock {
        Clock::of_test(&self.now_ns)
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn alarm(&'static self) -> Alarm {
        Alarm { world: self, number: self.made.fetch_add(1, Ordering::Relaxed), at_ns: Cell::new(u64::MAX) }
    }

    /// Has the process stand still: what would ring within these times rings at their end.
    pub(crate) fn stand_still(&self, times_ns: Range<u64>) {
        *self.stands_still.lock().unwrap_or_else(PoisonError::into_inner) = times_ns;
    }

    pub(crate) async fn sleep_until(&'static self, at_ns: u64) {
        let alarm = self.alarm();
        alarm.set(at_ns);
        alarm.rung().await;
    }

    /// An event loop in which this world's time passes.
    pub(crate) fn runtime(&'static self) -> LocalRuntime {
        let mut builder = Builder::new_current_thread();
        builder.on_thread_park(move || self.pass_time());
        builder.build_local(LocalOptions::default()).expect("a runtime without input and output")
    }

    fn pass_time(&self) {
        let first = self.locked().pop_first();
        let ((at_ns, _), waker) = first.expect("whoever is left waits for something that won't happen");
        let still = self.stands_still.lock().unwrap_or_else(PoisonError::into_inner);
        let at_ns = if still.contains(&at_ns) { still.end } else { at_ns };
        self.now_ns.fetch_max(at_ns, Ordering::Relaxed);
        waker.wake();
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<(u64, u64), Waker>> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that rings when its time has come.
#[derive(Debug)]
pub(crate) struct Alarm {
    world: &'static World,
    number: u64,
    at_ns: Cell<u64>,
}

impl Alarm {
    /// Sets it, whatever it was set to.
    pub(crate) fn set(&self, at_ns: u64) {
        self.world.locked().remove(&(self.at_ns.replace(at_ns), self.number));
    }

    /// Waits until it rings.
    pub(crate) async fn rung(&self) {
        poll_fn(|cx| {
            if self.at_ns.get() <= self.world.now_ns() {
                return Poll::Ready(());
            }
            self.world.locked().insert((self.at_ns.get(), self.number), cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.set(u64::MAX);
    }
}
