//! The command line: the same output here and there, signals, readers that leave.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use volley_e2e::{Fleet, Process, Reply, Report, Server, Target, Then, binary, volley, volley_with};

/// A plan in a file of its own.
fn plan(text: &str) -> (TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("plan.yaml");
    fs::write(&file, text).expect("the plan can be written");
    let name = file.to_str().expect("a path in UTF-8").to_owned();
    (dir, name)
}

/// The first word of each line that has one there: the names of a summary's rows.
fn names(summary: &str) -> Vec<&str> {
    summary
        .lines()
        .filter(|line| line.starts_with(char::is_alphabetic))
        .filter_map(|line| line.split(' ').next())
        .collect()
}

#[test]
fn a_run_reads_the_same_here_and_on_a_coordinator() {
    let (fleet, server) = (Fleet::start(2), Server::start(|_| Reply::ok("hello")));
    let (_dir, file) = plan(&format!("target: {}\nusers: 4\nrequests: 100\n", server.url("/")));
    let here = volley(&["run", &file]).exited(0);
    let there = volley_with(&["run", &file], |command| {
        command.env("VOLLEY_COORDINATOR", &fleet.coordinator.url);
    });
    let there = there.exited(0);
    assert_eq!(server.requests(), 200);
    // The generator's CPU time is known only where it is this process.
    let expected: Vec<_> = names(&here.stdout).into_iter().filter(|name| *name != "CPU").collect();
    assert_eq!(names(&there.stdout), expected, "{here:?} {there:?}");
    assert!(there.stderr.contains(&format!("{}/runs/", fleet.coordinator.url)), "{there:?}");
    for arguments in
        [&["run", &file, "--json"][..], &["run", &file, "--json", "--coordinator", &fleet.coordinator.url]]
    {
        let report = Report::new(volley(arguments).exited(0).json()).checked();
        assert_eq!((report.document()["volley"].as_u64(), report.count("ok")), (Some(2), 100));
    }
}

#[test]
fn the_first_line_says_the_load() {
    let target = Target::start();
    let outcome = volley(&[&target.url("/"), "-z", "1s"]).exited(0);
    let first = outcome.stderr.lines().next().unwrap_or_default();
    assert!(first.contains("50 users closed, 1 s"), "{outcome:?}");
}

#[test]
fn flags_make_the_request() {
    let server = Server::start(|request| {
        let fits = request.method == "PUT"
            && request.path == "/a?b=c"
            && request.header("x-one") == Some("1")
            && request.header("content-type") == Some("text/x")
            && request.body == b"body";
        Reply::status(if fits { 200 } else { 400 }, "")
    });
    let arguments = [
        "-n",
        "4",
        "-c",
        "2",
        "-m",
        "PUT",
        "-H",
        "X-One: 1",
        "-T",
        "text/x",
        "-d",
        "body",
        "--no-keep-alive",
    ];
    let url = server.url("/a?b=c");
    let outcome = volley(&[&[url.as_str()], &arguments[..]].concat()).exited(0);
    assert!(outcome.stdout.contains("200: 4"), "{outcome:?}");
    assert_eq!((server.requests(), server.connections()), (4, 4));
}

#[test]
fn a_proxy_is_asked_in_the_targets_place() {
    let server = Server::start(|request| {
        let fits = request.path == "http://shop.test:81/a?b=c"
            && request.version == "HTTP/1.0"
            && request.header("host") == Some("shop.test:81")
            && request.header("proxy-authorization") == Some("Basic dTpw");
        Reply::status(if fits { 200 } else { 400 }, "")
    });
    let proxy = server.url("").replace("http://", "http://u:p@");
    let flags = ["-n", "4", "-c", "1", "--http-version", "1.0", "-x", &proxy];
    let outcome = volley(&[&["http://shop.test:81/a?b=c"], &flags[..]].concat()).exited(0);
    assert!(outcome.stdout.contains("200: 4"), "{outcome:?}");
    assert_eq!(server.requests_to("http://shop.test:81/a?b=c"), 4);
}

#[test]
fn one_request_does_not_wait_for_anything() {
    let target = Target::start();
    let outcome = volley(&[&target.url("/"), "-n", "1", "-c", "1"]).exited(0);
    // Well below the half second from ping to ping. The figure to reach is 60 ms, on a machine that does nothing else.
    assert!(outcome.took < Duration::from_millis(300), "{outcome:?}");
}

#[test]
fn a_reader_that_leaves_breaks_nothing() {
    let target = Target::start();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    for arguments in [&["-n", "1"][..], &["-n", "1", "--json"]] {
        let mut command = Command::new(binary());
        command.arg(target.url("/")).args(arguments).stdin(Stdio::null());
        command.stdout(writer.try_clone().expect("a descriptor")).stderr(Stdio::piped());
        let output = command.output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !stderr.contains("panic"), "{output:?}");
    }
}

fn started(arguments: &[&str]) -> Process {
    Process::start(Command::new(binary()).args(arguments).env_remove("VOLLEY_COORDINATOR"))
}

/// Waits until the target has seen a request: an event would need the target's help.
fn wait_for_a_request(server: &Server) {
    let begun = std::time::Instant::now();
    while server.requests() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "no request came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ctrl_c_ends_a_run_with_its_summary() {
    let server = Server::start(|_| Reply::ok("hello"));
    let mut process = started(&[&server.url("/"), "-c", "2", "-z", "60s"]);
    wait_for_a_request(&server);
    process.signal(Signal::INT);
    let (status, stdout, stderr) = process.wait(Duration::from_secs(5));
    let stdout = String::from_utf8_lossy(&stdout);
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stdout.contains("Stopped after") && stdout.contains("p99.9"), "{stdout}{stderr}");
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    let server = Server::start(|_| Reply::nothing().then(Then::Hang));
    let (_dir, file) =
        plan(&format!("target: {}\nusers: 2\nduration: 60s\ndrain: 60s\ntimeout: 60s\n", server.url("/")));
    let mut process = started(&["run", &file]);
    wait_for_a_request(&server);
    process.signal(Signal::INT);
    process.line(|line| line.contains("Ctrl-C again").then_some(()));
    process.signal(Signal::INT);
    let (status, stdout, stderr) = process.wait(Duration::from_secs(5));
    assert_eq!((status.code(), stdout.len()), (Some(130), 0), "{stderr}");
}

#[test]
fn services_end_when_they_are_asked_to() {
    let mut fleet = Fleet::start(1);
    fleet.agents.remove(0).goodbye();
    fleet.coordinator.goodbye();
}

#[test]
fn the_examples_are_plans() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files: Vec<_> =
        fs::read_dir(directory).expect("examples/").map(|entry| entry.expect("a file").path()).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let outcome = volley(&["plan", "check", file.to_str().expect("a path in UTF-8")]).exited(0);
        let models = [" closed", " open"];
        assert!(models.iter().any(|model| outcome.stdout.contains(model)), "{outcome:?}");
    }
}
