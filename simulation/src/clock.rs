//! Clocks that start anywhere and run too fast or too slow, as those of different machines do.

const GIGA: i64 = 1_000_000_000;
/// What lies further ahead than this never comes: three hours.
const MOST_NS: u64 = 10_000_000_000_000;

/// A process's monotonic clock, against the time of the simulated world. All in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The world's time at which it read `base_ns`.
    since_ns: u64,
    base_ns: u64,
    /// By how many billionths it runs fast.
    drift_ppb: i64,
}

impl Clock {
    pub(crate) fn new(since_ns: u64, base_ns: u64, drift_ppb: i64) -> Self {
        Self { since_ns, base_ns, drift_ppb }
    }

    /// What it reads at a time of the world that is not before its own beginning. Worlds last hours at most, so nothing
    /// overflows.
    pub(crate) fn read(self, world_ns: u64) -> u64 {
        let passed_ns = signed(world_ns.saturating_sub(self.since_ns));
        let gained_ns = passed_ns * self.drift_ppb / GIGA;
        // The drift is below one, so a clock never runs backwards.
        self.base_ns.saturating_add_signed(passed_ns + gained_ns)
    }

    /// The first time of the world at which it reads `clock_ns` or more.
    pub(crate) fn moment(self, clock_ns: u64) -> u64 {
        let ahead_ns = clock_ns.saturating_sub(self.base_ns);
        if ahead_ns > MOST_NS {
            return u64::MAX;
        }
        let gained_ns = signed(ahead_ns) * self.drift_ppb / (GIGA + self.drift_ppb);
        let guess_ns = self.since_ns.saturating_add(ahead_ns).saturating_add_signed(-gained_ns);
        // The guess was rounded twice.
        let mut world_ns = guess_ns.saturating_sub(2).max(self.since_ns);
        while self.read(world_ns) < clock_ns {
            world_ns += 1;
        }
        world_ns
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_first_at_which_the_clock_reads_so() {
        for drift_ppb in [0, 100_000, -100_000, 1, -1, 333] {
            let clock = Clock::new(1_000, 50_000_000_000, drift_ppb);
            for ahead_ns in [0, 1, 7, 999_999, 30_000_000_001, 3_600_000_000_000] {
                let world_ns = clock.moment(50_000_000_000 + ahead_ns);
                assert!(clock.read(world_ns) >= 50_000_000_000 + ahead_ns, "{drift_ppb} {ahead_ns}");
                let before_ns = clock.read(world_ns.saturating_sub(1).max(1_000));
                assert!(before_ns < 50_000_000_000 + ahead_ns || world_ns == 1_000, "{drift_ppb} {ahead_ns}");
            }
        }
    }

    #[test]
    fn drift_is_what_it_is_called() {
        let hour_ns = 3_600_000_000_000;
        assert_eq!(Clock::new(0, 5, 100_000).read(hour_ns), 5 + hour_ns + hour_ns / 10_000);
        assert_eq!(Clock::new(0, 5, -100_000).read(hour_ns), 5 + hour_ns - hour_ns / 10_000);
    }
}
