//! How an agent is in the run that it works for, as far as the run knows.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;
use volley_lifecycle::{AgentShare, Run};
use volley_plan::link::Incarnation;
use volley_stats::Health;

use crate::document::{ns_to_ms, ns_to_s, part_now};
use crate::live::Live;

/// What only a run knows of an agent. All of it is `null` while it has none, and while nothing has been reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct AtWork {
    /// The part of the run's load that is its, 0 to 1.
    pub(crate) part: Option<f64>,
    /// How it differs from its peers, in words.
    pub(crate) outlier: Option<String>,
    /// CPU of its process in the latest second, in processors.
    pub(crate) cpu: Option<f64>,
    /// 99th percentile of how late it took iterations up in the latest second.
    pub(crate) lag_p99_ms: Option<f64>,
    /// Descriptors that it has open.
    pub(crate) descriptors: Option<u64>,
    /// How many it may have open.
    pub(crate) descriptors_limit: Option<u64>,
    /// Local ports for connections to the target.
    pub(crate) local_ports: Option<u64>,
}

impl AtWork {
    /// The agents of this run.
    pub(crate) fn of_all(live: &Live, now_ns: u64) -> BTreeMap<Incarnation, Self> {
        let part = |run: &Run, of: &AgentShare| (of.facts.incarnation, part_now(run, of, now_ns));
        let parts: Vec<_> = live.ask(|run| run.agents().map(|of| part(run, of)).collect());
        let (healths, mut outliers) = live.fitness();
        let of_one = |(agent, part)| {
            let told = healths.get(&agent).map(Self::told).unwrap_or_default();
            (agent, Self { part: Some(part), outlier: outliers.remove(&agent), ..told })
        };
        parts.into_iter().map(of_one).collect()
    }

    /// What can't be read on its machine is 0 there, and absent here.
    fn told(health: &Health) -> Self {
        let known = |number: u64| (number > 0).then_some(number);
        Self {
            cpu: (health.span_ns > 0).then(|| ns_to_s(health.cpu_ns) / ns_to_s(health.span_ns)),
            lag_p99_ms: known(health.lag_p99_ns).map(ns_to_ms),
            descriptors: known(health.descriptors.into()),
            descriptors_limit: known(health.descriptors_limit.into()),
            local_ports: known(health.local_ports.into()),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_absent() {
        assert_eq!(AtWork::told(&Health::default()), AtWork::default());
        let health = Health {
            span_ns: 2_000_000_000,
            cpu_ns: 3_000_000_000,
            lag_p99_ns: 1_500_000,
            descriptors: 20,
            descriptors_limit: 1024,
            local_ports: 28_232,
            ..Health::default()
        };
        let told = AtWork::told(&health);
        assert_eq!((told.cpu, told.lag_p99_ms), (Some(1.5), Some(1.5)));
        assert_eq!(
            (told.descriptors, told.descriptors_limit, told.local_ports),
            (Some(20), Some(1024), Some(28_232))
        );
    }
}
