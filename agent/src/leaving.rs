//! How an agent comes to its end: asked first, told second.
//!
//! ```text
//!  Not --first word--> Politely --second word, or its time is over, or no contact--> AtOnce --2 s--> it ends
//!   |                                                                                  ^
//!   +---------------------------- first word, without contact ------------------------+
//! ```
//!
//! From *Politely* on it ends as soon as nothing more comes of its run and all is delivered.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_stream::{Stream, StreamExt};

/// An agent that is about to end has so long to deliver what it measured.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(2);
/// An agent that was asked to end has so long beside what its run takes to let it go.
pub(crate) const POLITELY: Duration = Duration::from_secs(10);
/// A coordinator that was silent for so long can't be waited for.
const SILENT: Duration = Duration::from_secs(2);

/// When an agent is to end.
///
/// The first word asks it to: it tells the coordinator, which gives its share to others, finishes what it has begun, and
/// delivers it. The second word ends it at once: its run is stopped, and it has two seconds to deliver.
pub struct Shutdown(Option<Pin<Box<dyn Stream<Item = ()> + Send>>>);

impl Shutdown {
    /// An agent that ends only when it is dropped.
    #[must_use]
    pub fn never() -> Self {
        Self(None)
    }

    /// Each item is a word; the end of the stream is none.
    pub fn on(words: impl Stream<Item = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(words)))
    }

    /// The next word. Dropping the future loses none.
    async fn word(&mut self) {
        if let Some(words) = &mut self.0 {
            match words.next().await {
                Some(()) => return,
                None => self.0 = None,
            }
        }
        std::future::pending::<()>().await;
    }
}

/// What an agent knows of its end.
pub(crate) struct Leaving {
    shutdown: Shutdown,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Not,
    /// Until then at most.
    Politely(Instant),
    /// Until then at most.
    AtOnce(Instant),
}

/// What an agent that leaves is to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask to be relieved.
    Ask,
    /// Stop the run.
    Stop,
    /// End.
    End,
}

impl Leaving {
    pub(crate) fn on(shutdown: Shutdown) -> Self {
        Self { shutdown, stage: Stage::Not }
    }

    /// Waits for what brings the end nearer, then goes on by [`Self::step`]. `contact` is when the coordinator was heard
    /// last. Safe to drop at any point.
    pub(crate) async fn moment(&mut self, contact: Option<Instant>) {
        match self.stage {
            Stage::Not => self.shutdown.word().await,
            Stage::Politely(until) => tokio::select! {
                () = self.shutdown.word() => {}
                () = sleep_until(until.min(silent_at(contact))) => {}
            },
            Stage::AtOnce(until) => sleep_until(until).await,
        }
    }

    /// The moment has come. `patience` is how long the run at hand may take to its end.
    pub(crate) fn step(&mut self, contact: Option<Instant>, patience: Duration) -> Step {
        let now = Instant::now();
        match self.stage {
            Stage::Not if silent_at(contact) > now => {
                self.stage = Stage::Politely(now + patience + POLITELY);
                Step::Ask
            }
            Stage::Not | Stage::Politely(_) => {
                self.stage = Stage::AtOnce(now + AT_ONCE);
                Step::Stop
            }
            Stage::AtOnce(_) => Step::End,
        }
    }

    /// Whether its end has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.stage != Stage::Not
    }

    /// Whether the run is no longer waited for.
    pub(crate) fn is_at_once(&self) -> bool {
        matches!(self.stage, Stage::AtOnce(_))
    }
}

/// When silence has lasted too long; at once where the coordinator was never heard.
fn silent_at(contact: Option<Instant>) -> Instant {
    contact.map_or_else(Instant::now, |contact| contact + SILENT)
}
