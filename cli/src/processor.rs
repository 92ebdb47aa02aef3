//! The CPU time of this process, as the kernel counts it.

use std::fs;
use std::time::Duration;

/// CPU time since the process began, to a hundredth of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl CpuTime {
    /// What `/proc/self/stat` says (proc(5): fields 14 and 15); `None` where there is none.
    pub(crate) fn of_this_process() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/stat").ok()?, rustix::param::clock_ticks_per_second())
    }

    fn parse(stat: &str, ticks_per_second: u64) -> Option<Self> {
        // The second field is the program's name in parentheses, which may hold anything; field 3 follows it.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut ticks = after_name.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
        let mut next = || {
            let nanoseconds =
                u128::from(ticks.next()??) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
            u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
        };
        Some(Self { user: next()?, system: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        let stat = "1 (a b) c) S 0 1 1 0 -1 4194560 1 2 3 4 150 25 6 7 20 0 1 0";
        let expected = CpuTime { user: Duration::from_millis(1500), system: Duration::from_millis(250) };
        assert_eq!(CpuTime::parse(stat, 100), Some(expected));
        assert_eq!(CpuTime::parse("1 (a) S 0", 100), None);
        assert!(CpuTime::of_this_process().is_some());
    }
}
