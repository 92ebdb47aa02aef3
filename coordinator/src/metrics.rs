//! What monitoring is told of a coordinator: its fleet, its runs, and what all agents have sent since this process began. No
//! label names a run, a plan or a target, so there are as many series after a thousand runs as after one. Pure.

use std::collections::BTreeMap;

use volley_plan::Verdict;
use volley_stats::Tally;

use crate::exposition::{Exposition, Labels, Of};
use crate::fleet::VERSION;

/// The states of agents, see the list of agents.
const AGENT_STATES: [&str; 5] = ["idle", "busy", "draining", "silent", "gone"];
/// The states of runs that are not over, see [`crate::document::Progress::state`].
const RUN_STATES: [&str; 6] = ["queued", "gathering", "preparing", "resuming", "running", "draining"];
const VERDICTS: [Verdict; 4] = [Verdict::Passed, Verdict::Failed, Verdict::Invalid, Verdict::None];

/// What adds up over the life of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    /// What was sent.
    pub(crate) tally: Tally,
    /// Runs that ended, by verdict.
    finished: BTreeMap<&'static str, u64>,
}

impl Meter {
    /// A run is over.
    pub(crate) fn finished(&mut self, verdict: Verdict) {
        *self.finished.entry(verdict.name()).or_default() += 1;
    }
}

/// How things stand at this moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    /// Agents by state.
    pub(crate) agents: BTreeMap<String, u64>,
    /// Runs that are not over, by state.
    pub(crate) runs: BTreeMap<String, u64>,
    /// Of the latest complete second of each of these runs.
    pub(crate) users: u64,
    pub(crate) in_flight: u64,
    pub(crate) connections: u64,
    /// The store takes what is written.
    pub(crate) store_works: bool,
}

/// All of it.
pub(crate) fn exposition(meter: &Meter, moment: &Moment) -> Exposition {
    let mut all = Exposition::default();
    all.info("volley_build", "What this is.", vec![("version", VERSION.to_owned())]);
    let agents = by_name("state", &AGENT_STATES, &moment.agents);
    all.gauge("volley_agents", Of::Things, "Agents by state.", agents);
    let runs = by_name("state", &RUN_STATES, &moment.runs);
    all.gauge("volley_runs", Of::Things, "Runs that are not over, by state.", runs);
    let finished = |verdict: Verdict| meter.finished.get(verdict.name()).copied().unwrap_or(0);
    let finished = VERDICTS.map(|of| (vec![("verdict", of.name().to_owned())], finished(of)));
    all.counter("volley_runs_finished", Of::Things, "Runs that ended, by verdict.", finished.into());
    let help = "Whether the latest write to the store was done.";
    all.gauge("volley_store_works", Of::Things, help, one(u64::from(moment.store_works)));
    gauges(&mut all, [moment.users, moment.in_flight, moment.connections]);
    all.tally(&meter.tally);
    all
}

/// Users, requests in flight and open connections at the end of the latest second that was reported.
pub fn gauges(all: &mut Exposition, [users, in_flight, connections]: [u64; 3]) {
    all.gauge("volley_users", Of::Things, "Users of the closed model.", one(users));
    all.gauge("volley_requests_in_flight", Of::Things, "Requests in flight.", one(in_flight));
    all.gauge("volley_connections_open", Of::Things, "Connections that are open.", one(connections));
}

#[expect(clippy::cast_precision_loss, reason = "what goes up and down stays far below 2^52")]
fn one(n: u64) -> Vec<(Labels, f64)> {
    vec![(Labels::new(), n as f64)]
}

/// A sample for each name, whether or not there is anything of it, so that none comes and goes.
#[expect(clippy::cast_precision_loss, reason = "what goes up and down stays far below 2^52")]
fn by_name(label: &'static str, names: &[&str], counts: &BTreeMap<String, u64>) -> Vec<(Labels, f64)> {
    let count = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    names.iter().map(|name| (vec![(label, (*name).to_owned())], count(name))).collect()
}

#[cfg(test)]
mod tests {
    use volley_stats::Part;

    use super::*;
    use crate::testing::open_window;

    #[test]
    fn there_are_as_many_series_before_anything_as_after_it() {
        let mut meter = Meter::default();
        let lines = |meter: &Meter, moment: &Moment| exposition(meter, moment).openmetrics().lines().count();
        let before = lines(&meter, &Moment::default());
        for second in 0..3 {
            meter.tally.add(&open_window(second, Part::Measured, (5, 1), 3));
        }
        meter.finished(Verdict::Failed);
        let moment = Moment {
            agents: [("idle".to_owned(), 2)].into(),
            runs: [("running".to_owned(), 1)].into(),
            in_flight: 7,
            store_works: true,
            ..Moment::default()
        };
        // Statuses are known only once one was answered: a family of them, with its two lines, and one sample.
        assert_eq!(lines(&meter, &moment), before + 3);
        let text = exposition(&meter, &moment).openmetrics();
        for part in [
            "volley_agents{state=\"idle\"} 2.0\n",
            "volley_agents{state=\"gone\"} 0.0\n",
            "volley_runs{state=\"running\"} 1.0\n",
            "volley_runs_finished_total{verdict=\"failed\"} 1\n",
            "volley_requests_in_flight 7.0\n",
            "volley_requests_total{part=\"measured\",outcome=\"ok\"} 15\n",
            "volley_requests_total{part=\"warmup\",outcome=\"ok\"} 0\n",
            "volley_answers_total{part=\"measured\",status=\"200\"} 15\n",
            "volley_missed_arrivals_total{part=\"measured\"} 3\n",
            "volley_schedule_lag_seconds_count{part=\"measured\"} 15\n",
            "volley_request_duration_seconds_bucket{le=\"0.005\",part=\"measured\",outcome=\"ok\"} 15\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
