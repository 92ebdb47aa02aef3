//! CPU time that the host of a virtual machine gave to others while the machine had use for it.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::param::clock_ticks_per_second;
use rustix::thread::{CpuSet, sched_getaffinity};
use volley_stats::SECOND_NS;

use super::source::{Counter, Source};

/// The processors, and what was stolen of each.
#[derive(Debug)]
pub(super) struct Steal {
    source: Source,
    by_processor: BTreeMap<usize, Counter>,
}

impl Steal {
    /// Counts from now on what this text of the form of /proc/stat says.
    pub(super) fn watch(stat: &Path) -> Self {
        let mut steal = Self { source: Source::open(stat), by_processor: BTreeMap::new() };
        steal.passed_ns();
        steal
    }

    /// Time stolen since the last call, averaged over the processors that this thread may run on. The kernel counts it
    /// in ticks of 10 ms.
    pub(super) fn passed_ns(&mut self) -> u64 {
        // A machine with more processors than the set has room for gives an error; then all of them count.
        let ours = sched_getaffinity(None).ok();
        let is_ours = |processor| {
            ours.as_ref().is_none_or(|ours| processor < CpuSet::MAX_CPU && ours.is_set(processor))
        };
        let (mut ticks, mut processors) = (0, 0);
        for (processor, reading) in self.source.read().into_iter().flat_map(stolen_ticks) {
            let passed = self.by_processor.entry(processor).or_default().passed(Some(reading));
            if is_ours(processor) {
                ticks += passed;
                processors += 1;
            }
        }
        let tick_ns = SECOND_NS / clock_ticks_per_second().max(1);
        ticks.saturating_mul(tick_ns).checked_div(processors).unwrap_or(0)
    }
}

/// Processors and their stolen ticks, out of /proc/stat: lines `cpuN user nice system idle iowait irq softirq steal …`
/// (`man 5 proc_stat`), after one for all of them together. Processors that are off have no line.
fn stolen_ticks(stat: &str) -> impl Iterator<Item = (usize, u64)> {
    let lines = stat.lines().take_while(|line| line.starts_with("cpu"));
    lines.filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let processor = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((processor, fields.nth(7)?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn stolen_ticks_are_read_by_processor() {
        let check = |stat: &str, expected: &[(usize, u64)]| {
            assert_eq!(stolen_ticks(stat).collect::<Vec<_>>(), expected, "{stat:?}");
        };
        check(
            "cpu  1079756 337177 373385 448001 4859 0 128276 1039 0 0\n\
             cpu0 550062 160124 188739 225547 1214 0 60879 512 0 0\n\
             cpu2 529694 177052 184646 222454 3644 0 67397 527 0 0\n\
             intr 1 2 3\n\
             cpu9 1 1 1 1 1 1 1 1 1 1\n",
            &[(0, 512), (2, 527)],
        );
        // Linux before 2.6.11 had no steal.
        check("cpu 1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n", &[]);
        check("", &[]);
    }

    #[test]
    fn stolen_time_is_averaged_over_our_processors() {
        let ours = sched_getaffinity(None).expect("a set of processors");
        let ours: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|processor| ours.is_set(*processor)).collect();
        let not_ours = CpuSet::MAX_CPU + 1;
        let path = std::env::temp_dir().join(format!("volley-steal-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        let write = |stolen: u64| {
            let line = |processor: usize, stolen| format!("cpu{processor} 1 1 1 1 1 1 1 {stolen:06} 0 0\n");
            let of_ours: String = ours.iter().map(|processor| line(*processor, stolen)).collect();
            let text = format!("{of_ours}{}", line(not_ours, stolen * 50));
            file.write_all_at(text.as_bytes(), 0).expect("written");
        };
        write(100);
        let mut steal = Steal::watch(&path);
        fs::remove_file(&path).expect("its name is gone, it stays open");
        write(107);
        assert_eq!(steal.passed_ns(), 7 * SECOND_NS / clock_ticks_per_second());
        assert_eq!(steal.passed_ns(), 0);
    }

    #[test]
    fn this_machine_tells_of_each_processor() {
        let stat = fs::read_to_string("/proc/stat").expect("/proc/stat");
        let ours = std::thread::available_parallelism().expect("processors").get();
        assert!(stolen_ticks(&stat).count() >= ours, "{stat}");
    }
}
