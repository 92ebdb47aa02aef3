//! The sampler beside things that really happen: threads that work, crowd each other, and are held up by a quota.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{JoinHandle, spawn};
use std::time::Instant;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use volley_stats::Slowdown;

use super::*;

const MS: u64 = 1_000_000;
/// Descriptors that a test opens.
const EXTRA: u32 = 300;
/// Most that other tests of the same process may open or close meanwhile.
const BY_OTHERS: u32 = 60;

/// A thread that burns CPU time when it is told to, and then waits.
struct Burner {
    id: Pid,
    burn_ms: Sender<u64>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Burner {
    fn start(processor: Option<CpuSet>, barrier: Arc<Barrier>) -> Self {
        let (burn_ms, orders) = channel::<u64>();
        let (to_main, done) = channel();
        let (ids, id) = channel();
        let thread = spawn(move || {
            if let Some(processor) = processor {
                sched_setaffinity(None, &processor).expect("pinned");
            }
            ids.send(gettid()).expect("the test waits");
            for ms in orders {
                barrier.wait();
                let until_ns = thread_cpu_ns() + ms * MS;
                while thread_cpu_ns() < until_ns {}
                to_main.send(()).expect("the test waits");
            }
        });
        Self { id: id.recv().expect("an id"), burn_ms, done, thread }
    }

    fn end(self) {
        drop(self.burn_ms);
        self.thread.join().expect("no panic");
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

/// What a sampler says of these threads while each burns so much.
fn sample_while_burning(burners: Vec<Burner>, ms: &[u64]) -> Health {
    let clock = Clock::start();
    let mut sampler = Sampler::new(clock);
    burners.iter().for_each(|burner| sampler.watch(burner.id));
    for (burner, ms) in burners.iter().zip(ms) {
        burner.burn_ms.send(*ms).expect("it waits");
    }
    burners.iter().for_each(|burner| burner.done.recv().expect("it burned"));
    // What a thread ran since the kernel's last tick may not have been booked yet.
    let health = sampler.sample(clock.now_ns(), 0);
    burners.into_iter().for_each(Burner::end);
    health
}

#[test]
fn the_busiest_thread_is_told_from_the_process() {
    let barrier = Arc::new(Barrier::new(2));
    let burners = (0..2).map(|_| Burner::start(None, Arc::clone(&barrier))).collect();
    let health = sample_while_burning(burners, &[60, 120]);
    assert!((100 * MS..170 * MS).contains(&health.busiest_cpu_ns), "{health:?}");
    assert!(health.cpu_ns >= 175 * MS, "{health:?}");
    assert!(health.span_ns >= 120 * MS, "{health:?}");
}

#[test]
fn threads_that_crowd_each_other_have_waited() {
    let ours = sched_getaffinity(None).expect("a set of processors");
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|processor| ours.is_set(*processor)).expect("a processor"));
    let barrier = Arc::new(Barrier::new(2));
    let burners = (0..2).map(|_| Burner::start(Some(one), Arc::clone(&barrier))).collect();
    let health = sample_while_burning(burners, &[100, 100]);
    assert!(health.waited_ns >= 50 * MS, "{health:?}");
    assert!(health.busiest_cpu_ns >= 80 * MS, "{health:?}");
}

#[test]
fn a_sample_tells_of_memory_descriptors_and_span() {
    let clock = Clock::start();
    let mut sampler = Sampler::new(clock);
    let before = sampler.sample(clock.now_ns(), 7);
    let files: Vec<File> = (0..EXTRA).map(|_| File::open("/proc/self/statm").expect("a file")).collect();
    let memory = vec![1_u8; 32 << 20];
    let now_ns = clock.now_ns() + SECOND_NS;
    let after = sampler.sample(now_ns, 8);
    let counted = saturated(counted_descriptors(Path::new("/proc/self/fd")));
    assert!(after.descriptors.abs_diff(before.descriptors + EXTRA) <= BY_OTHERS, "{before:?} {after:?}");
    assert!(after.descriptors.abs_diff(counted) <= BY_OTHERS, "{counted} {after:?}");
    assert!(after.span_ns >= SECOND_NS, "{after:?}");
    assert!(
        after.resident_bytes >= before.resident_bytes + (memory.len() / 2) as u64,
        "{before:?} {after:?}"
    );
    assert!(after.resident_bytes < before.resident_bytes + 2 * memory.len() as u64, "{before:?} {after:?}");
    let limit = getrlimit(Resource::Nofile).current.expect("a limit");
    assert_eq!(u64::from(after.descriptors_limit), limit);
    assert_eq!((before.local_ports, after.local_ports), (7, 8));
    drop(files);
}

#[test]
fn a_sample_is_cheap() {
    let clock = Clock::start();
    let mut sampler = Sampler::new(clock);
    (0..4).for_each(|_| sampler.watch(gettid()));
    let times = (0..200).map(|_| {
        let start = Instant::now();
        sampler.sample(clock.now_ns(), 0);
        start.elapsed()
    });
    // The quickest one, since other programs may come between the rest.
    let quickest = times.min().expect("some");
    println!("a sample took {quickest:?}");
    assert!(quickest.as_micros() < 200, "{quickest:?}");
}

/// A control group with a quota of a fifth of a processor. It goes with the value.
struct Quota(PathBuf);

impl Quota {
    /// In a group that this process is in; `None` where it may not make one.
    fn make() -> Option<Self> {
        let text = |name: &str| fs::read_to_string(Path::new(PROCESS).join(name)).unwrap_or_default();
        group::directories(&text("cgroup"), &text("mountinfo")).iter().find_map(|above| Self::make_in(above))
    }

    fn make_in(above: &Path) -> Option<Self> {
        let directory = above.join(format!("volley-test-{}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        let quota = Self(directory);
        let set = |name: &str, text: &str| {
            // A file that isn't there belongs to the other version and is not to be made.
            let file = File::options().write(true).open(quota.0.join(name));
            file.and_then(|mut file| file.write_all(text.as_bytes()))
        };
        set("cpu.cfs_quota_us", "20000").or_else(|_| set("cpu.max", "20000 100000")).ok()?;
        Some(quota)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let removed = fs::remove_dir(&self.0);
        assert!(removed.is_ok() || std::thread::panicking(), "{:?}: {removed:?}", self.0);
    }
}

/// A shell that enters a group on the first line it is sent, works on the second, and ends with its input.
struct Shell {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    const SCRIPT: &str = r#"
        read line; echo $$ > "$0/cgroup.procs"; echo in
        read line; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done
        read line"#;

    fn start(group: &Path) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(Self::SCRIPT).arg(group).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, input, output }
    }

    fn process(&self) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string())
    }

    /// Sends a line, and waits for one.
    fn step(&mut self, expected: &str) {
        self.input.as_ref().expect("its input").write_all(b"\n").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        assert_eq!(line.trim_end(), expected);
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.input = None;
        // It ends by itself when it finds the end of its input.
        let _ = self.child.wait();
    }
}

#[test]
fn a_quota_is_called_by_its_name_also_after_the_process_was_moved_under_it() {
    let Some(quota) = Quota::make() else {
        println!("skipped: this process may not make a control group with a CPU quota");
        return;
    };
    let mut shell = Shell::start(&quota.0);
    let process = shell.process();
    let mut quotas = Quotas::of(&process);
    let mut thread = Thread::watch(&process.join("task").join(shell.child.id().to_string()));
    shell.step("in");
    assert_eq!(quotas.passed_ns(), 0, "it was under none");
    shell.step("done");
    let (throttled_ns, passed) = (quotas.passed_ns(), thread.passed());
    assert!(throttled_ns >= 50 * MS, "{throttled_ns}");
    assert!(passed.waited_ns >= throttled_ns / 2, "a throttled thread waits: {passed:?}");
    let waited_ns = crowded_out_ns(passed.waited_ns, throttled_ns);
    let health = Health { throttled_ns, waited_ns, ..Health::default() };
    assert_eq!(health.slowdown(throttled_ns), Slowdown::Throttled, "{passed:?} {health:?}");
}
