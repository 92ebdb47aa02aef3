//! How many iterations may be started: without a bound, or as many as were granted.
//!
//! Grants lie in a pool that all workers share. A worker claims a chunk at a time, so that the pool's lock is taken
//! once in hundreds of iterations; towards the end of what is there the chunks get smaller, so that no worker sits on
//! iterations that another one's idle users could do.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use volley_stats::SECOND_NS;

/// Most iterations that a worker claims at once.
const MAX_CHUNK: u64 = 256;

/// What bounds the number of iterations.
#[derive(Debug)]
pub(crate) enum Limit {
    /// Only time does.
    Unlimited,
    /// What was granted.
    Granted(Mutex<Pool>),
}

/// An answer to a worker that wants iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It may start these, at least one.
    Got(Range<u64>),
    /// None are left, more may come.
    Wait,
    /// None are left and none will come.
    Exhausted,
}

/// A grant that is to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The end of the last grant taken, or 0.
    pub(crate) taken: u64,
    /// How many iterations are wished for.
    pub(crate) iterations: u64,
}

impl Limit {
    pub(crate) fn claim(&self, now_ns: u64) -> (Claim, Option<Wish>) {
        match self {
            Self::Unlimited => (Claim::Got(0..u64::MAX), None),
            Self::Granted(pool) => locked(pool).claim(now_ns),
        }
    }

    pub(crate) fn grant(&self, iterations: Range<u64>, last: bool) {
        if let Self::Granted(pool) = self {
            locked(pool).grant(iterations, last);
        }
    }

    /// How many users there are from now on.
    pub(crate) fn serves(&self, users: u32) {
        if let Self::Granted(pool) = self {
            locked(pool).least_wish = least_wish(users);
        }
    }

    /// Whether all that was granted has been claimed, and no more will come.
    pub(crate) fn is_exhausted(&self) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Granted(pool) => {
                let pool = locked(pool);
                pool.last && pool.remaining == 0
            }
        }
    }
}

/// No operation of a pool leaves it half done, so what a panicking thread left is as good as any.
fn locked(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two for each user.
fn least_wish(users: u32) -> u64 {
    2 * u64::from(users.max(1))
}

/// Granted iterations that no worker has claimed yet.
#[derive(Debug)]
pub(crate) struct Pool {
    unclaimed: VecDeque<Range<u64>>,
    remaining: u64,
    /// The end of the last grant.
    taken: u64,
    last: bool,
    /// The next grant is asked for when no more than this remain.
    low: u64,
    asked: bool,
    claimed: u64,
    /// When [`Pool::claimed`] had which value: at the first claim, then at each wish.
    mark: Option<(u64, u64)>,
    workers: u64,
    least_wish: u64,
}

impl Pool {
    /// An empty pool for this many workers with this many users in all.
    pub(crate) fn new(workers: usize, users: u32) -> Self {
        Self {
            unclaimed: VecDeque::new(),
            remaining: 0,
            taken: 0,
            last: false,
            low: 0,
            asked: false,
            claimed: 0,
            mark: None,
            workers: workers as u64,
            least_wish: least_wish(users),
        }
    }

    fn grant(&mut self, iterations: Range<u64>, last: bool) {
        self.last |= last;
        // A grant begins where an earlier one ended or later; one that doesn't was taken already.
        if iterations.start < self.taken || iterations.is_empty() {
            return;
        }
        self.remaining += iterations.end - iterations.start;
        self.taken = iterations.end;
        self.low = self.remaining / 2;
        self.asked = false;
        self.unclaimed.push_back(iterations);
    }

    fn claim(&mut self, now_ns: u64) -> (Claim, Option<Wish>) {
        self.mark.get_or_insert((0, now_ns));
        let claim = match self.take_chunk() {
            Some(chunk) => Claim::Got(chunk),
            None if self.last => Claim::Exhausted,
            None => Claim::Wait,
        };
        (claim, self.wish(now_ns))
    }

    fn take_chunk(&mut self) -> Option<Range<u64>> {
        let front = self.unclaimed.front_mut()?;
        let size = (self.remaining / (4 * self.workers)).clamp(1, MAX_CHUNK).min(front.end - front.start);
        let chunk = front.start..front.start + size;
        front.start += size;
        if front.is_empty() {
            self.unclaimed.pop_front();
        }
        self.remaining -= size;
        self.claimed += size;
        Some(chunk)
    }

    /// What to ask for: what was claimed since the last wish, scaled to one second.
    fn wish(&mut self, now_ns: u64) -> Option<Wish> {
        if self.last || self.asked || self.remaining > self.low {
            return None;
        }
        self.asked = true;
        let (claimed, at_ns) = self.mark.replace((self.claimed, now_ns)).unwrap_or((0, now_ns));
        let since_ns = now_ns.saturating_sub(at_ns).max(1);
        let a_second = u128::from(self.claimed - claimed) * u128::from(SECOND_NS) / u128::from(since_ns);
        let iterations = u64::try_from(a_second).unwrap_or(u64::MAX).max(self.least_wish);
        Some(Wish { taken: self.taken, iterations })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pool(workers: usize, users: u32, iterations: Range<u64>, last: bool) -> Pool {
        let mut pool = Pool::new(workers, users);
        pool.grant(iterations, last);
        pool
    }

    #[test]
    fn chunks_get_smaller_towards_the_end() {
        let mut pool = pool(2, 10, 0..4096, true);
        let mut sizes = Vec::new();
        while let (Claim::Got(chunk), None) = pool.claim(0) {
            sizes.push(chunk.end - chunk.start);
        }
        assert_eq!(sizes.iter().sum::<u64>(), 4096);
        assert_eq!((sizes[0], sizes[sizes.len() - 1]), (256, 1));
        assert!(sizes.windows(2).all(|pair| pair[0] >= pair[1]), "{sizes:?}");
        assert_eq!(pool.claim(0), (Claim::Exhausted, None));
    }

    #[test]
    fn a_grant_is_asked_for_once_when_half_is_used() {
        let mut pool = pool(1, 4, 0..100, false);
        let mut claimed = 0;
        let wish = loop {
            let (Claim::Got(chunk), wish) = pool.claim(claimed * 1_000_000) else { panic!("no iterations") };
            claimed += chunk.end - chunk.start;
            if let Some(wish) = wish {
                break wish;
            }
            assert!(claimed < 50);
        };
        assert!((50..70).contains(&claimed), "{claimed}");
        // A thousand a second were claimed, counted up to the last claim's own time.
        assert_eq!(wish.taken, 100);
        assert!((900..2000).contains(&wish.iterations), "{wish:?}");
        while let (Claim::Got(_), wish) = pool.claim(0) {
            assert_eq!(wish, None);
        }
        pool.grant(100..102, false);
        let wish = Wish { taken: 102, iterations: 8 };
        assert_eq!(pool.claim(1_000_000_000_000), (Claim::Got(100..101), Some(wish)));
    }

    #[test]
    fn a_repeated_or_empty_grant_adds_nothing() {
        let mut pool = pool(1, 1, 0..2, false);
        pool.grant(0..2, false);
        pool.grant(2..2, true);
        assert_eq!(pool.claim(0), (Claim::Got(0..1), None));
        assert_eq!(pool.claim(0), (Claim::Got(1..2), None));
        assert_eq!(pool.claim(0), (Claim::Exhausted, None));
    }

    #[test]
    fn an_empty_pool_asks_once() {
        let mut pool = Pool::new(2, 3);
        assert_eq!(pool.claim(9), (Claim::Wait, Some(Wish { taken: 0, iterations: 6 })));
        assert_eq!(pool.claim(10), (Claim::Wait, None));
    }

    proptest! {
        #[test]
        fn what_is_granted_is_claimed_once(sizes in proptest::collection::vec(1u64..2000, 1..20), workers in 1usize..9) {
            let mut pool = Pool::new(workers, 10);
            let (mut granted, mut claimed) = (0, 0);
            for size in sizes {
                pool.grant(granted..granted + size, false);
                granted += size;
                let mut wishes = 0;
                while let (Claim::Got(chunk), wish) = pool.claim(0) {
                    prop_assert_eq!(chunk.start, claimed);
                    claimed = chunk.end;
                    wishes += u32::from(wish.is_some());
                }
                prop_assert_eq!((claimed, wishes), (granted, 1));
            }
        }
    }
}
