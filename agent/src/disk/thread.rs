//! The thread that does all reading and writing.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use volley_plan::link::{Incarnation, RunId};

use super::file::{self, ENDING, ENDING_NEW, Opened, Reader, Writer};
use super::{Answer, Job, Numbered, Source};

/// Results that nobody wanted for so long are given up.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Most files of earlier processes that are kept; the oldest are given up.
const MAX_FILES: usize = 64;
/// Most entries of the directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Starts the thread. It ends when the sender of jobs is dropped and all are done; then the last receiver is closed.
pub(super) fn start(
    directory: PathBuf,
    incarnation: Incarnation,
) -> io::Result<(Sender<Job>, UnboundedReceiver<Answer>, Receiver<()>)> {
    let (jobs, to_do) = mpsc::channel();
    let (answers, answered) = unbounded_channel();
    let (end, ended) = mpsc::channel();
    let state = State { directory, incarnation, written: BTreeMap::new(), left: Vec::new() };
    let thread = std::thread::Builder::new().name("volley-disk".to_owned());
    thread.spawn(move || {
        state.work(&to_do, &answers);
        drop(end);
    })?;
    Ok((jobs, answered, ended))
}

/// What this process writes of a run.
#[derive(Debug, Default)]
struct Written {
    file: Option<Writer>,
    /// Why nothing is written any more. What was before stays for the next process, should this one be killed.
    failed: Option<String>,
}

struct State {
    directory: PathBuf,
    incarnation: Incarnation,
    /// By the runs of this process.
    written: BTreeMap<RunId, Written>,
    /// What earlier processes left.
    left: Vec<Reader>,
}

impl State {
    fn work(mut self, jobs: &Receiver<Job>, answers: &UnboundedSender<Answer>) {
        while let Ok(job) = jobs.recv() {
            // Who asked may be gone; what is to be written is written all the same.
            let _ = answers.send(self.answer(job));
        }
        self.leave_nothing_delivered();
    }

    /// This process ends. Nothing more comes into its files, and of those that are delivered whole nobody wants anything.
    fn leave_nothing_delivered(self) {
        let files = self.written.into_values().filter_map(|written| written.file);
        for file in files.filter(Writer::is_cleared) {
            say(&self.directory, file.remove());
        }
    }

    fn answer(&mut self, job: Job) -> Answer {
        match job {
            Job::Look => {
                self.left = look(&self.directory);
                Answer::Found(self.left.iter().map(|reader| reader.source().clone()).collect())
            }
            Job::Keep(window) => self.keep(&window),
            Job::Clear { run, up_to } => {
                if let Some(Written { file: Some(writer), .. }) = self.written.get_mut(&run) {
                    say(&self.directory, writer.clear(up_to));
                }
                Answer::Done
            }
            Job::Read(source) => Answer::Left { window: self.read(&source), source },
            Job::Remove(source) => {
                let removed = match source.of {
                    None => {
                        self.written.remove(&source.run).and_then(|written| written.file).map(Writer::remove)
                    }
                    Some(_) => self.take_left(&source).map(Reader::remove),
                };
                say(&self.directory, removed.unwrap_or(Ok(())));
                Answer::Done
            }
        }
    }

    /// Once a window of a run can't be kept, no later one is: they must have no gaps.
    fn keep(&mut self, window: &Numbered) -> Answer {
        let run = window.source.run.clone();
        let written = self.written.entry(run.clone()).or_default();
        if written.failed.is_none() {
            let appended = written.append(&self.directory, self.incarnation, window);
            written.failed = appended.err().map(|error| error.to_string());
        }
        match &written.failed {
            None => Answer::Kept { run, sequence: window.sequence },
            Some(reason) => Answer::Failed { run, reason: reason.clone() },
        }
    }

    fn read(&mut self, source: &Source) -> Option<Numbered> {
        let reader = self.left.iter_mut().find(|reader| reader.source() == source)?;
        reader.next().unwrap_or_else(|error| {
            tracing::warn!(run = %source.run, %error, "results that an earlier process left can't be read on");
            None
        })
    }

    fn take_left(&mut self, source: &Source) -> Option<Reader> {
        let index = self.left.iter().position(|reader| reader.source() == source)?;
        Some(self.left.swap_remove(index))
    }
}

impl Written {
    fn append(&mut self, directory: &Path, incarnation: Incarnation, window: &Numbered) -> io::Result<()> {
        let writer = match &mut self.file {
            Some(writer) => writer,
            none => {
                make_directory(directory)?;
                none.insert(Writer::create(directory, &window.source.run, incarnation)?)
            }
        };
        writer.append(window)
    }
}

fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn say(directory: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        tracing::debug!(directory = %directory.display(), %error, "a file of results can't be cleared");
    }
}

/// What earlier processes left, oldest first, and locked. What is too old or too much is taken away.
fn look(directory: &Path) -> Vec<Reader> {
    let entries = make_directory(directory).and_then(|()| entries(directory)).unwrap_or_else(|error| {
        let directory = directory.display();
        tracing::warn!(%directory, %error, "no directory for results, so they are kept in memory only");
        Vec::new()
    });
    let mut left: Vec<Reader> = entries.into_iter().filter_map(|(age, path)| left_over(age, &path)).collect();
    for reader in left.drain(..left.len().saturating_sub(MAX_FILES)) {
        tracing::warn!(run = %reader.source().run, "results of an earlier process were given up, since there are too many");
        say(directory, reader.remove());
    }
    left
}

/// The age and path of each file of results, oldest first.
fn entries(directory: &Path) -> io::Result<Vec<(Duration, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)?.take(MAX_ENTRIES) {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.ends_with(ENDING) || name.ends_with(ENDING_NEW));
        let Ok(changed) = entry.metadata().and_then(|metadata| metadata.modified()) else { continue };
        if is_ours {
            let age = SystemTime::now().duration_since(changed).unwrap_or_default();
            entries.push((age, entry.path()));
        }
    }
    entries.sort_by(|one, other| other.cmp(one));
    Ok(entries)
}

/// What an earlier process left in this file, if it did.
fn left_over(age: Duration, path: &Path) -> Option<Reader> {
    let shown = path.display().to_string();
    let opened = match file::open(path) {
        Ok(opened) => opened,
        Err(error) => {
            tracing::warn!(path = shown, %error, "a file of results can't be opened");
            return None;
        }
    };
    match opened {
        Opened::Theirs => None,
        Opened::Ours(reader) if age <= MAX_AGE && shown.ends_with(ENDING) => Some(reader),
        Opened::Foreign if age <= MAX_AGE && shown.ends_with(ENDING) => {
            tracing::warn!(path = shown, "this file of results is of another version; it is left alone");
            None
        }
        Opened::Ours(_) | Opened::Foreign => {
            tracing::warn!(
                path = shown,
                "results of an earlier process were given up, since they are too old or not whole"
            );
            say(path, fs::remove_file(path));
            None
        }
    }
}
