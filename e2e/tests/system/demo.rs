//! `make demo`, as a person would type it but for the ports.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use volley_e2e::{Api, Process};

/// A demo, whose own clean-up is given time even where the test fails.
struct Demo {
    make: Process,
    ended: bool,
}

impl Demo {
    fn wait(&mut self, within: Duration) -> (ExitStatus, String, String) {
        let (status, stdout, stderr) = self.make.wait(within);
        self.ended = true;
        (status, String::from_utf8_lossy(&stdout).into_owned(), stderr)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if !self.ended {
            self.make.signal_group(Signal::TERM);
            self.make.wait(Duration::from_secs(20));
        }
    }
}

fn make(target: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut make = Command::new("make");
    make.current_dir(root).args(["--no-print-directory", target]).process_group(0);
    make.env_remove("VOLLEY_COORDINATOR").env_remove("MAKEFLAGS");
    make
}

/// What is typed is `make demo`, which builds first; that may take its minutes where the code has changed since.
fn demo(more: &[&str]) -> Demo {
    let (built, _, stderr) = Process::start(&mut make("build")).wait(Duration::from_secs(540));
    assert!(built.success(), "{stderr}");
    let mut make = make("demo");
    make.args(["HTTP=127.0.0.1:0", "AGENTS=127.0.0.1:0", "TARGET=127.0.0.1:0"]).args(more);
    Demo { make: Process::start(&mut make), ended: false }
}

#[test]
fn the_demo_ends_by_itself_with_the_summary() {
    let (status, stdout, stderr) = demo(&["DURATION=3s", "EXIT=1"]).wait(Duration::from_secs(110));
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    let url =
        stdout.lines().find_map(|line| line.strip_prefix("dashboard: ")).expect("the dashboard's address");
    assert!(stdout.contains("/s over 3.0") && stdout.contains("p99.9"), "{stdout}");
    // Everything that it started has ended.
    assert!(std::net::TcpStream::connect(url.trim_start_matches("http://")).is_err(), "{url} still answers");
}

#[test]
fn the_demo_stays_until_it_is_interrupted() {
    let mut demo = demo(&["DURATION=1s"]);
    let url = demo.make.stdout_line(|line| line.strip_suffix(" (Ctrl-C ends the demo)").map(str::to_owned));
    let url = url.trim_start_matches("dashboard: ");
    let api = Api::new(url);
    let runs = api.get("/api/v1/runs");
    assert_eq!(runs["runs"][0]["over"], true, "{runs}");
    assert_eq!(api.agents().len(), 2);
    demo.make.signal_group(Signal::INT);
    let (status, ..) = demo.wait(Duration::from_secs(20));
    assert!(!status.success());
    assert!(std::net::TcpStream::connect(url.trim_start_matches("http://")).is_err(), "{url} still answers");
}
