//! Case 47: a step of the wall clock changes nothing. libfaketime moves `CLOCK_REALTIME` of one process and leaves the
//! monotonic clock alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use volley_e2e::{Coordinator, Reply, Report, Server};

use crate::accounts::check_target;

/// The library, where Debian puts it on any of its architectures.
fn libfaketime() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").expect("there is /usr/lib").flatten();
    let places = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1"));
    let mut found = places.filter(|place| place.exists());
    found.next().expect("faketime is installed: run `make test`")
}

/// What makes a process take its wall clock from a file that says how far it is off.
fn environment(offset: &Path) -> Vec<(&'static str, String)> {
    let text = |path: &Path| path.to_str().expect("paths here are ASCII").to_owned();
    vec![
        ("LD_PRELOAD", text(&libfaketime())),
        ("FAKETIME_TIMESTAMP_FILE", text(offset)),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ]
}

/// Plays a run of 6 s while the wall clock of the processes with this environment goes an hour back and then two on.
fn play(coordinator: &Coordinator, offset: &Path) -> Report {
    let server = Server::start(|_| Reply::ok("hello"));
    let plan =
        format!("target: {}\nrate: 50/s\nduration: 6s\nagents: {{ min: 1, wait: 20s }}\n", server.url("/"));
    let id = coordinator.api().start(&plan);
    let begun = Instant::now();
    for (at_s, said) in [(2, "-1h"), (4, "+1h")] {
        // When the clock is moved is what this test is about.
        std::thread::sleep(Duration::from_secs(at_s).saturating_sub(begun.elapsed()));
        fs::write(offset, said).expect("a file of our own");
    }
    let report = coordinator.api().finished(&id).checked();
    check_target(&report, &server);
    assert_eq!((report.count("started"), report.count("ok")), (300, 300), "{report:?}");
    let elapsed_s = report.document()["elapsed_s"].as_f64().expect("a time");
    assert!((elapsed_s - 6.0).abs() < 0.1, "{elapsed_s}: {report:?}");
    let rate = report.document()["whole"]["rate"].as_f64().expect("a rate");
    assert!((rate - 50.0).abs() < 1.0, "{rate}: {report:?}");
    assert_eq!(report.document()["incomplete"], false, "{report:?}");
    report
}

#[test]
fn case_47_a_step_of_the_coordinators_or_the_agents_clock_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let offset = folder.path().join("offset");
    fs::write(&offset, "+0").expect("a file of our own");
    let faked = environment(&offset);
    {
        let coordinator = Coordinator::start_with(&faked);
        let _agent = coordinator.agent("true");
        play(&coordinator, &offset);
    }
    fs::write(&offset, "+0").expect("a file of our own");
    let coordinator = Coordinator::start();
    let _agent = coordinator.agent_in("faked", &[], &faked);
    play(&coordinator, &offset);
}
