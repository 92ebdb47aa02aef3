//! Coordinator, agents and echo target as processes of their own, on free ports.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::api::Api;
use crate::process::{PATIENCE, Process, binary};

/// The name of a coordinator's store in its folder.
const STORE: &str = "volley.db";
/// How long a process may take to end once it was told to.
const GOODBYE: Duration = Duration::from_secs(10);

/// Variables for a process's environment.
type Environment<'a> = &'a [(&'static str, String)];

fn started(arguments: &[&str], environment: Environment<'_>) -> Process {
    let mut command = Command::new(binary());
    command.args(arguments).env_remove("VOLLEY_COORDINATOR");
    for (name, value) in environment {
        command.env(name, value);
    }
    Process::start(&mut command)
}

/// The word after `words` in a line.
fn word_after(line: &str, words: &str) -> Option<String> {
    let (_, rest) = line.split_once(words)?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// A coordinator, whose runs are in a folder of its own.
pub struct Coordinator {
    process: Process,
    store: TempDir,
    /// Its URL, without a slash at the end.
    pub url: String,
    /// The address that agents dial.
    pub agents_address: String,
}

impl Coordinator {
    /// Starts one with an empty store, and waits until it listens.
    ///
    /// # Panics
    /// If there is no folder for its store.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with more variables in its environment.
    ///
    /// # Panics
    /// If there is no folder for its store.
    #[must_use]
    pub fn start_with(environment: Environment<'_>) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder for the store"), environment)
    }

    /// Starts one on the store in this folder, and waits until it listens.
    ///
    /// # Panics
    /// If the folder's name is no text.
    #[must_use]
    pub fn start_on(store: TempDir) -> Self {
        Self::start_in(store, &[])
    }

    fn start_in(store: TempDir, environment: Environment<'_>) -> Self {
        let file = store.path().join(STORE);
        let file = file.to_str().expect("temporary folders have names in ASCII");
        let any = "127.0.0.1:0";
        let process = started(&["coordinator", "--http", any, "--agents", any, "--store", file], environment);
        let authority = process.line(|line| word_after(line, "http://"));
        let agents_address = process.line(|line| word_after(line, "agents on "));
        let url = format!("http://{}", authority.trim_end_matches('/'));
        Self { process, store, url, agents_address }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The file with its runs.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.store.path().join(STORE)
    }

    /// Kills it as the out-of-memory killer would, and gives back its store.
    #[must_use]
    pub fn kill(mut self) -> TempDir {
        self.process.signal(Signal::KILL);
        self.process.wait(GOODBYE);
        self.store
    }

    /// Its REST API.
    #[must_use]
    pub fn api(&self) -> Api {
        Api::new(&self.url)
    }

    /// Starts an agent of it with the workers of its own choice, and waits until it has joined.
    #[must_use]
    pub fn agent(&self, name: &str) -> Agent {
        self.agent_with(name, &[])
    }

    /// The same with more arguments.
    #[must_use]
    pub fn agent_with(&self, name: &str, more: &[&str]) -> Agent {
        self.agent_in(name, more, &[])
    }

    /// The same with more variables in its environment.
    #[must_use]
    pub fn agent_in(&self, name: &str, more: &[&str], environment: Environment<'_>) -> Agent {
        let mut arguments = vec!["agent", "--coordinator", &self.agents_address, "--name", name];
        arguments.extend_from_slice(more);
        let process = started(&arguments, environment);
        self.api().wait_for("the agent to join", PATIENCE, |api| {
            api.agents().iter().any(|agent| agent["name"] == name)
        });
        Agent { process }
    }

    /// Asks it to end, and checks that it does so in the orderly way.
    ///
    /// # Panics
    /// If it ends otherwise.
    pub fn goodbye(mut self) {
        goodbye(&mut self.process);
    }
}

/// An agent.
pub struct Agent {
    process: Process,
}

impl Agent {
    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills it as the out-of-memory killer would.
    pub fn kill(self) {
        self.process.signal(Signal::KILL);
    }

    /// Asks it to end, and checks that it does so in the orderly way.
    ///
    /// # Panics
    /// If it ends otherwise.
    pub fn goodbye(mut self) {
        goodbye(&mut self.process);
    }

    /// What it has written to stderr by now.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }
}

fn goodbye(process: &mut Process) {
    process.signal(Signal::TERM);
    let (status, _, stderr) = process.wait(GOODBYE);
    assert!(status.success(), "it ended with {status}:\n{stderr}");
}

/// A coordinator with agents.
pub struct Fleet {
    /// The agents, in the order they joined.
    pub agents: Vec<Agent>,
    /// Their coordinator.
    pub coordinator: Coordinator,
}

impl Fleet {
    /// Starts a coordinator and that many agents.
    #[must_use]
    pub fn start(agents: usize) -> Self {
        let coordinator = Coordinator::start();
        let agents = (1..=agents).map(|number| coordinator.agent(&format!("agent-{number}"))).collect();
        Self { agents, coordinator }
    }

    /// The coordinator's REST API.
    #[must_use]
    pub fn api(&self) -> Api {
        self.coordinator.api()
    }
}

/// The echo target.
pub struct Target {
    _process: Process,
    address: String,
}

impl Target {
    /// Starts one, and waits until it listens.
    #[must_use]
    pub fn start() -> Self {
        let process = started(&["target", "--listen", "127.0.0.1:0"], &[]);
        let address = process.line(|line| word_after(line, "http://"));
        let address = address.trim_end_matches('/').to_owned();
        Self { _process: process, address }
    }

    /// The URL of a path that begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it has counted.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        Api::new(&format!("http://{}", self.address)).get("/stats")
    }
}
