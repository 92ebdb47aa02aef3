//! Whether a generator was fit to measure: sums of an agent's health over seconds, and what follows from them.
//!
//! A second is *late* when the 99th percentile of its lag is above [`LATE_NS`] and above a tenth of its latency's 99th
//! percentile. Where iterations have no due time (an unpaced closed run) there is no lag; there, and there only, a second
//! is late when an event loop stood still for [`STALLED_NS`] and for more than a tenth of that percentile. An agent with
//! more than one late second in [`LATE_SECONDS`] makes the run invalid. Seconds in which nothing was due, as in the drain,
//! are in no count.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use volley_stats::{Health, SECOND_NS, Slowdown};

use crate::units::duration_in_words;
use crate::words::{count, counted};
use std::time::Duration;

/// A lag of so much is late, in nanoseconds.
pub const LATE_NS: u64 = 10_000_000;
/// One late second in so many is borne.
pub const LATE_SECONDS: u64 = 20;
/// An event loop that stood still for so long was stopped or starved, in nanoseconds.
pub const STALLED_NS: u64 = 100_000_000;
/// Least part of its time, in hundredths, for which a processor taken away or a full one is worth a note.
const NOTED_HUNDREDTHS: u64 = 5;

/// The health of one agent over some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HealthSum {
    /// Seconds in which iterations were due, or else late.
    pub seconds: u64,
    /// Late seconds: a stall of several counts for each of them, so there may be more than [`Self::seconds`].
    pub late_seconds: u64,
    /// Late seconds by their cause, in the order of [`Slowdown::ALL`]. Fewer were known when older ones were written.
    #[serde(deserialize_with = "causes_of_any_length")]
    pub causes: [u32; Slowdown::ALL.len()],
    /// The largest 99th percentile of a second's lag.
    pub lag_p99_max_ns: u64,
    /// The largest lag.
    pub lag_max_ns: u64,
    /// The longest stall of an event loop.
    pub stall_max_ns: u64,
    /// How much time this is about.
    pub span_ns: u64,
    /// CPU time of the process.
    pub cpu_ns: u64,
    /// CPU time of its busiest worker of each second.
    pub busiest_cpu_ns: u64,
    /// CPU time that the machine's host took away.
    pub stolen_ns: u64,
    /// Time for which a CPU quota kept it from running.
    pub throttled_ns: u64,
    /// Seconds in which its busiest worker filled nine tenths of a processor.
    pub busy_seconds: u64,
    /// Most descriptors that were open.
    pub descriptors_max: u32,
    /// How many may be open.
    pub descriptors_limit: u32,
    /// Local ports for connections to the target.
    pub local_ports: u32,
    /// Most memory that was resident, in bytes.
    pub resident_bytes_max: u64,
}

/// How late a second was, in nanoseconds; `None` if it wasn't. By its lag where iterations have due times (see
/// [`Load::has_due_times`](crate::Load::has_due_times)), else by its longest stall.
#[must_use]
pub fn lateness_ns(health: &Health, has_due_times: bool) -> Option<u64> {
    let bound_ns = LATE_NS.max(health.latency_p99_ns / 10);
    if has_due_times {
        return (health.lag_p99_ns > bound_ns).then_some(health.lag_p99_ns);
    }
    (health.stall_max_ns >= STALLED_NS && health.stall_max_ns > bound_ns).then_some(health.stall_max_ns)
}

fn causes_of_any_length<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<[u32; Slowdown::ALL.len()], D::Error> {
    let told = Vec::<u32>::deserialize(deserializer)?;
    Ok(std::array::from_fn(|place| told.get(place).copied().unwrap_or(0)))
}

impl HealthSum {
    /// Adds one second, in which so many iterations of either part were begun or missed. One without any, as in the
    /// drain, is in no count of seconds unless it was late itself; nor is less than half of one, as at the end of a run.
    pub fn add(&mut self, health: &Health, has_due_times: bool, iterations: u64) {
        let is_part = (1..SECOND_NS / 2).contains(&health.span_ns);
        let late_ns = lateness_ns(health, has_due_times);
        let matters = iterations > 0 || health.lag_max_ns > 0 || late_ns.is_some();
        let counts = matters && !is_part;
        self.merge(&Self {
            seconds: u64::from(counts),
            lag_p99_max_ns: health.lag_p99_ns,
            lag_max_ns: health.lag_max_ns,
            stall_max_ns: health.stall_max_ns,
            span_ns: health.span_ns,
            cpu_ns: health.cpu_ns,
            busiest_cpu_ns: health.busiest_cpu_ns,
            stolen_ns: health.stolen_ns,
            throttled_ns: health.throttled_ns,
            busy_seconds: u64::from(counts && health.busiest_share() >= 0.9),
            descriptors_max: health.descriptors,
            descriptors_limit: health.descriptors_limit,
            local_ports: health.local_ports,
            resident_bytes_max: health.resident_bytes,
            ..Self::default()
        });
        if let Some(late_ns) = late_ns.filter(|_| counts) {
            // An event loop that stood still for seconds was late in all of them, and could only say so in the last.
            self.late_seconds = self.late_seconds.saturating_add(1 + health.stall_max_ns / SECOND_NS);
            let cause = &mut self.causes[health.slowdown(late_ns) as usize];
            *cause = cause.saturating_add(1);
        }
    }

    /// Adds other seconds.
    pub fn merge(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.seconds, other.seconds),
            (&mut self.late_seconds, other.late_seconds),
            (&mut self.span_ns, other.span_ns),
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.busiest_cpu_ns, other.busiest_cpu_ns),
            (&mut self.stolen_ns, other.stolen_ns),
            (&mut self.throttled_ns, other.throttled_ns),
            (&mut self.busy_seconds, other.busy_seconds),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in self.causes.iter_mut().zip(other.causes) {
            *sum = sum.saturating_add(more);
        }
        self.lag_p99_max_ns = self.lag_p99_max_ns.max(other.lag_p99_max_ns);
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
        self.stall_max_ns = self.stall_max_ns.max(other.stall_max_ns);
        self.descriptors_max = self.descriptors_max.max(other.descriptors_max);
        self.descriptors_limit = self.descriptors_limit.max(other.descriptors_limit);
        self.local_ports = self.local_ports.max(other.local_ports);
        self.resident_bytes_max = self.resident_bytes_max.max(other.resident_bytes_max);
    }

    /// Whether what the agent measured can't be trusted.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late_seconds.saturating_mul(LATE_SECONDS) > self.seconds
    }

    /// The same to be shown: no more late seconds than seconds.
    #[must_use]
    pub fn shown(&self) -> Self {
        Self { late_seconds: self.late_seconds.min(self.seconds), ..*self }
    }

    /// What made most of the late seconds late.
    #[must_use]
    pub fn cause(&self) -> Option<Slowdown> {
        let causes = Slowdown::ALL.iter().zip(self.causes).rev();
        let most = causes.filter(|(_, seconds)| *seconds > 0).max_by_key(|(_, seconds)| *seconds);
        match most.map(|(cause, _)| *cause) {
            // Whoever stands still for longer than its lease lasts has none when it goes on, a second or more later.
            Some(Slowdown::NoLease) if self.stall_max_ns >= (self.lag_max_ns / 2).max(1) => {
                Some(Slowdown::Stopped)
            }
            cause => cause,
        }
    }

    /// Why the run is invalid, naming cause and cure; `None` where the agent was fit.
    #[must_use]
    pub fn invalid_because(&self, agent: &str) -> Option<String> {
        self.is_late().then(|| self.lateness_in_words(agent))
    }

    /// What else is worth knowing of the agent: lateness that is borne, a processor taken away, a full processor.
    #[must_use]
    pub fn notes(&self, agent: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.late_seconds > 0 && !self.is_late() {
            notes.push(self.lateness_in_words(agent));
        }
        let is_much =
            |ns: u64| u128::from(ns) * 100 >= u128::from(self.span_ns) * u128::from(NOTED_HUNDREDTHS);
        if self.span_ns > 0 && is_much(self.stolen_ns) {
            let share = u128::from(self.stolen_ns) * 100 / u128::from(self.span_ns);
            notes.push(format!(
                "{share} % of agent {agent}'s processors' time was stolen by its machine's host"
            ));
        }
        if self.seconds > 0 && self.busy_seconds * 2 >= self.seconds {
            notes.push(format!(
                "agent {agent}'s busiest worker filled its processor in {} of {}: the generator, not the target, \
                 may have set the pace",
                count(self.busy_seconds),
                counted(self.seconds, "second"),
            ));
        }
        notes
    }

    fn lateness_in_words(&self, agent: &str) -> String {
        let late_seconds = self.shown().late_seconds;
        let worst_ns = self.lag_max_ns.max(self.stall_max_ns);
        let worst = duration_in_words(Duration::from_millis(worst_ns / 1_000_000));
        let late = format!(
            "agent {agent} was late in {} of {}, by up to {worst}",
            count(late_seconds),
            counted(self.seconds, "second"),
        );
        match self.cause() {
            Some(cause) => format!("{late}: {}", cause_in_words(cause)),
            None => late,
        }
    }
}

/// A cause and its cure.
fn cause_in_words(cause: Slowdown) -> &'static str {
    match cause {
        Slowdown::Throttled => {
            "a CPU quota of its control group (cgroup) held it up; give it more CPU, or it less load"
        }
        Slowdown::Stolen => {
            "its machine's host took the processor away (stolen CPU); use a machine whose processors are its own"
        }
        Slowdown::Crowded => "other programs had the processor; give it a processor of its own",
        Slowdown::Busy => "its own work filled a processor; use more cores or more agents",
        Slowdown::Stopped => "its process stood still; it was stopped, or its machine slept",
        Slowdown::NoLease => {
            "nothing on its machine explains it; most likely it had no lease, its coordinator being slow or out of reach: see \
             to the network between them"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn second(lag_ms: u64, latency_ms: u64) -> Health {
        Health {
            span_ns: 1000 * MS,
            lag_p99_ns: lag_ms * MS,
            lag_max_ns: lag_ms * MS,
            latency_p99_ns: latency_ms * MS,
            busiest_cpu_ns: 200 * MS,
            ..Health::default()
        }
    }

    fn sum(seconds: &[Health]) -> HealthSum {
        let mut sum = HealthSum::default();
        seconds.iter().for_each(|health| sum.add(health, true, 1));
        sum
    }

    /// The same of an unpaced closed run.
    fn sum_without_due_times(seconds: &[Health]) -> HealthSum {
        let mut sum = HealthSum::default();
        seconds.iter().for_each(|health| sum.add(health, false, 1));
        sum
    }

    #[test]
    fn lag_counts_beside_latency() {
        for (lag_ms, latency_ms, expected) in
            [(10, 10, false), (11, 11, true), (90, 1000, false), (110, 1000, true), (0, 5000, false)]
        {
            assert_eq!(
                lateness_ns(&second(lag_ms, latency_ms), true).is_some(),
                expected,
                "{lag_ms} of {latency_ms}"
            );
        }
    }

    #[test]
    fn a_stall_makes_late_only_where_there_is_no_lag() {
        let stalled = |stall_ms| Health { stall_max_ns: stall_ms * MS, ..second(0, 50) };
        for (stall_ms, expected) in [(99, None), (100, Some(100 * MS)), (300, Some(300 * MS))] {
            assert_eq!(lateness_ns(&stalled(stall_ms), false), expected, "{stall_ms}");
            assert_eq!(lateness_ns(&stalled(stall_ms), true), None, "{stall_ms}");
        }
        assert_eq!(lateness_ns(&Health { latency_p99_ns: 4000 * MS, ..stalled(300) }, false), None);
    }

    #[test]
    fn seconds_without_anything_due_dilute_nothing() {
        let mut sum = HealthSum::default();
        for iterations in [5, 0, 0, 0] {
            sum.add(&second(0, 0), true, iterations);
        }
        sum.add(&second(50, 0), true, 0);
        sum.add(&Health { stall_max_ns: 200 * MS, ..second(0, 0) }, true, 0);
        assert_eq!((sum.seconds, sum.late_seconds), (2, 1), "a stall is none where there is lag");
        sum.add(&Health { stall_max_ns: 200 * MS, ..second(0, 0) }, false, 0);
        assert_eq!((sum.seconds, sum.late_seconds), (3, 2));
        sum.add(&Health { busiest_cpu_ns: 990 * MS, ..second(0, 0) }, true, 0);
        assert_eq!((sum.seconds, sum.busy_seconds), (3, 0));
    }

    #[test]
    fn a_generator_that_stood_still_is_told_from_one_without_a_lease() {
        let cause = |health: Health| sum(&[health]).cause();
        assert_eq!(cause(second(800, 800)), Some(Slowdown::NoLease));
        let stopped = Health { stall_max_ns: 400 * MS, ..second(800, 800) };
        assert_eq!(cause(stopped), Some(Slowdown::Stopped));
        // Its lease ran out while it stood still, so the lag is of a later second than the stall.
        let stalled = Health { stall_max_ns: 4000 * MS, ..second(0, 1) };
        assert_eq!(sum(&[stalled, second(4100, 1)]).cause(), Some(Slowdown::Stopped));
        let said = sum(&[second(800, 800)]).invalid_because("a").unwrap();
        assert!(
            said.contains("by up to 800 ms: nothing on its machine explains it; most likely it had no lease"),
            "{said}"
        );
    }

    #[test]
    fn sums_that_were_written_with_fewer_causes_can_be_read() {
        for (written, expected) in [
            (r#"{"seconds":9,"causes":[1,2,3,4,5]}"#, [1, 2, 3, 4, 5, 0]),
            (r#"{"seconds":9,"causes":[1,2,3,4,5,6]}"#, [1, 2, 3, 4, 5, 6]),
            (r#"{"seconds":9,"causes":[1,2,3,4,5,6,7]}"#, [1, 2, 3, 4, 5, 6]),
            (r#"{"seconds":9}"#, [0; 6]),
        ] {
            let read: HealthSum = serde_json::from_str(written).unwrap();
            assert_eq!((read.seconds, read.causes), (9, expected), "{written}");
        }
    }

    #[test]
    fn one_late_second_in_twenty_is_borne_and_told() {
        let mut seconds = vec![second(0, 1); 19];
        seconds.push(Health { throttled_ns: 40 * MS, ..second(50, 55) });
        let borne = sum(&seconds);
        assert_eq!(borne.invalid_because("a"), None);
        let notes = borne.notes("a").join("\n");
        assert!(notes.contains("late in 1 of 20 seconds, by up to 50 ms: a CPU quota"), "{notes}");
        seconds.push(second(300, 301));
        let late = sum(&seconds).invalid_because("a");
        assert!(late.as_deref().is_some_and(|late| late.contains("late in 2 of 21 seconds")), "{late:?}");
    }

    #[test]
    fn a_slow_target_and_a_busy_loop_are_no_lateness() {
        let busy = Health { busiest_cpu_ns: 990 * MS, ..second(0, 9000) };
        let sum = sum(&vec![busy; 10]);
        assert_eq!(sum.invalid_because("a"), None);
        assert!(sum.notes("a").join("\n").contains("filled its processor in 10 of 10 seconds"));
    }

    #[test]
    fn a_part_of_a_second_counts_for_none_and_a_long_stall_for_several() {
        let part = Health { span_ns: 200 * MS, ..second(50, 1) };
        assert_eq!((sum(&[part]).seconds, sum(&[part]).late_seconds), (0, 0));
        let mut seconds = vec![second(0, 1); 57];
        seconds.push(Health { stall_max_ns: 3200 * MS, span_ns: 4200 * MS, ..second(3200, 3200) });
        for stopped in [sum(&seconds), sum_without_due_times(&seconds)] {
            assert_eq!((stopped.seconds, stopped.late_seconds), (58, 4));
            assert!(stopped.is_late());
        }
        let short = sum(&seconds[57..]);
        assert_eq!((short.late_seconds, short.shown().late_seconds), (4, 1));
        assert!(short.invalid_because("a").is_some_and(|late| late.contains("late in 1 of 1 second,")));
    }

    #[test]
    fn nothing_reported_is_nothing_late() {
        assert_eq!((HealthSum::default().is_late(), HealthSum::default().notes("a").len()), (false, 0));
    }
}
