//! A child process whose lines can be waited for, and which ends when its handle is dropped.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long anything of a test may take at most before it is a failure. Nothing waits that long in a good run.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test: `VOLLEY_BIN`, or the release build of this workspace.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("VOLLEY_BIN") {
        return path.into();
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let path = target.join("release/volley");
    assert!(path.exists(), "{} is missing: run `make test`, or `make build` before nextest", path.display());
    path
}

/// A child process. What it prints is kept.
pub struct Process {
    child: Child,
    ended: Option<ExitStatus>,
    stdout: Output,
    stderr: Output,
}

impl Process {
    /// Starts a command.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = Output::read(child.stdout.take().expect("it is piped"));
        let stderr = Output::read(child.stderr.take().expect("it is piped"));
        Self { child, ended: None, stdout, stderr }
    }

    /// Waits for a line of stderr of which `find` makes something.
    ///
    /// # Panics
    /// If none comes.
    pub fn line<T>(&self, find: impl Fn(&str) -> Option<T>) -> T {
        self.stderr.wait(find).unwrap_or_else(|| panic!("it never said so:\n{}", self.stderr.text()))
    }

    /// The same of stdout.
    ///
    /// # Panics
    /// If none comes.
    pub fn stdout_line<T>(&self, find: impl Fn(&str) -> Option<T>) -> T {
        let all = || format!("{}{}", self.stdout.text(), self.stderr.text());
        self.stdout.wait(find).unwrap_or_else(|| panic!("it never said so:\n{}", all()))
    }

    /// What it has written to stderr by now.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If the process is gone already.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{signal:?} to {pid:?}: {error}"));
    }

    /// Sends a signal to it and its children, as a terminal does. It must have been started in a group of its own.
    ///
    /// # Panics
    /// If they are gone already.
    pub fn signal_group(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process_group(pid, signal)
            .unwrap_or_else(|error| panic!("{signal:?} to the group {pid:?}: {error}"));
    }

    /// Waits for its end; gives its status and everything it wrote to stdout and stderr.
    ///
    /// # Panics
    /// If it doesn't end by itself.
    pub fn wait(&mut self, within: Duration) -> (ExitStatus, Vec<u8>, String) {
        let deadline = Instant::now() + within;
        // Its streams close when it ends, which is an event; `wait` is then immediate.
        if !self.stdout.closed_by(deadline) || !self.stderr.closed_by(deadline) {
            self.kill();
            panic!("it did not end within {within:?}; stderr:\n{}", self.stderr.text());
        }
        let status = self.child.wait().expect("a child can be waited for");
        self.ended = Some(status);
        (status, self.stdout.bytes(), self.stderr.text())
    }

    /// Asks it to end and gives it some time for that; for a process with children of its own, who would outlive its
    /// killing. Does nothing if it was waited for.
    pub(crate) fn terminate(&mut self) {
        if self.ended.is_none() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            self.stdout.closed_by(Instant::now() + Duration::from_secs(5));
            self.kill();
        }
    }

    fn kill(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.stdout.join();
        self.stderr.join();
    }
}

/// What comes out of a pipe, read by a thread of its own.
struct Output {
    read: Arc<Reading>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Reading {
    state: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

impl Reading {
    fn state(&self) -> MutexGuard<'_, (Vec<u8>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Output {
    fn read(pipe: impl Read + Send + 'static) -> Self {
        let read = Arc::new(Reading::default());
        let reader = thread::spawn({
            let read = Arc::clone(&read);
            move || {
                let mut pipe = BufReader::new(pipe);
                let mut line = Vec::new();
                while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                    read.state().0.append(&mut line);
                    read.changed.notify_all();
                }
                read.state().1 = true;
                read.changed.notify_all();
            }
        });
        Self { read, reader: Some(reader) }
    }

    fn bytes(&self) -> Vec<u8> {
        self.read.state().0.clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.read.state().0).into_owned()
    }

    fn wait<T>(&self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.read.state();
        loop {
            if let Some(found) = String::from_utf8_lossy(&state.0).lines().find_map(&find) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.1 || left.is_zero() {
                return None;
            }
            state = self.read.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn closed_by(&self, deadline: Instant) -> bool {
        let mut state = self.read.state();
        while !state.1 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.read.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn join(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
