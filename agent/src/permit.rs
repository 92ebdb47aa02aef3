//! What an agent may do for a run: a load is held against its own allow-list when it prepares for it, and again when it
//! is adjusted.

use std::sync::Arc;
use std::time::Duration;

use volley_plan::allow::{AllowList, Denied};
use volley_plan::{Adjust, Load, Plan};

/// A plan that is permitted here, and its load as it is by now.
#[derive(Clone, Debug)]
pub(crate) struct Permit {
    plan: Arc<Plan>,
    load: Load,
    allow: Arc<AllowList>,
}

impl Permit {
    /// Asks whether a plan may be done, adjusted as it is by now.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub(crate) fn ask(plan: Plan, adjusted: &[Adjust], allow: &Arc<AllowList>) -> Result<Self, String> {
        let mut load = plan.load.clone();
        for adjust in adjusted {
            load = load
                .adjusted(*adjust)
                .map_err(|error| format!("the load can't be adjusted on the agent as it was: {error}"))?;
        }
        let permit = Self { plan: Arc::new(plan), load, allow: Arc::clone(allow) };
        permit.check().map_err(|denied| format!("the agent's own allow-list forbids it: {denied}"))?;
        Ok(permit)
    }

    /// Takes notice of a load that is adjusted.
    ///
    /// # Errors
    /// The adjusted load is not permitted.
    pub(crate) fn adjust(&mut self, adjust: Adjust) -> Result<(), Denied> {
        match self.load.adjusted(adjust) {
            Ok(load) => self.load = load,
            Err(error) => tracing::warn!(%error, "a load that can't be adjusted stays as it is"),
        }
        self.check()
    }

    fn check(&self) -> Result<(), Denied> {
        self.allow.permits(&self.plan, &self.load)
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan)
    }

    /// What addresses are to be held against.
    pub(crate) fn addresses(&self) -> AllowList {
        self.allow.for_load(&self.load)
    }

    /// How long requests in flight are waited for at the end.
    pub(crate) fn drain(&self) -> Duration {
        self.plan.load.drain
    }

    /// How long the run's end may take from the word to end it on: the lease, and the time for requests in flight.
    pub(crate) fn patience(&self) -> Duration {
        self.plan.agents.lease.saturating_add(self.drain())
    }
}
