//! Counts for monitoring: each window once, when it is kept.

use std::collections::BTreeMap;

use volley_plan::Verdict;
use volley_stats::SealedWindow;

use super::{Shared, lock};
use crate::exposition::Exposition;
use crate::feed::Feed;
use crate::live::Live;
use crate::metrics::{self, Moment};

impl Shared {
    /// A window was kept, for the first time and before its run was over.
    pub(crate) fn count_window(&self, window: &SealedWindow) {
        if let Err(error) = lock(&self.meter).tally.add_sealed(window) {
            // It was checked when it came.
            tracing::error!(%error, "a window cannot be counted for monitoring");
        }
    }

    /// A run is over.
    pub(crate) fn count_end(&self, verdict: Verdict) {
        lock(&self.meter).finished(verdict);
    }

    /// What monitoring is told.
    pub(crate) fn metrics(&self) -> Exposition {
        let moment = self.moment();
        let meter = lock(&self.meter).clone();
        metrics::exposition(&meter, &moment)
    }

    fn moment(&self) -> Moment {
        let agents = counted(self.agents().iter().map(|agent| agent.state));
        let mut moment = Moment { agents, store_works: self.write_fault().is_none(), ..Moment::default() };
        let runs = self.unfinished();
        moment.runs = counted(runs.iter().map(|live| state(live)));
        for live in runs {
            let latest = live.feed().read(Feed::ticks).last().cloned();
            let (users, in_flight, connections) =
                latest.map_or((0, 0, 0), |tick| (tick.users, tick.in_flight, tick.connections));
            moment.users += users;
            moment.in_flight += in_flight;
            moment.connections += connections;
        }
        moment
    }
}

fn state(live: &Live) -> &'static str {
    if live.is_queued() { "queued" } else { live.ask(|run| run.state().name()) }
}

fn counted<'a>(states: impl Iterator<Item = &'a str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for state in states {
        *counts.entry(state.to_owned()).or_default() += 1;
    }
    counts
}
