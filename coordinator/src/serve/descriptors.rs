//! Descriptors: each connection takes one, so their number bounds how many there may be.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::fleet::MAX_AGENTS;

/// Most connections of pages and REST.
const MAX_HTTP: usize = 4_096;
/// Most event streams that are read at the same time.
const MAX_STREAMS: usize = 256;
/// Most connections of agents: each may be replacing an older one, and some are only about to join.
const MAX_LINKS: usize = 2 * MAX_AGENTS + 256;

/// How many connections there may be, so that one kind can't take the descriptors of the other, nor those of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Of pages and REST, streams among them.
    pub(super) http: usize,
    /// Event streams.
    pub(super) streams: usize,
    /// Of agents.
    pub(super) agents: usize,
}

impl Bounds {
    /// The bounds where so many descriptors may be open.
    pub(super) fn within(descriptors: u64) -> Self {
        let quarter = usize::try_from(descriptors / 4).unwrap_or(usize::MAX).max(8);
        let http = quarter.min(MAX_HTTP);
        Self { http, streams: (http / 2).min(MAX_STREAMS), agents: (quarter * 2).min(MAX_LINKS) }
    }
}

/// Raises the limit of descriptors as far as it goes, and gives back how many may be open then.
pub(super) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let Rlimit { current, maximum } = limit;
    if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        return maximum.unwrap_or(u64::MAX);
    }
    let current = current.unwrap_or(u64::MAX);
    tracing::warn!(current, "the limit of descriptors cannot be raised");
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_connection_has_a_part_of_the_descriptors() {
        let check = |descriptors, http, streams, agents| {
            assert_eq!(Bounds::within(descriptors), Bounds { http, streams, agents }, "{descriptors}");
        };
        check(1_024, 256, 128, 512);
        check(20_000, 4_096, 256, 2_256);
        check(u64::MAX, 4_096, 256, 2_256);
        check(0, 8, 4, 16);
    }

    #[test]
    fn the_limit_is_raised() {
        let raised = raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!((current, raised), (maximum, maximum.unwrap_or(u64::MAX)));
    }
}
