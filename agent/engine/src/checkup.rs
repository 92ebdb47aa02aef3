//! How the generator was in each second: what the process says of itself beside what the workers measured.

use rustix::thread::Pid;
use volley_stats::{Health, Histogram, Part, RowKey, StepId, Timed, Window};

use crate::Clock;
use crate::health::{Sampler, ThreadTime};

/// Fills in how the generator was.
#[derive(Debug)]
pub(crate) struct Checkup {
    sampler: Sampler,
    local_ports: u32,
    /// When there was anything to do for this engine, on the agent's clock: the start, unless it came later.
    began_ns: u64,
    /// The seconds before this one have been filled in.
    done_s: u32,
}

impl Checkup {
    pub(crate) fn new(clock: Clock, local_ports: u32) -> Self {
        Self { sampler: Sampler::new(clock), local_ports, began_ns: 0, done_s: 0 }
    }

    /// Watches a worker's thread from now on.
    pub(crate) fn watch(&mut self, worker: Pid) {
        self.sampler.watch(worker);
    }

    /// There was something to do from this time of the agent's clock on.
    pub(crate) fn began(&mut self, began_ns: u64) {
        self.began_ns = began_ns;
    }

    /// A worker's thread has ended, with these times.
    pub(crate) fn left(&mut self, worker: Pid, time: Option<ThreadTime>) {
        self.sampler.left(worker, time);
    }

    /// Fills in the seconds that this window completes. What the process did since the last window is said of the last of
    /// them; the workers' stalls are there already. The busiest worker's processor time is without the `polled_ns` in which
    /// it had nothing to do but to poll: that is no sign of too much work.
    pub(crate) fn fill_in(&mut self, window: &mut Window, now_ns: u64, polled_ns: u64) {
        let completed = std::mem::replace(&mut self.done_s, window.watermark_s)..window.watermark_s;
        let seconds: Vec<u32> = window.seconds.range(completed).map(|(&second, _)| second).collect();
        let Some(&last) = seconds.last() else { return };
        for second in seconds {
            let measured = measured(window, second);
            window.health.entry(second).or_default().merge(&measured);
        }
        let mut sample = self.sampler.sample(now_ns, self.local_ports);
        // The first one began when the engine got ready, which may have been long before.
        sample.span_ns = sample.span_ns.min(now_ns.saturating_sub(self.began_ns));
        sample.busiest_cpu_ns = sample.busiest_cpu_ns.saturating_sub(polled_ns);
        window.health.entry(last).or_default().merge(&sample);
    }
}

/// What a second's rows say of its lag and latency, the warm-up's included.
fn measured(window: &Window, second: u32) -> Health {
    let mut lag = Histogram::<u32, { volley_stats::COARSE_DIGITS }>::default();
    for part in [Part::Warmup, Part::Measured] {
        if let Some(row) = window.rows.get(&RowKey::all_steps(second, part)) {
            lag.merge(row.timing.of(Timed::Lag));
        }
    }
    Health {
        lag_p99_ns: lag.percentile_ns(99.0).unwrap_or(0),
        lag_max_ns: lag.max_ns().unwrap_or(0),
        latency_p99_ns: latency_p99_ns(window, second),
        ..Health::default()
    }
}

fn latency_p99_ns(window: &Window, second: u32) -> u64 {
    let (mut ok, mut failed) = (Histogram::<u32>::default(), Histogram::<u32>::default());
    let first = RowKey { part: Part::Warmup, ..RowKey::second(second, 0) };
    let last = RowKey::second(second, StepId::MAX);
    for (_, row) in window.rows.range(first..=last) {
        ok.merge(&row.latency);
        failed.merge(&row.failed_latency);
    }
    ok.percentile_ns(99.0).or_else(|| failed.percentile_ns(99.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_stats::{Row, Second};

    const MS: u64 = 1_000_000;

    fn row(fill: impl FnOnce(&mut Row)) -> Row {
        let mut row = Row::default();
        fill(&mut row);
        row
    }

    #[test]
    fn each_completed_second_has_its_own_lag_and_latency() {
        let mut window = Window { watermark_s: 3, ..Window::default() };
        for second in 0..3 {
            window.seconds.insert(second, Second::default());
        }
        window.rows.insert(RowKey::all_steps(1, Part::Warmup), row(|row| row.timing.record(Timed::Lag, MS)));
        window
            .rows
            .insert(RowKey::all_steps(1, Part::Measured), row(|row| row.timing.record(Timed::Lag, 4 * MS)));
        window.rows.insert(RowKey::second(1, 0), row(|row| row.latency.record(70 * MS)));
        window.rows.insert(RowKey::second(1, 7), row(|row| row.latency.record(90 * MS)));
        window.rows.insert(RowKey::second(2, 7), row(|row| row.failed_latency.record(5 * MS)));
        let clock = Clock::start();
        let mut checkup = Checkup { done_s: 1, ..Checkup::new(clock, 5) };
        checkup.fill_in(&mut window, clock.now_ns() + 1, 0);
        let seen: Vec<_> = window
            .health
            .iter()
            .map(|(&second, health)| (second, health.lag_max_ns, health.latency_p99_ns, health.local_ports))
            .collect();
        assert_eq!(seen, [(1, 4 * MS, 90 * MS, 0), (2, 0, 5 * MS, 5)]);
        assert!(window.health[&2].span_ns > 0 && window.health[&1].span_ns == 0);
    }
}
