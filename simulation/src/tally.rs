//! How often what happened, over one run or many.

use std::collections::BTreeMap;
use std::fmt;

/// Counts over runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Things that happened in the simulated worlds.
    pub events: u64,
    /// What was done to them, by name.
    pub happened: BTreeMap<&'static str, u64>,
    /// Coordinators that died, and runs that the next one went on with.
    pub(crate) coordinator_deaths: u64,
    pub(crate) resumed: u64,
    /// Loads that were adjusted, of those that were to be.
    pub(crate) adjusted: u64,
    /// Agents that took part, and those of them that were lost.
    pub(crate) agents: u64,
    pub(crate) lost: u64,
    /// Shares that changed while a run went on.
    pub(crate) changes: u64,
    /// Iterations that were sent, missed, and unknown in the end.
    pub(crate) sent: u64,
    pub(crate) missed: u64,
    pub(crate) unknown: u64,
    /// Windows that were kept, and those of them that came after their run's end.
    pub(crate) windows: u64,
    pub(crate) late: u64,
    /// How runs ended.
    pub(crate) ends: BTreeMap<&'static str, u64>,
    /// Runs that were held to a stricter measure: nothing may be missing, or the rate must be back in time.
    pub(crate) whole: u64,
    pub(crate) restored: u64,
}

impl Tally {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.runs, other.runs),
            (&mut self.events, other.events),
            (&mut self.coordinator_deaths, other.coordinator_deaths),
            (&mut self.resumed, other.resumed),
            (&mut self.adjusted, other.adjusted),
            (&mut self.agents, other.agents),
            (&mut self.lost, other.lost),
            (&mut self.changes, other.changes),
            (&mut self.sent, other.sent),
            (&mut self.missed, other.missed),
            (&mut self.unknown, other.unknown),
            (&mut self.windows, other.windows),
            (&mut self.late, other.late),
            (&mut self.whole, other.whole),
            (&mut self.restored, other.restored),
        ] {
            *sum += more;
        }
        for (sums, more) in [(&mut self.happened, &other.happened), (&mut self.ends, &other.ends)] {
            for (name, count) in more {
                *sums.entry(name).or_default() += count;
            }
        }
    }
}

impl fmt::Display for Tally {
    /// A few lines for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = |counts: &BTreeMap<&'static str, u64>| {
            counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        };
        let Self { runs, events, agents, lost, changes, sent, missed, unknown, windows, late, .. } = self;
        writeln!(f, "{runs} runs, {events} events: {}", counts(&self.happened))?;
        writeln!(f, "ends: {}", counts(&self.ends))?;
        writeln!(f, "{agents} agents took part, {lost} were lost; {changes} changes of shares")?;
        writeln!(
            f,
            "{} coordinators died, {} runs were resumed, {} loads adjusted",
            self.coordinator_deaths, self.resumed, self.adjusted
        )?;
        writeln!(f, "{sent} iterations sent, {missed} missed, {unknown} unknown")?;
        writeln!(f, "{windows} windows kept, {late} of them delivered late")?;
        write!(
            f,
            "{} runs in which nothing may be missing, {} in which the rate must be back in time",
            self.whole, self.restored
        )
    }
}
