//! What agents still have of runs that only the store knows: they were cut off while the run came to its end, and the
//! coordinator was started again since. It is kept as delivered late, and then they are let go.

use std::sync::Arc;

use volley_plan::link::{Incarnation, Order, Report, RunId, ToAgent, WindowFacts};
use volley_stats::SealedWindow;

use super::{Shared, lock};
use crate::document::RunDocument;
use crate::fleet::MAX_AGENTS;
use crate::store::{Arrival, Delivery, Kept, StoreError};

/// What this coordinator has of a run that nobody drives.
enum Known {
    /// Nothing.
    Nothing,
    /// All of it: it is over.
    Over(Box<RunDocument>),
    /// Something that is left alone, since it cannot be read.
    Damaged,
}

impl Shared {
    /// An agent works for a run that nobody drives here. It is to come to its end, and is let go once it has delivered what
    /// it has, if anybody will ever want that.
    pub(crate) async fn let_go(&self, agent: Incarnation, run: &RunId, acknowledged: u64) {
        let is_wanted = match self.known(run).await {
            Ok(Known::Over(_)) => !lock(&self.delivered).contains(&agent),
            Ok(Known::Nothing) => false,
            Ok(Known::Damaged) | Err(_) => return,
        };
        let stop = Order::Stop { at_ns: 0, drain_ns: 0 };
        let order = if is_wanted { stop } else { Order::Release };
        tracing::info!(%agent, %run, is_wanted, "agent works for a run that is over or unknown: let go");
        self.send_order(agent, run, acknowledged.saturating_add(1), order);
    }

    /// An agent reports on a run that nobody drives here. It is told how much of it is kept: all, where there is no such
    /// run, since nobody will ever want it.
    pub(crate) async fn take_late(
        &self,
        agent: Incarnation,
        run: &RunId,
        of: Option<Incarnation>,
        report: Report,
    ) {
        let Report::Window { sequence, window, last } = report else {
            tracing::debug!(%agent, %run, "report on a run that nobody drives left out");
            return;
        };
        if let Err(fault) = window.check() {
            return self.turn_away(agent, &fault.to_string());
        }
        // One at a time, since a document is read, added to, and written.
        let kept = {
            let _turn = self.late.lock().await;
            self.keep_late(run, of.unwrap_or(agent), sequence, window).await
        };
        match kept {
            Ok(Some(up_to)) => {
                if last && of.is_none() && up_to == sequence {
                    self.has_delivered(agent);
                }
                self.send(agent, ToAgent::Acknowledge { run: run.clone(), of, sequence: up_to });
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%run, %error, "what was delivered late could not be kept"),
        }
    }

    /// Keeps a window of a run that is over. Gives the number up to which its agent need not deliver any more.
    async fn keep_late(
        &self,
        run: &RunId,
        agent: Incarnation,
        sequence: u64,
        window: SealedWindow,
    ) -> Result<Option<u64>, StoreError> {
        let mut document = match self.known(run).await? {
            Known::Nothing => return Ok(Some(u64::MAX)),
            Known::Damaged => return Ok(None),
            Known::Over(document) => document,
        };
        let window = Arc::new(window);
        let facts = WindowFacts::default();
        let delivery =
            Delivery { run, agent, sequence, window: &window, facts: &facts, arrival: Arrival::Late };
        let kept = self.store.keep_window(delivery).await;
        if self.wrote(kept)? == Kept::New {
            document.progress.delivered_late.add(&window);
            let updated = self.store.update(&document).await;
            self.wrote(updated)?;
        }
        Ok(Some(sequence))
    }

    async fn known(&self, run: &RunId) -> Result<Known, StoreError> {
        Ok(match self.store.document(run).await {
            Ok(None) => Known::Nothing,
            Ok(Some(document)) if document.progress.over => Known::Over(Box::new(document)),
            Ok(Some(_)) | Err(StoreError::Damaged { .. }) => Known::Damaged,
            Err(error) => return Err(error),
        })
    }

    /// Remembers that an agent has delivered all that it has of the run at hand, until it works for another.
    fn has_delivered(&self, agent: Incarnation) {
        let mut delivered = lock(&self.delivered);
        if delivered.len() >= MAX_AGENTS {
            delivered.clear(); // They say it again when they are asked again.
        }
        delivered.insert(agent);
    }

    /// An agent has no run at hand.
    pub(crate) fn is_free(&self, agent: Incarnation) {
        lock(&self.delivered).remove(&agent);
    }
}
