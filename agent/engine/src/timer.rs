//! One timer for each worker, exact to some microseconds.
//!
//! It is a timerfd in the worker's own event loop, set to a point of time. tokio's timers would cost two clock reads and
//! a kernel timer with each wait for events, and fire up to 2 ms late.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use volley_stats::SECOND_NS;

use crate::Clock;

/// Stands where the timer may have fired, so that what it was set to says nothing.
const FIRED: u64 = 0;

/// A timer that can be set again and again.
#[derive(Debug)]
pub(crate) struct Timer {
    clock: Clock,
    bell: Bell,
    /// When it will fire.
    set_to_ns: Cell<u64>,
}

/// What fires.
#[derive(Debug)]
enum Bell {
    Kernel(AsyncFd<OwnedFd>),
    #[cfg(test)]
    Virtual(crate::virtual_time::Alarm),
}

impl Timer {
    /// A timer that isn't set.
    ///
    /// # Errors
    /// Where the process has no descriptor left.
    #[expect(
        deprecated,
        reason = "sound here: an OwnedFd stays the same open descriptor; its successor is unsafe"
    )]
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let bell = Bell::Kernel(AsyncFd::with_interest(fd, Interest::READABLE)?);
        Ok(Self { clock, bell, set_to_ns: Cell::new(FIRED) })
    }

    /// A timer that fires by virtual time.
    #[cfg(test)]
    pub(crate) fn of_test(clock: Clock, alarm: crate::virtual_time::Alarm) -> Self {
        Self { clock, bell: Bell::Virtual(alarm), set_to_ns: Cell::new(FIRED) }
    }

    /// Sets the timer to a time on the agent's clock, whatever it was set to; it fires at once when that has passed.
    /// Costs nothing where it is set to that already.
    ///
    /// # Errors
    /// None that is known of for a valid time; the kernel's word is passed on.
    pub(crate) fn set(&self, at_ns: u64) -> io::Result<()> {
        if self.set_to_ns.replace(at_ns) == at_ns {
            return Ok(());
        }
        match &self.bell {
            Bell::Kernel(fd) => set_kernel(fd, self.clock.kernel_ns(at_ns)),
            #[cfg(test)]
            Bell::Virtual(alarm) => {
                alarm.set(at_ns);
                Ok(())
            }
        }
    }

    /// Waits until it fires. It may return once too early after it was set again, so look at the clock.
    ///
    /// # Errors
    /// Where the event loop is shutting down.
    pub(crate) async fn fired(&self) -> io::Result<()> {
        match &self.bell {
            // The descriptor is never read: setting it again takes the expiry back.
            Bell::Kernel(fd) => fd.readable().await?.clear_ready(),
            #[cfg(test)]
            Bell::Virtual(alarm) => alarm.rung().await,
        }
        self.set_to_ns.set(FIRED);
        Ok(())
    }
}

fn set_kernel(fd: &AsyncFd<OwnedFd>, at_ns: u64) -> io::Result<()> {
    let value = Timespec {
        tv_sec: i64::try_from(at_ns / SECOND_NS).unwrap_or(i64::MAX),
        #[expect(clippy::cast_possible_wrap, reason = "less than a second")]
        tv_nsec: (at_ns % SECOND_NS) as i64,
    };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
    timerfd_settime(fd.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
    Ok(())
}
