//! Generator health, by provoking what it is to call by its name: a CPU quota, a stopped process, few descriptors. And
//! a slow target, which is never called a slow generator. (Local ports are `case_14.rs`.)

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use volley_e2e::{Process, Report, Target, binary, volley};

/// What a healthy run may be called invalid for, since it isn't the generator's own doing: this machine is shared.
const OTHERS: [&str; 3] = ["stolen", "other programs", "quota"];

fn report(stdout: &[u8]) -> Report {
    Report::new(serde_json::from_slice(stdout).expect("a document")).checked()
}

/// A timed run at a rate against a fast target, not started yet.
fn steady(target: &Target, rate: &str, duration: &str) -> Command {
    let mut command = Command::new(binary());
    command.args([&target.url("/"), "--rate", rate, "-z", duration, "-c", "20", "--json"]);
    command
}

#[test]
fn a_stopped_process_is_called_that() {
    let target = Target::start();
    let mut process = Process::start(&mut steady(&target, "200", "5s"));
    // In mid-run, for 300 ms: the times are what this is about.
    sleep(Duration::from_secs(2));
    process.signal(Signal::STOP);
    sleep(Duration::from_millis(300));
    process.signal(Signal::CONT);
    let (status, stdout, stderr) = process.wait(Duration::from_secs(60));
    let report = report(&stdout);
    assert_eq!(status.code(), Some(1), "{report:?}{stderr}");
    assert_eq!(report.text("verdict"), "invalid");
    let sentence = report.text("sentence");
    assert!(sentence.contains("late in") && sentence.contains("stood still"), "{report:?}");
    // Nothing was dropped or invented: what was due meanwhile was sent late, and its latency says so.
    assert_eq!((report.count("ok"), target.stats()["requests"].as_u64()), (1000, Some(1000)), "{report:?}");
    assert!(report.percentile_ms("100").is_some_and(|ms| ms > 250.0), "{report:?}");
}

/// A control group with a CPU quota, in whichever version of them this machine has; `None` where it can't be made.
struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// So many milliseconds of CPU in each 100.
    fn of(ms: u32) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/mounts").ok()?;
        let mount = |line: &str| {
            let words: Vec<_> = line.split(' ').collect();
            let is_cpu = match *words.get(2)? {
                "cgroup" => words.get(3)?.split(',').any(|option| option == "cpu"),
                "cgroup2" => {
                    let controllers = fs::read_to_string(Path::new(words[1]).join("cgroup.subtree_control"));
                    controllers.is_ok_and(|text| text.split_whitespace().any(|name| name == "cpu"))
                }
                _ => false,
            };
            is_cpu.then(|| PathBuf::from(words[1]))
        };
        let root = mounts.lines().find_map(mount)?;
        let folder = root.join(format!("volley-test-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let quota = Self { folder };
        let (us, period_us) = (ms * 1000, 100_000);
        let v1 = quota.write("cpu.cfs_period_us", &period_us.to_string())
            && quota.write("cpu.cfs_quota_us", &us.to_string());
        (v1 || quota.write("cpu.max", &format!("{us} {period_us}"))).then_some(quota)
    }

    fn write(&self, file: &str, text: &str) -> bool {
        let path = self.folder.join(file);
        path.exists() && fs::write(path, text).is_ok()
    }

    /// The command, run within the group.
    fn holding(&self, command: &Command) -> Command {
        let mut held = Command::new("sh");
        held.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.folder.join("cgroup.procs"));
        held.arg(command.get_program()).args(command.get_args());
        held
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_cpu_quota_is_called_that() {
    let Some(quota) = Quota::of(3) else {
        println!("skipped: no control group with a CPU quota can be made here");
        return;
    };
    let target = Target::start();
    let mut process = Process::start(&mut quota.holding(&steady(&target, "1000", "4s")));
    let (status, stdout, stderr) = process.wait(Duration::from_secs(60));
    let report = report(&stdout);
    assert_eq!(status.code(), Some(1), "{report:?}{stderr}");
    let sentence = report.text("sentence");
    assert!(sentence.contains("late in") && sentence.contains("CPU quota"), "{report:?}");
}

#[test]
fn too_few_descriptors_are_called_that_before_the_run() {
    let target = Target::start();
    let url = target.url("/");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"]).arg(binary());
    command.args([&url, "-c", "100", "-n", "1000", "--json"]);
    let (status, stdout, _) = Process::start(&mut command).wait(Duration::from_secs(60));
    assert_eq!(status.code(), Some(1));
    let report = Report::new(serde_json::from_slice(&stdout).expect("a document"));
    assert!(report.text("sentence").contains("descriptors"), "{report:?}");
    assert_eq!((report.count("started"), target.stats()["requests"].as_u64()), (0, Some(0)));
}

#[test]
fn a_slow_target_is_never_called_a_slow_generator() {
    let target = Target::start();
    let arguments = [&target.url("/delay/900ms"), "--rate", "100", "-z", "4s", "-c", "20", "--json"];
    let outcome = volley(&arguments);
    let report = Report::new(outcome.json()).checked();
    // Twenty connections carry 22/s of the 100: the rest waits for one, and that is the target's doing.
    let sentence = report.text("sentence");
    let by_others = OTHERS.iter().any(|cause| sentence.contains(cause));
    assert!(!sentence.contains("late in") || by_others, "{report:?}");
    assert!(crate::case_20::phase_ms(&report, "wait", "50").is_some_and(|ms| ms > 100.0), "{report:?}");
    assert!(crate::case_20::phase_ms(&report, "lag", "50").is_some_and(|ms| ms < 10.0), "{report:?}");
}

/// Plays runs of a healthy generator; none may be called late for its own doing.
pub(crate) fn healthy_runs(runs: u32, duration: &str) {
    let target = Target::start();
    for run in 0..runs {
        let mut process = Process::start(&mut steady(&target, "200", duration));
        let (status, stdout, stderr) = process.wait(Duration::from_secs(60));
        let report = report(&stdout);
        let sentence = report.text("sentence");
        let by_others = OTHERS.iter().any(|cause| sentence.contains(cause));
        assert!(status.success() || by_others, "run {run}: {report:?}{stderr}");
        if by_others {
            println!("run {run} was disturbed: {sentence}");
        }
    }
}

#[test]
fn healthy_runs_raise_no_alarm() {
    healthy_runs(3, "2s");
}
