//! Brings the write-ahead log into the main file, so that it doesn't grow for ever.
//!
//! Most of that work, and the waiting for the disk, is done by a thread and connection of its own while the writer goes
//! on. The log starts over only when nothing of it is left to be brought over; so once the thread is done, the writer
//! itself brings over the little that came in the meantime.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::{StoreError, file};

/// From how many pages of the log on it is worth while: 8 MiB.
const WORTH_PAGES: i64 = 1_024;
/// From here on the writer does it all itself, since the thread doesn't keep up: 512 MiB.
const MOST_PAGES: i64 = 65_536;
/// How many transactions there are between two looks at the log's length.
const LOOK_EVERY: u32 = 8;

/// The thread, as the writer sees it.
pub(super) struct Checkpoints {
    wanted: Option<SyncSender<()>>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
    transactions: u32,
}

#[derive(Default)]
struct State {
    at_work: AtomicBool,
    done: AtomicBool,
}

impl Checkpoints {
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let db = file::reader(path)?;
        let (wanted, wishes) = sync_channel(1);
        let state = Arc::new(State::default());
        let shared = state.clone();
        let work = move || {
            while let Ok(()) = wishes.recv() {
                checkpoint(&db, "PASSIVE");
                shared.done.store(true, Ordering::Release);
                shared.at_work.store(false, Ordering::Release);
            }
        };
        let thread = std::thread::Builder::new().name("store-checkpoint".to_owned()).spawn(work);
        let thread =
            thread.map_err(|error| StoreError::Failed(format!("no thread for the store: {error}")))?;
        Ok(Self { wanted: Some(wanted), state, thread: Some(thread), transactions: 0 })
    }

    /// Looks, now and then, whether the log has become long.
    pub(super) fn after_commit(&mut self, db: &Connection) {
        if self.state.done.swap(false, Ordering::AcqRel) {
            checkpoint(db, "PASSIVE");
            return;
        }
        self.transactions += 1;
        if self.transactions < LOOK_EVERY {
            return;
        }
        self.transactions = 0;
        let pages = log_pages(db);
        if pages >= MOST_PAGES {
            checkpoint(db, "PASSIVE");
        } else if pages >= WORTH_PAGES && !self.state.at_work.swap(true, Ordering::AcqRel) {
            // There is room for one wish, and none is on the way.
            let _ = self.wanted.as_ref().map(|wanted| wanted.try_send(()));
        }
    }

    /// Empties the log at the end, so that one file is left.
    pub(super) fn end(&mut self, db: &Connection) {
        self.wanted = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's checkpoint thread had broken off");
        }
        checkpoint(db, "TRUNCATE");
    }
}

/// Pages of the log that are not yet brought over.
fn log_pages(db: &Connection) -> i64 {
    let pages = db.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| {
        Ok(row.get::<_, i64>(1)?.saturating_sub(row.get::<_, i64>(2)?))
    });
    pages.unwrap_or(0)
}

fn checkpoint(db: &Connection, mode: &str) {
    let done = db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
    if let Err(error) = done {
        // Nothing is lost by it: the log keeps what it has, and the next attempt brings it over.
        tracing::warn!(%error, "the store's log could not be brought over");
    }
}
