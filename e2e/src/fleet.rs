//! Coordinator, agents and echo target as processes of their own, on free ports.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::api::Api;
use crate::place::Place;
use crate::process::{PATIENCE, Process, binary};

/// The name of a coordinator's store in its folder.
const STORE: &str = "volley.db";
/// The variable with the secret that coordinator, agents and clients share.
const TOKEN: &str = "VOLLEY_TOKEN";
/// How long a process may take to end once it was told to.
const GOODBYE: Duration = Duration::from_secs(20);

/// Variables for a process's environment.
pub type Environment<'a> = &'a [(&'static str, String)];

fn started(place: &Place, arguments: &[&str], environment: Environment<'_>) -> Process {
    let mut command = place.command(&binary());
    command.args(arguments).env_remove("VOLLEY_COORDINATOR").env_remove(TOKEN);
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

/// How a coordinator is started.
#[derive(Debug)]
pub struct CoordinatorOptions<'a> {
    /// The folder with its runs; an empty one where there is none.
    pub store: Option<TempDir>,
    /// The address that it binds to, without a port.
    pub ip: &'a str,
    /// The ports for people and for agents; 0 takes any.
    pub ports: (u16, u16),
    /// More arguments.
    pub arguments: &'a [&'a str],
    /// More variables in its environment.
    pub environment: Environment<'a>,
    /// What each client must show, where it asks for that.
    pub token: Option<&'a str>,
}

impl Default for CoordinatorOptions<'_> {
    fn default() -> Self {
        Self { store: None, ip: "127.0.0.1", ports: (0, 0), arguments: &[], environment: &[], token: None }
    }
}

/// A coordinator, whose runs are in a folder of its own.
pub struct Coordinator {
    process: Process,
    store: TempDir,
    token: Option<String>,
    /// Its URL, without a slash at the end.
    pub url: String,
    /// The address that agents dial.
    pub agents_address: String,
}

impl Coordinator {
    /// Starts one with an empty store, and waits until it listens.
    #[must_use]
    pub fn start() -> Self {
        Self::start_as(CoordinatorOptions::default())
    }

    /// The same with more variables in its environment.
    #[must_use]
    pub fn start_with(environment: Environment<'_>) -> Self {
        Self::start_as(CoordinatorOptions { environment, ..CoordinatorOptions::default() })
    }

    /// Starts one on the store in this folder, and waits until it listens.
    #[must_use]
    pub fn start_on(store: TempDir) -> Self {
        Self::start_as(CoordinatorOptions { store: Some(store), ..CoordinatorOptions::default() })
    }

    /// Starts one, and waits until it listens.
    ///
    /// # Panics
    /// If there is no folder for its store, or the folder's name is no text.
    #[must_use]
    pub fn start_as(options: CoordinatorOptions<'_>) -> Self {
        let CoordinatorOptions { store, ip, ports, arguments, environment, token } = options;
        let store = store.unwrap_or_else(|| tempfile::tempdir().expect("a folder for the store"));
        let file = store.path().join(STORE);
        let file = file.to_str().expect("temporary folders have names in ASCII");
        let (http, agents) = (format!("{ip}:{}", ports.0), format!("{ip}:{}", ports.1));
        let mut all = vec!["coordinator", "--http", &http, "--agents", &agents, "--store", file];
        all.extend_from_slice(arguments);
        let mut environment = environment.to_vec();
        environment.extend(token.map(|token| (TOKEN, token.to_owned())));
        let process = started(&Place::Here, &all, &environment);
        let authority = process.line(|line| word_after(line, "http://"));
        let agents_address = process.line(|line| word_after(line, "agents on "));
        let url = format!("http://{}", authority.trim_end_matches('/'));
        Self { process, store, token: token.map(str::to_owned), url, agents_address }
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

    /// The ports for people and for agents.
    ///
    /// # Panics
    /// If its addresses have none, which can't be.
    #[must_use]
    pub fn ports(&self) -> (u16, u16) {
        let port = |address: &str| {
            let (_, port) = address.rsplit_once(':').expect("an address has a port");
            port.parse().expect("a port is a number")
        };
        (port(&self.url), port(&self.agents_address))
    }

    /// Kills it as the out-of-memory killer would, and gives back its store.
    #[must_use]
    pub fn kill(mut self) -> TempDir {
        self.process.signal(Signal::KILL);
        self.process.wait(GOODBYE);
        self.store
    }

    /// Waits until it has ended by itself, and gives back its store.
    #[must_use]
    pub fn gone(mut self, within: Duration) -> TempDir {
        self.process.wait(within);
        self.store
    }

    /// Its REST API.
    #[must_use]
    pub fn api(&self) -> Api {
        Api::with_token(&self.url, self.token.as_deref())
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
        self.agent_at(&Place::Here, name, more, environment)
    }

    /// The same somewhere else.
    #[must_use]
    pub fn agent_at(&self, place: &Place, name: &str, more: &[&str], environment: Environment<'_>) -> Agent {
        let mut arguments = vec!["agent", "--coordinator", &self.agents_address, "--name", name];
        let state = tempfile::tempdir().expect("a folder for what it measured");
        if !more.contains(&"--state") {
            arguments
                .extend(["--state", state.path().to_str().expect("temporary folders have names in ASCII")]);
        }
        arguments.extend_from_slice(more);
        let mut environment = environment.to_vec();
        environment.extend(self.token.clone().map(|token| (TOKEN, token)));
        let known = self.api().agents().len();
        let process = started(place, &arguments, &environment);
        self.api().wait_for("the agent to join", PATIENCE, |api| {
            let agents = api.agents();
            agents.len() > known && agents.iter().any(|agent| agent["name"] == name)
        });
        Agent { process, _state: state }
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

/// An agent, which keeps what it measured in a folder of its own.
pub struct Agent {
    process: Process,
    _state: TempDir,
}

impl Agent {
    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The URL of what it tells its own host, without a slash at the end, where `--http` asks for that.
    #[must_use]
    pub fn http(&self) -> String {
        let authority = self.process.line(|line| word_after(line, "http://"));
        format!("http://{}", authority.trim_end_matches('/'))
    }

    /// Kills it as the out-of-memory killer would.
    pub fn kill(self) {
        self.process.signal(Signal::KILL);
    }

    /// Stops it in the middle of whatever it does, until [`Self::go_on`].
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Asks it to end, and doesn't wait for that.
    pub fn ask_to_leave(&self) {
        self.process.signal(Signal::TERM);
    }

    /// Waits until it has ended by itself; whether it did so in the orderly way.
    pub fn gone(&mut self, within: Duration) -> bool {
        let (status, ..) = self.process.wait(within);
        status.success()
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
        let process = started(&Place::Here, &["target", "--listen", "127.0.0.1:0"], &[]);
        let address = process.line(|line| word_after(line, "http://"));
        let address = address.trim_end_matches('/').to_owned();
        Self { _process: process, address }
    }

    /// Its address and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.address
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
