//! One timer for each worker, exact to some microseconds.
//!
//! It is a timerfd in the worker's own event loop. tokio's timers would cost two clock reads and a kernel timer with
//! each wait for events, and fire up to 2 ms late.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use volley_stats::SECOND_NS;

/// A timer that can be set again and again.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
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
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { fd: AsyncFd::with_interest(fd, Interest::READABLE)? })
    }

    /// Sets the timer, whatever it was set to. It fires at once when `after_ns` is 0.
    ///
    /// # Errors
    /// None that is known of for a valid time; the kernel's word is passed on.
    pub(crate) fn set(&self, after_ns: u64) -> io::Result<()> {
        let after_ns = after_ns.max(1);
        let value = Timespec {
            tv_sec: i64::try_from(after_ns / SECOND_NS).unwrap_or(i64::MAX),
            #[expect(clippy::cast_possible_wrap, reason = "less than a second")]
            tv_nsec: (after_ns % SECOND_NS) as i64,
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(self.fd.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// Waits until it fires. It may return once too early after it was set again, so look at the clock.
    ///
    /// # Errors
    /// Where the event loop is shutting down.
    pub(crate) async fn fired(&self) -> io::Result<()> {
        // The descriptor is never read: setting it again takes the expiry back.
        self.fd.readable().await?.clear_ready();
        Ok(())
    }
}
