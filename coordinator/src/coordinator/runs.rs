//! The runs that a coordinator has, in memory or in its store.

use std::sync::Arc;

use volley_plan::link::RunId;

use super::{Handle, Runs, Shared, lock};
use crate::document::{Progress, RunDocument, RunSummary};
use crate::driver::Input;
use crate::feed::{Feed, SharedFeed};
use crate::live::{AgentViews, Live};
use crate::past;
use crate::report::Recording;
use crate::store::{Listed, Page, StoreError};

/// Most runs that are over and stay in memory, and most ticks of all of them; a tick is half a kilobyte. The store has
/// all of them.
const MAX_FINISHED: usize = 50;
const MAX_FINISHED_TICKS: usize = 50_000;

/// Runs.
impl Shared {
    pub(crate) fn live(&self, run: &RunId) -> Option<Arc<Live>> {
        lock(&self.runs).by_id.get(run).map(|handle| handle.live.clone())
    }

    pub(super) fn handle(&self, run: &RunId) -> Option<Handle> {
        lock(&self.runs).by_id.get(run).cloned()
    }

    /// Hands something to a run's driver; gives it back if there is none.
    pub(crate) async fn hand_over(&self, run: &RunId, input: Input) -> Result<(), Input> {
        match self.handle(run) {
            Some(Handle { inbox, .. }) => inbox.send(input).await.map_err(|error| error.0),
            None => Err(input),
        }
    }

    pub(super) fn unfinished(&self) -> Vec<Arc<Live>> {
        let runs = lock(&self.runs);
        runs.by_id.values().map(|handle| &handle.live).filter(|live| !live.is_over()).cloned().collect()
    }

    /// Forgets runs that the store has dropped.
    pub(super) fn forget(&self, runs: &[RunId]) {
        for run in runs {
            tracing::info!(%run, "run dropped: only so many finished ones are kept");
            lock(&self.runs).by_id.remove(run);
            lock(&self.fleet).free_all(run);
        }
    }

    /// A run is over. Older ones that are over make room, but for those that only this process knows the end of.
    pub(crate) fn finished(&self, run: &RunId) {
        self.make_room_for(run);
        self.leave_queue(run);
    }

    fn make_room_for(&self, run: &RunId) {
        let mut runs = lock(&self.runs);
        runs.waiting.remove(run);
        runs.finished.push_back(run.clone());
        let Runs { by_id, finished, .. } = &mut *runs;
        let (mut count, mut ticks) = (0, 0);
        let mut room = Vec::new();
        for run in finished.iter().rev() {
            let Some(live) = by_id.get(run).map(|handle| &handle.live) else { continue };
            count += 1;
            ticks += live.feed().read(Feed::len);
            let is_one_too_many = count > MAX_FINISHED || ticks > MAX_FINISHED_TICKS && count > 1;
            if is_one_too_many && live.is_kept() {
                room.push(run.clone());
            }
        }
        for run in &room {
            by_id.remove(run);
        }
        finished.retain(|run| by_id.contains_key(run));
        drop(runs);
        // Agents of theirs that were lost and have not come back are waited for no longer.
        for run in &room {
            lock(&self.fleet).free_all(run);
        }
    }

    pub(crate) fn progress_of(&self, live: &Live) -> Progress {
        live.progress(&self.views_of(live), self.clock.now_ns())
    }

    pub(crate) fn document_of(&self, live: &Live) -> RunDocument {
        live.document(&self.views_of(live), self.clock.now_ns())
    }

    fn views_of(&self, live: &Live) -> AgentViews {
        let now_ns = self.clock.now_ns();
        let agents: Vec<_> = live.ask(|run| run.agents().map(|agent| agent.facts.incarnation).collect());
        let fleet = lock(&self.fleet);
        agents.into_iter().filter_map(|agent| Some((agent, fleet.view(agent, now_ns)?))).collect()
    }

    /// A run's document: as it is now, or as the store has it.
    pub(crate) async fn document(&self, run: &RunId) -> Result<Option<RunDocument>, StoreError> {
        match self.live(run).filter(|live| !live.is_kept()) {
            Some(live) => Ok(Some(self.document_of(&live))),
            None => self.store.document(run).await,
        }
    }

    /// All that is kept of a run that is over. One at a time is read: a long one takes a hundred megabytes meanwhile.
    pub(crate) async fn recording(&self, document: RunDocument) -> Result<Recording, StoreError> {
        let _turn = self.reading.lock().await;
        Recording::read(&*self.store, document).await
    }

    /// What a run's stream says; `None` if there is no such run.
    pub(crate) async fn feed(&self, run: &RunId) -> Result<Option<Arc<SharedFeed>>, StoreError> {
        if let Some(live) = self.live(run) {
            return Ok(Some(live.feed().clone()));
        }
        let Some(document) = self.store.document(run).await? else { return Ok(None) };
        let known = lock(&self.shelf).find(run);
        if let Some(feed) = known {
            return Ok(Some(feed));
        }
        let feed = past::feed(&*self.store, document).await?;
        lock(&self.shelf).put(run.clone(), feed.clone());
        Ok(Some(feed))
    }

    /// Runs, newest first; those that go on as they are now. Where a state is wanted there may be fewer than a page has.
    pub(crate) async fn summaries(&self, page: &Page) -> Result<Listed, StoreError> {
        let mut listed = self.store.list(page).await?;
        for summary in listed.runs.iter_mut().filter(|summary| !summary.over) {
            if let Some(live) = self.live(&summary.id) {
                *summary = Arc::new(RunSummary::from(&self.document_of(&live)));
            }
        }
        if let Some(state) = &page.wanted.state {
            listed.runs.retain(|summary| summary.state == *state);
        }
        Ok(listed)
    }

    /// The name of a run's plan.
    pub(crate) fn plan_name(&self, run: &RunId) -> Option<String> {
        self.live(run).map(|live| live.head.plan.name.clone())
    }
}
