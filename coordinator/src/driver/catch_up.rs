//! What a deadline waits for that was slept over: that what came in meanwhile is read.

/// How long that is at least, in nanoseconds: connections are read by others.
const SHORTEST_NS: u64 = 500_000_000;
/// How long it is at most, in nanoseconds, however slowly what came in is kept.
const LONGEST_NS: u64 = 5_000_000_000;

/// While what came in during a sleep is read.
#[derive(Debug)]
pub(super) struct CatchUp {
    begun_ns: u64,
    /// What was there at the waking and is not read yet. Behind it, an agent's pings may be unread.
    unread: usize,
}

impl CatchUp {
    pub(super) fn begin(now_ns: u64, unread: usize) -> Self {
        Self { begun_ns: now_ns, unread }
    }

    pub(super) fn read_one(&mut self) {
        self.unread = self.unread.saturating_sub(1);
    }

    /// When it may be over at the earliest. As long as it is not, there is something to read.
    pub(super) fn until_ns(&self) -> u64 {
        self.begun_ns.saturating_add(SHORTEST_NS)
    }

    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        let is_read = self.unread == 0 && now_ns >= self.until_ns();
        is_read || now_ns >= self.begun_ns.saturating_add(LONGEST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_until_all_is_read_and_not_for_ever() {
        let check = |unread: usize, read: usize, after_ns: u64, expected: bool| {
            let mut catch_up = CatchUp::begin(7, unread);
            (0..read).for_each(|_| catch_up.read_one());
            assert_eq!(catch_up.is_over(7 + after_ns), expected, "{read} of {unread} after {after_ns} ns");
        };
        check(0, 0, SHORTEST_NS - 1, false);
        check(0, 0, SHORTEST_NS, true);
        check(3, 2, SHORTEST_NS, false);
        check(3, 3, SHORTEST_NS, true);
        check(3, 4, SHORTEST_NS, true);
        check(3, 2, LONGEST_NS, true);
    }
}
