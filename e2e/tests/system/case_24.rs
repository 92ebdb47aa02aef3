//! Case 24: all addresses of a name, and all destinations of a plan, are used in turn and counted; where one of them
//! refuses, another one serves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use volley_e2e::zoo::{Animal, Cage, Habitat, animal};
use volley_e2e::{Process, Report, binary, volley_run};

/// Requests by the address that they came to.
type Seen = Arc<Mutex<BTreeMap<String, u64>>>;

/// A target at this address that counts.
struct Scene {
    folder: TempDir,
    cage: Cage,
    seen: Seen,
}

impl Scene {
    fn at(ip: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = Seen::default();
        let cage = Cage::open(&counting(&seen).living(Habitat::Tcp(ip)), folder.path());
        Self { folder, cage, seen }
    }

    /// A hundred requests without keep-alive to this host.
    fn plan(&self, host: &str, more: &str) -> String {
        let port = self.cage.port();
        format!("target: http://{host}:{port}/\nusers: 4\nrequests: 100\nkeep_alive: false\n{more}\n")
    }

    fn both(&self) -> String {
        let port = self.cage.port();
        format!("connect: {{ to: [\"127.0.0.1:{port}\", \"127.0.0.2:{port}\"] }}")
    }

    /// What the report says of an address: connections, failures, requests.
    fn told(&self, report: &Report, ip: &str) -> (u64, u64, u64) {
        let name = format!("{ip}:{}", self.cage.port());
        let addresses = report.document()["addresses"].as_array().cloned().unwrap_or_default();
        let address = addresses.iter().find(|address| address["address"] == name.as_str());
        let count = |name: &str| address.and_then(|address| address[name].as_u64()).unwrap_or(0);
        (count("connections"), count("failures"), count("requests"))
    }

    /// Both were used, as evenly as users in turn use them, and the target saw what is told.
    fn check_both_used(&self, report: &Report) {
        assert_eq!((report.count("ok"), report.count("failed")), (100, 0), "{report:?}");
        let seen = self.seen.lock().expect("nobody panicked").clone();
        for ip in ["127.0.0.1", "127.0.0.2"] {
            let (connections, failures, requests) = self.told(report, ip);
            assert_eq!(
                (connections, failures, Some(&requests)),
                (requests, 0, seen.get(ip)),
                "{ip}: {report:?}"
            );
            assert!((45..=55).contains(&requests), "{requests} to {ip}: {report:?}");
        }
    }

    /// The one that listens served all, and the other one's refusals are told.
    fn check_other_refuses(&self, report: &Report) {
        assert_eq!((report.count("ok"), report.count("failed")), (100, 0), "{report:?}");
        assert_eq!(self.told(report, "127.0.0.1"), (100, 0, 100), "{report:?}");
        let (connections, failures, requests) = self.told(report, "127.0.0.2");
        assert_eq!((connections, requests), (0, 0), "{report:?}");
        // Turns go on with each attempt, so that those who listen get the same; nobody is refused twice for one request.
        assert!((45..=100).contains(&failures), "{failures} refusals: {report:?}");
    }
}

fn counting(seen: &Seen) -> Animal {
    let seen = Arc::clone(seen);
    animal("case 24", move |talk| {
        while talk.request()?.is_some() {
            let ip = talk.local().map(|local| local.ip().to_string()).unwrap_or_default();
            *seen.lock().expect("nobody panicked").entry(ip).or_default() += 1;
            talk.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")?;
        }
        Ok(())
    })
}

#[test]
fn case_24_two_destinations_in_turn() {
    let scene = Scene::at("0.0.0.0");
    let outcome = volley_run(&scene.plan("shop.test", &scene.both()), scene.folder.path()).exited(0);
    scene.check_both_used(&Report::new(outcome.json()).checked());
}

#[test]
fn case_24_one_of_two_destinations_refuses() {
    let scene = Scene::at("127.0.0.1");
    let outcome = volley_run(&scene.plan("shop.test", &scene.both()), scene.folder.path()).exited(0);
    scene.check_other_refuses(&Report::new(outcome.json()).checked());
}

/// The generator in a mount namespace of its own, with a hosts file of its own.
const SCRIPT: &str = r#"
set -e
mount --bind "$2/hosts" /etc/hosts
mount --bind "$2/host.conf" /etc/host.conf
exec "$1" run "$2/plan.yaml" --json
"#;

/// Runs a plan where `two.test` is two addresses.
fn run_with_name(plan: &str, folder: &Path) -> Report {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a folder of our own");
    write("plan.yaml", plan);
    write("hosts", "127.0.0.1 localhost\n127.0.0.1 two.test\n127.0.0.2 two.test\n");
    write("host.conf", "multi on\n");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "bash", "-c", SCRIPT, "case-24"]).arg(binary()).arg(folder);
    let (status, stdout, stderr) = Process::start(&mut command).wait(Duration::from_secs(60));
    let stdout = String::from_utf8_lossy(&stdout);
    assert_eq!(status.code(), Some(0), "{stdout}{stderr}");
    Report::new(serde_json::from_str(&stdout).expect("a document")).checked()
}

#[test]
fn case_24_two_addresses_of_a_name_in_turn() {
    for resolve in ["once", "connection", "1s"] {
        let scene = Scene::at("0.0.0.0");
        let plan = scene.plan("two.test", &format!("connect: {{ resolve: {resolve} }}"));
        scene.check_both_used(&run_with_name(&plan, scene.folder.path()));
    }
}

#[test]
fn case_24_one_of_two_addresses_refuses() {
    let scene = Scene::at("127.0.0.1");
    let report = run_with_name(&scene.plan("two.test", ""), scene.folder.path());
    scene.check_other_refuses(&report);
}
