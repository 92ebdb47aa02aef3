//! What people change of runs: what they say of them, and that they are to go.

use volley_plan::link::RunId;

use super::{Shared, lock};
use crate::document::{Marks, MarksPatch};
use crate::store::StoreError;

/// Why a run is not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// What it is to say is too much.
    #[error("{0}")]
    Marks(String),
    /// It can't be.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Shared {
    /// Changes what people say of a run. One change at a time, since it is read, changed and written.
    pub(crate) async fn mark(&self, run: &RunId, patch: MarksPatch) -> Result<(), ChangeError> {
        let _turn = self.marking.lock().await;
        let document = self.document(run).await?.ok_or_else(|| StoreError::NotFound(run.clone()))?;
        let marks = document.marks().patched(patch).map_err(ChangeError::Marks)?;
        self.keep_marks(run, marks).await?;
        Ok(())
    }

    async fn keep_marks(&self, run: &RunId, marks: Marks) -> Result<(), StoreError> {
        let marked = self.store.mark(run, marks.clone()).await;
        self.wrote(marked)?;
        if let Some(live) = self.live(run) {
            *live.head.marks() = marks;
        }
        Ok(())
    }

    /// Takes a run away that is over, with all that is known of it.
    pub(crate) async fn remove(&self, run: &RunId) -> Result<(), StoreError> {
        let removed = self.store.remove(run).await;
        self.wrote(removed)?;
        tracing::info!(%run, "run removed");
        self.forget(std::slice::from_ref(run));
        lock(&self.shelf).remove(run);
        Ok(())
    }
}
