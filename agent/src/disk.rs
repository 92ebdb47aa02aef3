//! The agent's disk: what was measured and is not yet acknowledged outlives the process there.
//!
//! One file for each run and process (`file`) holds the windows as they were numbered; each is written before it is sent.
//! A thread of its own (`thread`) does all reading and writing, so that a slow disk delays nothing but the windows that
//! wait for it. It is asked by [`Job`]s, of which few are under way at a time, and answers each with one [`Answer`].

mod file;
mod thread;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
#[cfg(test)]
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use volley_plan::link::{Incarnation, RunId};
use volley_stats::SealedWindow;

/// Most jobs that are under way. They wait in memory with the windows that they hold.
const MAX_JOBS: usize = 8;
/// A job that takes longer shows that the disk hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// How long the end of an agent waits for what is still to be written.
const FAREWELL: Duration = Duration::from_secs(1);

/// Whose results: of which run, and of which process where that was an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The run.
    pub run: RunId,
    /// The earlier process; `None` for this one.
    pub of: Option<Incarnation>,
}

impl Source {
    /// The process that measured it, for a log.
    pub(crate) fn measurer(&self) -> String {
        self.of.map_or_else(|| "this one".to_owned(), |of| of.to_string())
    }
}

/// A window with its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// Whose it is.
    pub source: Source,
    /// Numbered from 1 without gaps by source.
    pub sequence: u64,
    /// The results.
    pub window: SealedWindow,
    /// Nothing comes after it.
    pub last: bool,
}

/// What the disk is asked for. The first of a process is [`Job::Look`].
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Which results have earlier processes left? Answered by [`Answer::Found`].
    Look,
    /// Keep a window of this process. Answered by [`Answer::Kept`] or [`Answer::Failed`].
    Keep(Numbered),
    /// What was kept of this process's run is not needed up to this number. Answered by [`Answer::Done`].
    Clear {
        /// The run.
        run: RunId,
        /// All up to this are acknowledged.
        up_to: u64,
    },
    /// The next window that an earlier process left. Answered by [`Answer::Left`].
    Read(Source),
    /// These results are delivered, or nobody wants them. Answered by [`Answer::Done`].
    Remove(Source),
}

/// What comes of a [`Job`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The results that earlier processes left, oldest first.
    Found(Vec<Source>),
    /// The window is kept, with all before it.
    Kept {
        /// Its run.
        run: RunId,
        /// Its number.
        sequence: u64,
    },
    /// Nothing of this process's run is kept any more.
    Failed {
        /// The run.
        run: RunId,
        /// Why, in a sentence.
        reason: String,
    },
    /// A window that an earlier process left.
    Left {
        /// Whose.
        source: Source,
        /// The window; `None` after the last.
        window: Option<Numbered>,
    },
    /// It is done, or need not be.
    Done,
}

/// The disk as its owner sees it. Dropping it waits for what is to be written, a second at most.
pub(crate) struct Disk {
    jobs: Option<mpsc::Sender<Job>>,
    answers: UnboundedReceiver<Answer>,
    /// When those that are not answered were given to it, oldest first.
    under_way: VecDeque<Instant>,
    /// It was found to hang, and has not answered since.
    hangs: bool,
    /// Closed once the thread has ended.
    ended: mpsc::Receiver<()>,
}

impl Disk {
    /// A disk in this directory, which is made where it is missing; `None` where no thread can be had. The thread is
    /// started at the priority of the calling one.
    pub(crate) fn start(directory: PathBuf, incarnation: Incarnation) -> Option<Self> {
        match thread::start(directory, incarnation) {
            Ok((jobs, answers, ended)) => {
                let mut disk =
                    Self { jobs: Some(jobs), answers, under_way: VecDeque::new(), hangs: false, ended };
                disk.take(Job::Look);
                Some(disk)
            }
            Err(error) => {
                tracing::warn!(%error, "no thread for the disk, so results are kept in memory only");
                None
            }
        }
    }

    /// One whose answers a test gives, or doesn't; the receiver hears what it is asked for.
    #[cfg(test)]
    pub(crate) fn silent() -> (Self, UnboundedSender<Answer>, mpsc::Receiver<Job>) {
        let ((jobs, asked), (answers, answered)) = (mpsc::channel(), unbounded_channel());
        let ended = mpsc::channel().1;
        let disk =
            Self { jobs: Some(jobs), answers: answered, under_way: VecDeque::new(), hangs: false, ended };
        (disk, answers, asked)
    }

    /// Whether it takes another job now.
    pub(crate) fn has_room(&self) -> bool {
        self.under_way.len() < MAX_JOBS
    }

    /// Takes a job. It never waits for anything.
    pub(crate) fn take(&mut self, job: Job) {
        self.under_way.push_back(Instant::now());
        if let Some(jobs) = &self.jobs {
            // Were the thread gone, the next answer would tell it.
            let _ = jobs.send(job);
        }
    }

    /// The next answer; `None` if the thread broke down. Dropping the future loses none.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let answer = self.answers.recv().await;
        self.under_way.pop_front();
        answer
    }

    /// When it must be taken to hang if it has answered nothing more; `None` if it has nothing to do, or hangs already.
    pub(crate) fn hangs_at(&self) -> Option<Instant> {
        self.under_way.front().filter(|_| !self.hangs).map(|given| *given + PATIENCE)
    }

    /// Takes note that it hangs, until it answers.
    pub(crate) fn hang(&mut self) {
        self.hangs = true;
    }

    /// True the first time after it hung: it does no longer.
    pub(crate) fn take_recovery(&mut self) -> bool {
        std::mem::take(&mut self.hangs)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.jobs = None;
        if self.ended.recv_timeout(FAREWELL) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!("the disk is slow; results that were not delivered may not be kept");
        }
    }
}

#[cfg(test)]
mod tests;
