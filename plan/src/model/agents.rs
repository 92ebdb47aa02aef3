//! Which agents a run needs, and how the load is shared out among them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::link::LEASE_NS;

/// Most agents that a plan can ask for.
pub const MAX_AGENTS: u32 = 10_000;
/// Most labels of an agent, and of a plan.
pub const MAX_LABELS: usize = 16;
/// Most characters of a label's name, and of its value.
pub const MAX_LABEL_CHARS: usize = 63;

/// Which agents a run needs, and how the load is shared out among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentsWanted {
    /// How many must be ready before the run starts, at least 1.
    pub min: u32,
    /// The most that take part, where there is a bound: others stay free for other runs. At least `min`.
    pub max: Option<u32>,
    /// How long the run waits for them; zero refuses it at once where there are none, and waits for those that are busy.
    pub wait: Duration,
    /// Only agents that have all of these labels.
    pub labels: BTreeMap<String, String>,
    /// Whether agents that join while the run goes on take over some of its load.
    pub elastic: bool,
    /// What an agent's part of the load is measured by.
    pub share_by: ShareBy,
    /// How long an agent may go on without word from the coordinator, 3 s to a minute. It is then that it is lost.
    pub lease: Duration,
    /// Whether the run may go on beside another one on the same target.
    pub beside: bool,
}

impl AgentsWanted {
    /// The lease of a plan that names none.
    pub const DEFAULT_LEASE: Duration = Duration::from_nanos(LEASE_NS);
    /// The shortest and the longest lease. A shorter one would run out between two pings that a network delays, and a
    /// lost agent's part of the load is missed for as long as its lease lasts.
    pub const LEASES: RangeInclusive<Duration> = Self::DEFAULT_LEASE..=Duration::from_secs(60);
}

impl Default for AgentsWanted {
    fn default() -> Self {
        Self {
            min: 1,
            max: None,
            wait: Duration::ZERO,
            labels: BTreeMap::new(),
            elastic: false,
            share_by: ShareBy::default(),
            lease: Self::DEFAULT_LEASE,
            beside: false,
        }
    }
}

/// What an agent's part of the load is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShareBy {
    /// Its weight, which is the number of its workers where it was given none.
    #[default]
    Weight,
    /// The requests a second that it was measured to be capable of. One that was not measured takes no part.
    Capacity,
    /// Nothing: all agents get the same.
    Even,
}

impl ShareBy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Weight, Self::Capacity, Self::Even];

    /// The word that plans have for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Weight => "weight",
            Self::Capacity => "capacity",
            Self::Even => "even",
        }
    }
}

/// Whether a text can be a label's name or its value: 1 to [`MAX_LABEL_CHARS`] letters, digits and `-._/`.
#[must_use]
pub fn is_label(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    (1..=MAX_LABEL_CHARS).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_plain() {
        for good in ["zone", "eu-1", "a.b/c_d", "0", &"x".repeat(63)] {
            assert!(is_label(good), "{good}");
        }
        for bad in ["", "a b", "a=b", "ü", "a,b", &"x".repeat(64)] {
            assert!(!is_label(bad), "{bad}");
        }
    }
}
