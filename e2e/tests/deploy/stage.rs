//! Services, started as their files say but for ports, folders and whom they dial.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use volley_e2e::{Api, Process, binary, volley};

use super::commands::Line;

/// What everybody shows here.
pub(crate) const TOKEN: &str = "a-token-of-the-deploy-test";
/// How long things may take that take a moment.
const SOON: Duration = Duration::from_secs(20);

/// A place for services, with a token and the rules for targets.
pub(crate) struct Stage {
    folder: TempDir,
    targets: PathBuf,
    /// Where the coordinator takes agents, once it is there.
    coordinator: Option<String>,
}

/// A service that runs.
pub(crate) struct Service {
    process: Process,
    /// Its HTTP, where it has any: `127.0.0.1:PORT`.
    http: Option<String>,
}

impl Stage {
    /// An empty one. Targets are those of this file, or this machine where there is none.
    pub(crate) fn new(targets: Option<PathBuf>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("token"), TOKEN).expect("the token can be written");
        let usual = folder.path().join("targets");
        fs::write(&usual, "127.0.0.1\n").expect("the rules can be written");
        Self { targets: targets.unwrap_or(usual), folder, coordinator: None }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("temporary folders have names in ASCII").to_owned()
    }

    /// Where the coordinator takes agents.
    pub(crate) fn coordinator(&self) -> String {
        self.coordinator.clone().expect("the coordinator is started first")
    }

    /// The words of a command, fit for this place. A flag that is not known here needs its line.
    fn words(&self, line: &Line) -> Vec<String> {
        line.words(|flag, value| match flag {
            "--http" | "--agents" | "--listen" => {
                let (host, _) = value.rsplit_once(':').unwrap_or_else(|| panic!("{value} has no port"));
                format!("{host}:0")
            }
            "--coordinator" => self.coordinator(),
            "--token-file" => self.file("token"),
            "--allow-file" => self.targets.to_str().expect("a path in UTF-8").to_owned(),
            "--store" => self.file("volley.db"),
            "--state" => self.file("state"),
            "--name" | "--label" => value.replace("$(POD_NAME)", "pod-1").replace("$(NODE_NAME)", "node-1"),
            "--allow" => value.to_owned(),
            _ => panic!("{}: what is {flag} {value} to be in a test?", line.origin),
        })
    }

    /// Starts it, and waits until it says where it listens. What it is asked to serve, it serves on this machine.
    pub(crate) fn start(&mut self, line: &Line, more: &[(&str, &str)]) -> Service {
        let mut command = Command::new(binary());
        command.args(self.words(line)).env_remove("VOLLEY_TOKEN").env_remove("VOLLEY_COORDINATOR");
        // The image and systemd name a folder for what a service keeps.
        command.env("STATE_DIRECTORY", self.folder.path()).envs(more.iter().copied());
        let process = Process::start(&mut command);
        let has_http = line.flags.iter().any(|(flag, _)| flag == "--http" || flag == "--listen");
        let http = has_http.then(|| process.line(|line| here(line.split_once("http://")?.1)));
        if line.role == ["coordinator"] {
            self.coordinator = Some(process.line(|line| here(line.split_once("agents on ")?.1)));
        }
        Service { process, http }
    }
}

/// An address as this machine reaches it.
fn here(said: &str) -> Option<String> {
    let address = said.split_whitespace().next()?.trim_end_matches('/');
    let (_, port) = address.rsplit_once(':')?;
    Some(format!("127.0.0.1:{port}"))
}

impl Service {
    fn http(&self) -> &str {
        self.http.as_deref().expect("it serves HTTP")
    }

    /// Its URL, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.http())
    }

    pub(crate) fn api(&self) -> Api {
        Api::with_token(&self.url(), Some(TOKEN))
    }

    /// A probe comes to succeed, without a token.
    pub(crate) fn answers(&self, path: &str) {
        let api = Api::new(&self.url());
        api.wait_for(path, SOON, |api| api.ask(path).0 == 200);
    }

    /// A health check of a container comes to succeed: `volley probe http://127.0.0.1:7070/healthz`.
    pub(crate) fn probed(&self, words: &[String]) {
        assert_eq!((words[0].as_str(), words.len()), ("probe", 2), "{words:?}");
        let (_, rest) = words[1].split_once("://127.0.0.1:").expect("a probe asks its own container");
        let (_, path) = rest.split_once('/').expect("a probe has a path");
        let url = format!("{}/{path}", self.url());
        self.answers(&format!("/{path}"));
        let elsewhere = format!("{}/nothing-here", self.url());
        let codes = [&url, &elsewhere].map(|url| volley(&["probe", url]).code);
        assert_eq!(codes, [Some(0), Some(1)], "{url}");
    }

    /// The agent of this name, or any where there is none, comes to join this coordinator.
    pub(crate) fn is_joined(&self, name: Option<&str>) {
        self.api().wait_for("an agent to join", SOON, |api| {
            api.agents().iter().any(|agent| name.is_none_or(|name| agent["name"] == name))
        });
    }

    /// Asks it to end, as all that keeps services does, and checks that it does so well and soon.
    pub(crate) fn ends(mut self) {
        self.process.signal(Signal::TERM);
        let (status, _, stderr) = self.process.wait(SOON);
        assert!(status.success(), "it ended with {status}:\n{stderr}");
    }
}
