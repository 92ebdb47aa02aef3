//! How the generator itself is: what its process and its machine did with their time since the last look.
//!
//! All of it comes from /proc and from the files of the control groups. They are opened once and read anew, so that a
//! look costs some tens of microseconds. What can't be read on a machine is 0, and no error: a run is not refused for
//! the lack of a figure that only explains.

mod group;
mod source;
mod steal;
mod thread;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use rustix::thread::Pid;
use rustix::time::{ClockId, clock_gettime};
use volley_stats::{Health, SECOND_NS};

use crate::Clock;
use group::Quotas;
use source::{Counter, Source};
use steal::Steal;
use thread::Thread;

pub(crate) use thread::ThreadTime;

/// Where the kernel says what it knows of this process.
const PROCESS: &str = "/proc/self";

/// Looks at the process and at its machine, once a second. One for each engine, on the thread of its reporter.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// When it looked last, on the agent's clock.
    since_ns: u64,
    cpu: Counter,
    workers: Vec<(Pid, Thread)>,
    quotas: Quotas,
    steal: Steal,
    memory: Source,
    /// /proc/self/fd. Not opened, since that would be one more of what it counts.
    descriptors: PathBuf,
}

impl Sampler {
    /// What passes from now on is what the first sample tells.
    pub(crate) fn new(clock: Clock) -> Self {
        let process = Path::new(PROCESS);
        let mut cpu = Counter::default();
        cpu.passed(Some(process_cpu_ns()));
        Self {
            since_ns: clock.now_ns(),
            cpu,
            workers: Vec::new(),
            quotas: Quotas::of(process),
            steal: Steal::watch(Path::new("/proc/stat")),
            memory: Source::open(&process.join("statm")),
            descriptors: process.join("fd"),
        }
    }

    /// Watches a worker from now on: the thread of this kernel id (`rustix::thread::gettid`).
    pub(crate) fn watch(&mut self, worker: Pid) {
        let directory = Path::new(PROCESS).join("task").join(worker.as_raw_nonzero().to_string());
        self.workers.push((worker, Thread::watch(&directory)));
    }

    /// A worker's thread has ended, with these times from its beginning on.
    pub(crate) fn left(&mut self, worker: Pid, time: Option<ThreadTime>) {
        if let Some((_, thread)) = self.workers.iter_mut().find(|(id, _)| *id == worker) {
            thread.left(time);
        }
    }

    /// What passed since the last look, up to now. Lag, latency and stalls are for the caller to fill in.
    pub(crate) fn sample(&mut self, now_ns: u64, local_ports: u32) -> Health {
        let span_ns = now_ns.saturating_sub(std::mem::replace(&mut self.since_ns, now_ns));
        let (mut busiest_cpu_ns, mut held_up_ns) = (0, 0);
        for (_, worker) in &mut self.workers {
            let passed = worker.passed();
            busiest_cpu_ns = busiest_cpu_ns.max(passed.ran_ns);
            held_up_ns = held_up_ns.max(passed.waited_ns);
        }
        let throttled_ns = self.quotas.passed_ns().min(span_ns);
        Health {
            span_ns,
            cpu_ns: self.cpu.passed(Some(process_cpu_ns())),
            busiest_cpu_ns,
            waited_ns: crowded_out_ns(held_up_ns, throttled_ns),
            throttled_ns,
            stolen_ns: self.steal.passed_ns(),
            resident_bytes: self.memory.read().and_then(resident_pages).unwrap_or(0) * page_size() as u64,
            descriptors: saturated(open_descriptors_of(&self.descriptors)),
            descriptors_limit: getrlimit(Resource::Nofile).current.map_or(u32::MAX, saturated),
            local_ports,
            ..Health::default()
        }
    }
}

/// How long a thread was held up by other programs. The kernel counts a quota's doing as waiting too.
fn crowded_out_ns(waited_ns: u64, throttled_ns: u64) -> u64 {
    waited_ns.saturating_sub(throttled_ns)
}

/// How many descriptors the process has open.
pub(crate) fn open_descriptors() -> u64 {
    open_descriptors_of(&Path::new(PROCESS).join("fd"))
}

/// Linux from 6.2 on gives their number as the directory's size; earlier ones give 0, and it is to be counted.
fn open_descriptors_of(directory: &Path) -> u64 {
    match fs::metadata(directory).map_or(0, |entry| entry.len()) {
        0 => counted_descriptors(directory),
        number => number,
    }
}

fn counted_descriptors(directory: &Path) -> u64 {
    // The directory is open itself while it is read.
    fs::read_dir(directory).map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}

/// CPU time of all threads, those that have ended included.
fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let whole_ns = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(SECOND_NS);
    whole_ns.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Of /proc/PID/statm, in pages: size, resident, and others (`man 5 proc_pid_statm`).
fn resident_pages(statm: &str) -> Option<u64> {
    statm.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
