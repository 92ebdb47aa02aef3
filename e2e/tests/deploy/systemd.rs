//! The units.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::commands::Line;
use super::stage::Stage;
use super::text;

/// The entries of a unit's sections, in their order.
struct Unit {
    name: String,
    entries: Vec<(String, String, String)>,
}

impl Unit {
    fn read(name: &str) -> Self {
        let (mut section, mut entries) = (String::new(), Vec::new());
        for line in
            text(name).lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = title.to_owned();
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{name}: {line}"));
            assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name}: {line}");
            entries.push((section.clone(), key.to_owned(), value.to_owned()));
        }
        Self { name: name.to_owned(), entries }
    }

    fn all(&self, section: &str, key: &str) -> Vec<&str> {
        let here = self.entries.iter().filter(|(of, known, _)| of == section && known == key);
        here.map(|(_, _, value)| value.as_str()).collect()
    }

    fn one(&self, section: &str, key: &str) -> &str {
        match self.all(section, key)[..] {
            [value] => value,
            ref values => panic!("{}: {key} has {values:?}", self.name),
        }
    }

    /// What it starts, with the variables that it sets itself.
    fn line(&self) -> Line {
        let mut command = self.one("Service", "ExecStart").to_owned();
        for (name, value) in
            self.all("Service", "Environment").iter().flat_map(|line| line.split(' ')).map(|pair| {
                pair.split_once('=').unwrap_or_else(|| panic!("{}: Environment={pair}", self.name))
            })
        {
            command = command.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        }
        let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        assert_eq!(words.remove(0), "/usr/local/bin/volley", "{}", self.name);
        Line::read(&self.name, &words)
    }

    /// The seconds of a time span.
    fn seconds(&self, key: &str) -> u64 {
        self.one("Service", key).parse().unwrap_or_else(|_| panic!("{}: {key}", self.name))
    }
}

const COORDINATOR: &str = "deploy/systemd/volley-coordinator.service";
const AGENT: &str = "deploy/systemd/volley-agent.service";
/// An agent that leaves may take the plan's drain time, its lease, and ten seconds; of a plan that says nothing of them.
const LEAVING_S: u64 = 10 + 3 + 10;
/// A coordinator that ends may take so long for runs that it stops.
const STOPPING_S: u64 = 12 + 2;

#[test]
fn they_hold_together() {
    for (name, patience_s) in [(COORDINATOR, STOPPING_S), (AGENT, LEAVING_S)] {
        let unit = Unit::read(name);
        let (line, service) = (unit.line(), |key: &str| unit.one("Service", key));
        assert_eq!(
            (service("Type"), service("DynamicUser"), service("KillSignal")),
            ("notify", "yes", "SIGTERM")
        );
        assert!(unit.seconds("TimeoutStopSec") > patience_s, "{name}");
        assert!(
            !service("StateDirectory").is_empty() && service("LimitNOFILE").parse::<u64>().is_ok(),
            "{name}"
        );
        assert_eq!(unit.one("Install", "WantedBy"), "multi-user.target");
        let credentials = unit.all("Service", "LoadCredential");
        for flag in ["--token-file", "--allow-file"] {
            let credential = line.value(flag).strip_prefix("%d/").expect("files come as credentials");
            let is_loaded =
                credentials.iter().any(|loaded| loaded.starts_with(&format!("{credential}:/etc/volley/")));
            assert!(is_loaded, "{name}: {flag} {credential}");
        }
    }
    // An agent is never given up, and doesn't knock all the time.
    let agent = Unit::read(AGENT);
    assert_eq!((agent.one("Unit", "StartLimitIntervalSec"), agent.seconds("RestartSec")), ("0", 5));
    let (coordinator, agent) = (Unit::read(COORDINATOR).line(), agent.line());
    assert_eq!(agent.port("--coordinator"), coordinator.port("--agents"));
}

/// What a service says to who keeps it.
fn said(socket: &UnixDatagram) -> String {
    let mut said = [0; 100];
    let length = socket.recv(&mut said).expect("the service says how it is");
    String::from_utf8_lossy(&said[..length]).trim().to_owned()
}

#[test]
fn they_start_and_tell_when_they_are_ready() {
    let mut stage = Stage::new(None);
    let place = stage.file("notify");
    let socket = UnixDatagram::bind(&place).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time to wait");
    let told = [("NOTIFY_SOCKET", place.as_str())];
    let coordinator = stage.start(&Unit::read(COORDINATOR).line(), &told);
    assert_eq!(said(&socket), "READY=1");
    coordinator.answers("/readyz");
    let agent = stage.start(&Unit::read(AGENT).line(), &told);
    assert_eq!(said(&socket), "READY=1");
    agent.answers("/readyz");
    coordinator.is_joined(None);
    agent.ends();
    assert_eq!(said(&socket), "STOPPING=1");
    coordinator.ends();
    assert_eq!(said(&socket), "STOPPING=1");
}
