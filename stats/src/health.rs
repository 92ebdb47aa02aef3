//! How the generator itself was: what an agent measures of its own process and machine, by second.

use serde::{Deserialize, Serialize};

/// One agent in one second. Durations are what of that second's time was spent so, in nanoseconds.
///
/// What can't be read on a machine is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// How much time this is about: mostly a second; more after the process stood still.
    pub span_ns: u64,
    /// 99th percentile of the lag of the iterations taken up; 0 without any, and in an unpaced closed run.
    pub lag_p99_ns: u64,
    /// The largest lag.
    pub lag_max_ns: u64,
    /// 99th percentile of the latency of ok requests, to hold the lag against; of failed ones where none was ok.
    pub latency_p99_ns: u64,
    /// The longest time for which a worker's event loop did not come round though it was due.
    pub stall_max_ns: u64,
    /// CPU time of the process, user and system.
    pub cpu_ns: u64,
    /// CPU time of its busiest worker, without what it spent polling for want of work.
    pub busiest_cpu_ns: u64,
    /// The longest time that one of its workers could have run and waited for a processor, beyond what a CPU quota kept it
    /// from.
    pub waited_ns: u64,
    /// Time for which the process's control group was kept from running by its CPU quota; never more than the span.
    pub throttled_ns: u64,
    /// CPU time that the machine's host took away, averaged over its processors.
    pub stolen_ns: u64,
    /// Memory that is resident, in bytes.
    pub resident_bytes: u64,
    /// Descriptors that are open.
    pub descriptors: u32,
    /// How many may be open.
    pub descriptors_limit: u32,
    /// Local ports that connections to the target can use: their range times the target's addresses.
    pub local_ports: u32,
}

/// What slowed a generator down, in the order in which one is believed rather than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slowdown {
    /// A CPU quota of its control group.
    Throttled,
    /// The machine's host took the processor away.
    Stolen,
    /// Other programs had the processor.
    Crowded,
    /// Its own work filled the processor.
    Busy,
    /// The process was stopped, or its machine slept: its event loops stood still and nothing else explains it.
    Stopped,
    /// None of these: its loops went round, but it had no lease and so no leave to begin anything.
    NoLease,
}

impl Slowdown {
    /// Every one, in their order.
    pub const ALL: &'static [Self] =
        &[Self::Throttled, Self::Stolen, Self::Crowded, Self::Busy, Self::Stopped, Self::NoLease];
}

impl Health {
    /// Adds another report of the same agent about the same second, or what a later one says of time before it.
    pub fn merge(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.span_ns, other.span_ns),
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.busiest_cpu_ns, other.busiest_cpu_ns),
            (&mut self.waited_ns, other.waited_ns),
            (&mut self.throttled_ns, other.throttled_ns),
            (&mut self.stolen_ns, other.stolen_ns),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (most, more) in [
            (&mut self.lag_p99_ns, other.lag_p99_ns),
            (&mut self.lag_max_ns, other.lag_max_ns),
            (&mut self.latency_p99_ns, other.latency_p99_ns),
            (&mut self.stall_max_ns, other.stall_max_ns),
            (&mut self.resident_bytes, other.resident_bytes),
        ] {
            *most = (*most).max(more);
        }
        self.descriptors = self.descriptors.max(other.descriptors);
        self.descriptors_limit = self.descriptors_limit.max(other.descriptors_limit);
        self.local_ports = self.local_ports.max(other.local_ports);
    }

    /// The part of the span that its busiest worker ran, 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio; spans stay far below 2^52 ns")]
    pub fn busiest_share(&self) -> f64 {
        if self.span_ns == 0 { 0.0 } else { self.busiest_cpu_ns as f64 / self.span_ns as f64 }
    }

    /// What most likely made it late by `late_ns`: the outside cause that took the most of the time, where one took
    /// half of `late_ns` at least; else its own work, where that filled nine tenths of a processor; else that its event
    /// loops stood still, where they did for half of `late_ns`.
    #[must_use]
    pub fn slowdown(&self, late_ns: u64) -> Slowdown {
        let outside = [
            (Slowdown::Throttled, self.throttled_ns),
            (Slowdown::Stolen, self.stolen_ns),
            (Slowdown::Crowded, self.waited_ns),
        ];
        let enough = (late_ns / 2).max(1);
        // Of equal ones the first is believed: a throttled process waits as well.
        let found = outside.iter().rev().filter(|(_, ns)| *ns >= enough).max_by_key(|(_, ns)| *ns);
        match found {
            Some((slowdown, _)) => *slowdown,
            None if self.busiest_share() >= 0.9 => Slowdown::Busy,
            None if self.stall_max_ns >= enough => Slowdown::Stopped,
            None => Slowdown::NoLease,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_is_called_by_its_name() {
        let ms = |ms: u64| ms * 1_000_000;
        let calm =
            Health { span_ns: ms(1000), busiest_cpu_ns: ms(300), waited_ns: ms(1), ..Health::default() };
        let check = |health: Health, expected| assert_eq!(health.slowdown(ms(80)), expected, "{health:?}");
        check(calm, Slowdown::NoLease);
        check(Health { stall_max_ns: ms(39), ..calm }, Slowdown::NoLease);
        check(Health { stall_max_ns: ms(40), ..calm }, Slowdown::Stopped);
        check(Health { stall_max_ns: ms(80), throttled_ns: ms(40), ..calm }, Slowdown::Throttled);
        check(Health { busiest_cpu_ns: ms(990), ..calm }, Slowdown::Busy);
        check(Health { waited_ns: ms(300), ..calm }, Slowdown::Crowded);
        check(Health { stolen_ns: ms(400), waited_ns: ms(300), ..calm }, Slowdown::Stolen);
        check(Health { throttled_ns: ms(700), waited_ns: ms(700), ..calm }, Slowdown::Throttled);
        check(Health { throttled_ns: ms(39), busiest_cpu_ns: ms(950), ..calm }, Slowdown::Busy);
    }

    #[test]
    fn merging_sums_times_and_keeps_the_worst() {
        let mut health =
            Health { span_ns: 10, lag_max_ns: 5, cpu_ns: 3, descriptors: 7, ..Health::default() };
        health.merge(&Health {
            span_ns: 20,
            lag_max_ns: 4,
            cpu_ns: u64::MAX,
            descriptors: 9,
            ..Health::default()
        });
        let expected =
            Health { span_ns: 30, lag_max_ns: 5, cpu_ns: u64::MAX, descriptors: 9, ..Health::default() };
        assert_eq!(health, expected);
    }
}
