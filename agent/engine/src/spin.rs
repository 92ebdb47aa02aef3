//! Whether a worker with little to do polls its sockets for a moment before it sleeps.
//!
//! A thread that sleeps adds the wake-up of its processor to what it measures: some 36 µs on the machine where this was
//! tried, which is more than a fast target takes. A thread that polls measures the target, and costs a processor's time.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The longest that a worker polls for an answer, in nanoseconds. Whatever takes longer is hardly changed by a wake-up.
pub(crate) const SPIN_NS: u64 = 100_000;
/// How long before an arrival is due a worker doesn't sleep any more, in nanoseconds: about what a wake-up takes.
const SPIN_BEFORE_DUE_NS: u64 = 30_000;
/// The most by which a timer is set early, in nanoseconds. A wake-up that takes longer was not one's own processor's.
const HEAD_START_MAX_NS: u64 = 60_000;
/// By how much one wake-up changes what the next one is believed to take, in nanoseconds.
const HEAD_START_STEP_NS: u64 = 1_000;
/// With more requests in flight there is nearly always one to serve, and polling only costs.
const IN_FLIGHT_MAX: u32 = 4;
/// While polling doesn't pay, one request in so many tries whether it does now.
const TRY_EVERY: u32 = 64;

/// Whether workers poll for a moment before they sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spin {
    /// Never: the least processor time.
    Off,
    /// Whenever at most four requests are in flight in a worker: the truest latency.
    On,
    /// As `On`, while the target answers fast enough for it to matter, and where each worker has a processor.
    #[default]
    Auto,
}

/// A text that is none of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is none of off, on and auto")]
pub struct SpinError(String);

impl FromStr for Spin {
    type Err = SpinError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Off, Self::On, Self::Auto]
            .into_iter()
            .find(|spin| spin.name() == text)
            .ok_or_else(|| SpinError(text.to_owned()))
    }
}

impl fmt::Display for Spin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Spin {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Auto => "auto",
        }
    }

    /// The setting where `workers` share this many processors: polling would keep a worker from its work.
    pub(crate) fn with(self, workers: usize, processors: usize) -> Self {
        if self == Self::Auto && workers > processors { Self::Off } else { self }
    }
}

/// One worker's decision, request by request.
#[derive(Debug)]
pub(crate) struct Spinning {
    spin: Spin,
    /// How many of the last answers that were polled for came while they were, of [`ALL`].
    hits: Cell<u32>,
    /// Requests since it last paid.
    passed: Cell<u32>,
    /// How long a wake-up takes: as many take longer as take less.
    wake_up_ns: Cell<u64>,
    /// When it polled last.
    polled_at_ns: Cell<u64>,
    /// How long it has polled for want of work.
    polled_ns: Cell<u64>,
}

/// All of the last answers.
const ALL: u32 = 256;
/// From one look at the sockets to the next it takes less than this, in nanoseconds, if there was nothing else to do.
const ROUND_NS: u64 = 5_000;

impl Spinning {
    pub(crate) fn new(spin: Spin) -> Self {
        Self {
            spin,
            hits: Cell::new(ALL),
            passed: Cell::new(0),
            wake_up_ns: Cell::new(0),
            polled_at_ns: Cell::new(0),
            polled_ns: Cell::new(0),
        }
    }

    /// Whether a slot that waits for an answer polls, with so many requests in flight.
    #[inline]
    pub(crate) fn for_answer(&self, in_flight: u32) -> bool {
        match self.spin {
            Spin::Off => false,
            Spin::On => in_flight <= IN_FLIGHT_MAX,
            Spin::Auto => in_flight <= IN_FLIGHT_MAX && self.pays(),
        }
    }

    /// Whether the keeper polls until an arrival is due, `after_ns` from now.
    #[inline]
    pub(crate) fn before_due(&self, after_ns: u64) -> bool {
        self.spin != Spin::Off && after_ns <= SPIN_BEFORE_DUE_NS.max(self.head_start_ns())
    }

    /// By how much the timer is set early, so that the wake-up is over when an arrival is due.
    #[inline]
    pub(crate) fn head_start_ns(&self) -> u64 {
        if self.spin == Spin::Off { 0 } else { self.wake_up_ns.get() }
    }

    /// The timer woke the keeper so late.
    #[inline]
    pub(crate) fn woke(&self, late_ns: u64) {
        let believed_ns = self.wake_up_ns.get();
        let next_ns = if late_ns > believed_ns {
            (believed_ns + HEAD_START_STEP_NS).min(HEAD_START_MAX_NS)
        } else {
            believed_ns.saturating_sub(HEAD_START_STEP_NS)
        };
        self.wake_up_ns.set(next_ns);
    }

    /// It polls, and does so again after one look at the sockets.
    #[inline]
    pub(crate) fn polls(&self, now_ns: u64) {
        let round_ns = now_ns.saturating_sub(self.polled_at_ns.replace(now_ns));
        if round_ns < ROUND_NS {
            self.polled_ns.set(self.polled_ns.get() + round_ns);
        }
    }

    /// For how long it has polled for want of work since this was asked last.
    pub(crate) fn take_polled_ns(&self) -> u64 {
        self.polled_ns.take()
    }

    #[inline]
    fn pays(&self) -> bool {
        if self.hits.get() >= ALL / 2 {
            return true;
        }
        self.passed.set(self.passed.get() + 1);
        self.passed.get().is_multiple_of(TRY_EVERY)
    }

    /// An answer took so long that was polled for.
    #[inline]
    pub(crate) fn saw(&self, answer_ns: u64) {
        let hit = if answer_ns < SPIN_NS { ALL / 8 } else { 0 };
        self.hits.set(self.hits.get() * 7 / 8 + hit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_names() {
        for spin in [Spin::Off, Spin::On, Spin::Auto] {
            assert_eq!(spin.to_string().parse(), Ok(spin));
        }
        assert_eq!("fast".parse::<Spin>(), Err(SpinError("fast".to_owned())));
        assert_eq!(
            [Spin::Auto.with(2, 1), Spin::Auto.with(2, 2), Spin::On.with(2, 1)],
            [Spin::Off, Spin::Auto, Spin::On]
        );
    }

    /// How many of 640 requests poll, with answers that take so long.
    fn polled(spin: Spin, in_flight: u32, answer_ns: u64) -> usize {
        let spinning = Spinning::new(spin);
        let polls = (0..640).filter(|_| {
            let polls = spinning.for_answer(in_flight);
            if polls {
                spinning.saw(answer_ns);
            }
            polls
        });
        polls.count()
    }

    #[test]
    fn polling_is_for_few_requests_and_fast_answers() {
        assert_eq!(
            [polled(Spin::Off, 1, 1000), polled(Spin::On, 4, 1_000_000), polled(Spin::On, 5, 1000)],
            [0, 640, 0]
        );
        assert_eq!([polled(Spin::Auto, 1, 20_000), polled(Spin::Auto, 5, 20_000)], [640, 0]);
        let slow = polled(Spin::Auto, 1, 1_000_000);
        assert!((10..16).contains(&slow), "{slow}");
    }

    #[test]
    fn a_target_that_gets_fast_is_noticed() {
        let spinning = Spinning::new(Spin::Auto);
        (0..100).for_each(|_| spinning.saw(1_000_000));
        let tries = (0..64 * 100).filter(|_| spinning.for_answer(1)).inspect(|_| spinning.saw(10_000));
        // A dozen tries convince it, and from then on each request polls.
        assert!(tries.count() > 64 * 80);
    }

    #[test]
    fn a_wake_up_is_anticipated_by_what_half_of_them_take() {
        let late_ns = [30_000, 40_000, 50_000, 60_000, 2_000_000];
        for (spin, expected_ns) in [(Spin::Auto, 45_000..=55_000), (Spin::Off, 0..=0)] {
            let spinning = Spinning::new(spin);
            late_ns.iter().cycle().take(1000).for_each(|&late_ns| spinning.woke(late_ns));
            assert!(expected_ns.contains(&spinning.head_start_ns()), "{spin}: {}", spinning.head_start_ns());
        }
        let spinning = Spinning::new(Spin::On);
        (0..1000).for_each(|_| spinning.woke(1_000_000));
        assert_eq!(spinning.head_start_ns(), HEAD_START_MAX_NS);
        assert!(spinning.before_due(HEAD_START_MAX_NS) && !spinning.before_due(HEAD_START_MAX_NS + 1));
    }

    #[test]
    fn only_idle_rounds_count_as_polling() {
        let spinning = Spinning::new(Spin::On);
        for now_ns in [1_000_000, 1_001_000, 1_002_500, 1_040_000, 1_041_000] {
            spinning.polls(now_ns);
        }
        assert_eq!((spinning.take_polled_ns(), spinning.take_polled_ns()), (3_500, 0));
    }
}
