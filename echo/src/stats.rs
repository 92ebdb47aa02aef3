//! True counts of what the target received and answered, shared by all connections.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// The most paths that are counted apart; requests to further ones are counted as `other`.
pub const PATHS_MAX: usize = 1_000;

/// The longest path that is counted by its name, in bytes; longer ones are counted as `other`.
pub const PATH_BYTES_MAX: usize = 512;

/// The name under which requests past [`PATHS_MAX`] are counted. No path is called so, since paths begin with
/// `/`.
pub const OTHER_PATHS: &str = "other";

/// The number after the greatest status code.
const STATUS_END: usize = 600;

/// A handle to a server's counts; cheap to clone, and good after the server has ended.
#[derive(Debug, Clone)]
pub struct Stats {
    counts: Arc<Counts>,
}

impl Stats {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        Self { counts }
    }

    /// The counts of this moment. A count is never behind what a client has seen: an answer is counted before
    /// its bytes are handed to the kernel, and taken back where they could not be. While requests are on
    /// their way the counts are read one after another, not all at once.
    pub fn snapshot(&self) -> Snapshot {
        self.counts.snapshot()
    }

    /// Sets every count but `connections_open` to zero, also those behind `/counter` and `/fail`. A request
    /// that was received before and is answered after counts in neither.
    pub fn reset(&self) {
        self.counts.reset();
    }
}

/// What a server had counted at one moment. Requests to `/stats`, and connections that carried nothing else,
/// are in none of the counts.
///
/// `requests + requests_malformed` is the sum of `statuses`, `requests_unanswered` and
/// `requests_in_progress`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections accepted and not yet closed by this side.
    pub connections_open: u64,
    /// Requests received whole, head and body.
    pub requests: u64,
    /// Requests refused because they broke the protocol; answered 4xx or 5xx, and the connection closed.
    pub requests_malformed: u64,
    /// Requests of which some bytes had come, and not all, when the connection ended.
    pub requests_partial: u64,
    /// Requests received whole whose answer was not sent whole: cut by a fault, by the client or by the
    /// server's end.
    pub requests_unanswered: u64,
    /// Requests received whole that are still to be answered.
    pub requests_in_progress: u64,
    /// Answers handed whole to the kernel, by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests received whole, by path without its query; past [`PATHS_MAX`] by [`OTHER_PATHS`].
    pub paths: BTreeMap<String, u64>,
    /// Bytes of answers' bodies handed to the kernel, without heads and without chunk framing.
    pub body_bytes_sent: u64,
    /// Bytes of requests' bodies received, without heads and without chunk framing.
    pub body_bytes_received: u64,
}

impl Snapshot {
    /// Requests received whole to this path (without its query).
    pub fn path(&self, path: &str) -> u64 {
        self.paths.get(path).copied().unwrap_or(0)
    }

    /// Answers of this status.
    pub fn status(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Answers of every status.
    pub fn answers(&self) -> u64 {
        self.statuses.values().sum()
    }
}

/// The counts themselves. Relaxed order is enough: no count says anything about another's memory.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Goes up with each reset, so that what was cached or begun before it is known to be old.
    generation: AtomicU64,
    pub(crate) connections_accepted: AtomicU64,
    pub(crate) connections_open: AtomicU64,
    pub(crate) malformed: AtomicU64,
    pub(crate) partial: AtomicU64,
    pub(crate) unanswered: AtomicU64,
    pub(crate) body_bytes_sent: AtomicU64,
    pub(crate) body_bytes_received: AtomicU64,
    statuses: [AtomicU64; STATUS_END],
    paths: Mutex<Paths>,
    counter: AtomicU64,
    /// Requests to fail by chance, by percentage.
    failing: [AtomicU64; 101],
}

#[derive(Debug, Default)]
struct Paths {
    by_name: HashMap<Box<str>, Arc<AtomicU64>>,
    other: Arc<AtomicU64>,
}

impl Counts {
    pub(crate) fn new() -> Self {
        let zero = AtomicU64::default;
        Self {
            generation: zero(),
            connections_accepted: zero(),
            connections_open: zero(),
            malformed: zero(),
            partial: zero(),
            unanswered: zero(),
            body_bytes_sent: zero(),
            body_bytes_received: zero(),
            statuses: [const { AtomicU64::new(0) }; STATUS_END],
            paths: Mutex::default(),
            counter: zero(),
            failing: [const { AtomicU64::new(0) }; 101],
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// The count of requests to this path, made where it is new, and the generation it belongs to.
    pub(crate) fn path(&self, path: &str) -> (Arc<AtomicU64>, u64) {
        let mut paths = self.lock_paths();
        // The generation changes under the same lock, so it is the one that this entry belongs to.
        let generation = self.generation();
        if let Some(count) = paths.by_name.get(path) {
            return (Arc::clone(count), generation);
        }
        if paths.by_name.len() >= PATHS_MAX || path.len() > PATH_BYTES_MAX {
            return (Arc::clone(&paths.other), generation);
        }
        let count = Arc::<AtomicU64>::default();
        paths.by_name.insert(path.into(), Arc::clone(&count));
        (count, generation)
    }

    /// The count of answers of this status, which is below 600.
    pub(crate) fn status(&self, status: u16) -> &AtomicU64 {
        &self.statuses[usize::from(status)]
    }

    /// The next number of `/counter`; the first is 1.
    pub(crate) fn next_counter(&self) -> u64 {
        self.counter.fetch_add(1, Relaxed) + 1
    }

    /// Whether the next of the requests that fail by this percentage (at most 100) does. Of each 100 in a row
    /// exactly `percent` do, evenly spread.
    pub(crate) fn next_fails(&self, percent: u8) -> bool {
        let number = self.failing[usize::from(percent)].fetch_add(1, Relaxed) % 100;
        number * u64::from(percent) % 100 + u64::from(percent) >= 100
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let statuses = self.statuses();
        let unanswered = self.unanswered.load(Relaxed);
        let malformed = self.malformed.load(Relaxed);
        // Read after the answers, so that an answer that comes in between can't make this negative.
        let paths = self.paths();
        let requests = paths.values().sum::<u64>();
        let settled = statuses.values().sum::<u64>() + unanswered;
        Snapshot {
            connections_accepted: self.connections_accepted.load(Relaxed),
            connections_open: self.connections_open.load(Relaxed),
            requests,
            requests_malformed: malformed,
            requests_partial: self.partial.load(Relaxed),
            requests_unanswered: unanswered,
            requests_in_progress: (requests + malformed).saturating_sub(settled),
            statuses,
            paths,
            body_bytes_sent: self.body_bytes_sent.load(Relaxed),
            body_bytes_received: self.body_bytes_received.load(Relaxed),
        }
    }

    fn statuses(&self) -> BTreeMap<u16, u64> {
        let counts = (0..).zip(self.statuses.iter().map(|count| count.load(Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    fn paths(&self) -> BTreeMap<String, u64> {
        let paths = self.lock_paths();
        let named = paths.by_name.iter().map(|(name, count)| (name.to_string(), count.load(Relaxed)));
        let other = (OTHER_PATHS.to_owned(), paths.other.load(Relaxed));
        named.chain([other]).filter(|(_, count)| *count > 0).collect()
    }

    pub(crate) fn reset(&self) {
        let mut paths = self.lock_paths();
        *paths = Paths::default();
        self.generation.fetch_add(1, Relaxed);
        let single = [
            &self.connections_accepted,
            &self.malformed,
            &self.partial,
            &self.unanswered,
            &self.body_bytes_sent,
            &self.body_bytes_received,
            &self.counter,
        ];
        for count in single.into_iter().chain(&self.statuses).chain(&self.failing) {
            count.store(0, Relaxed);
        }
    }

    fn lock_paths(&self) -> MutexGuard<'_, Paths> {
        // A panic can't leave the map half changed: each change is one insert or one assignment.
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes back what was counted too early. Never below zero, since a reset may have come in between.
pub(crate) fn take_back(count: &AtomicU64, by: u64) {
    // The closure always gives a value, so this can't fail.
    let _ = count.fetch_update(Relaxed, Relaxed, |value| Some(value.saturating_sub(by)));
}

#[cfg(test)]
mod tests;
