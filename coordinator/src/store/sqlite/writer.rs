//! The one thread that writes. Jobs that wait together go into one transaction, and none of them is answered before that
//! is committed. Housekeeping gets short slices in between.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::checkpoint::Checkpoints;
use super::housekeeping::Housekeeping;
use super::open_runs::OpenRuns;
use super::{Retention, Shared, StoreError};

/// Most jobs that wait; whoever has another one waits for a place.
const MAX_WAITING: usize = 256;
/// Most jobs of one transaction.
const MAX_BATCH: usize = 64;

/// Something to be written.
pub(super) trait Job: Send + 'static {
    /// What it answers.
    type Answer: Send;

    /// True if it needs a transaction of its own, since it reads what earlier jobs of a batch would only have applied
    /// after it.
    fn is_apart(&self) -> bool {
        false
    }

    /// Does it within a transaction. [`StoreError::Failed`] undoes the whole transaction; after any other error nothing
    /// may have been written, unless the job is apart.
    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<Self::Answer, StoreError>;

    /// Takes note of what was done, once it is on disk.
    fn committed(self, answer: &Self::Answer, runs: &mut OpenRuns);
}

/// A job with its answer's way back.
struct Pending<J: Job> {
    job: J,
    result: Option<Result<J::Answer, StoreError>>,
    reply: oneshot::Sender<Result<J::Answer, StoreError>>,
    _place: OwnedSemaphorePermit,
}

/// Jobs of all kinds in one queue.
trait Work: Send {
    fn is_apart(&self) -> bool;
    /// Gives back why the transaction must be undone.
    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<(), String>;
    fn finish(self: Box<Self>, failure: Option<&str>, runs: &mut OpenRuns);
}

impl<J: Job> Work for Pending<J> {
    fn is_apart(&self) -> bool {
        self.job.is_apart()
    }

    fn execute(&mut self, db: &Connection, runs: &mut OpenRuns) -> Result<(), String> {
        let result = self.job.execute(db, runs);
        let failure = match &result {
            Err(StoreError::Failed(reason)) => Err(reason.clone()),
            Err(error) if self.is_apart() => Err(error.to_string()),
            Ok(_) | Err(_) => Ok(()),
        };
        self.result = Some(result);
        failure
    }

    fn finish(self: Box<Self>, failure: Option<&str>, runs: &mut OpenRuns) {
        let Self { job, result, reply, .. } = *self;
        let result = match (result, failure) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(reason)) => Err(StoreError::Failed(reason.to_owned())),
            (Some(Ok(answer)), None) => {
                job.committed(&answer, runs);
                Ok(answer)
            }
            (None, None) => Err(StoreError::Failed("the job was left out".to_owned())),
        };
        // Whoever doesn't wait any more needs no answer.
        let _ = reply.send(result);
    }
}

/// The way to the thread. It ends, with all that waits done, when this is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Box<dyn Work>>>,
    places: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread with its connection.
    pub(super) fn start(
        db: Connection,
        path: &Path,
        shared: Arc<Shared>,
        retention: Retention,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let checkpoints = Checkpoints::start(path)?;
        let mut work = Loop {
            db,
            waiting,
            runs: OpenRuns::new(shared),
            housekeeping: Housekeeping::new(retention),
            checkpoints,
        };
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || work.run());
        let thread =
            thread.map_err(|error| StoreError::Failed(format!("no thread for the store: {error}")))?;
        Ok(Self { jobs: Some(jobs), places: Arc::new(Semaphore::new(MAX_WAITING)), thread: Some(thread) })
    }

    /// Has a job done, and gives back its answer once what it did is on disk.
    pub(super) async fn ask<J: Job>(&self, job: J) -> Result<J::Answer, StoreError> {
        let gone = || StoreError::Failed("the store's writer has ended".to_owned());
        let place = self.places.clone().acquire_owned().await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(Box::new(Pending { job, result: None, reply, _place: place })).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had broken off");
        }
    }
}

/// The thread's state.
struct Loop {
    db: Connection,
    waiting: Receiver<Box<dyn Work>>,
    runs: OpenRuns,
    housekeeping: Housekeeping,
    checkpoints: Checkpoints,
}

impl Loop {
    fn run(&mut self) {
        loop {
            let job = match self.next() {
                Ok(job) => job,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => None,
            };
            let is_busy = job.is_some();
            if let Some(job) = job {
                self.work(job);
                self.housekeeping.take_in(&mut self.runs);
            }
            if self.housekeeping.may_work(is_busy, Instant::now()) {
                self.housekeeping.work(&mut self.db, &mut self.runs);
            }
            self.checkpoints.after_commit(&self.db);
        }
        self.checkpoints.end(&self.db);
    }

    /// The next job; none if there is housekeeping to do instead.
    fn next(&mut self) -> Result<Option<Box<dyn Work>>, RecvTimeoutError> {
        let idle_for = self.housekeeping.idle_for(Instant::now());
        if !idle_for.is_zero() {
            return self.waiting.recv_timeout(idle_for).map(Some);
        }
        match self.waiting.try_recv() {
            Ok(job) => Ok(Some(job)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// Does a job and those that wait behind it. One that must be apart ends the batch before it.
    fn work(&mut self, first: Box<dyn Work>) {
        let mut next = Some(first);
        while let Some(job) = next.take() {
            let is_apart = job.is_apart();
            let mut batch = vec![job];
            while !is_apart && batch.len() < MAX_BATCH {
                match self.waiting.try_recv() {
                    Ok(job) if job.is_apart() => {
                        next = Some(job);
                        break;
                    }
                    Ok(job) => batch.push(job),
                    Err(_) => break,
                }
            }
            self.commit(batch);
        }
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Work>>) {
        let failure = self.execute(&mut batch).err();
        if let Some(reason) = &failure {
            tracing::error!(reason, jobs = batch.len(), "nothing could be stored");
        }
        for job in batch {
            job.finish(failure.as_deref(), &mut self.runs);
        }
        self.runs.settle(failure.is_some());
    }

    fn execute(&mut self, batch: &mut [Box<dyn Work>]) -> Result<(), String> {
        let told = |error: rusqlite::Error| error.to_string();
        let begun = self.db.transaction_with_behavior(TransactionBehavior::Immediate);
        // Dropped uncommitted, it is rolled back.
        let transaction = begun.map_err(told)?;
        for job in batch {
            job.execute(&transaction, &mut self.runs)?;
        }
        transaction.commit().map_err(told)
    }
}
