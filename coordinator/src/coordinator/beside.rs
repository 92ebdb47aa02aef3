//! What is decided beside a run's driver, since it must not wait until the store has done what the driver asked of it: a
//! slow disk holds results up, never leases. What follows from it beside the answer, the driver carries out.

use volley_lifecycle::Event;
use volley_plan::link::{Incarnation, Lease, RunId};
use volley_plan::{Denied, Level, Plan};

use super::{AdjustRefused, Handle, Shared, allowed};
#[cfg(test)]
use crate::driver::Input;
use crate::driver::Pong;

/// What a ping says of the run at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ping {
    /// Who pinged.
    pub(crate) agent: Incarnation,
    /// The highest order such that it and all before it have been taken.
    pub(crate) acknowledged: u64,
    /// Run time 0 on the coordinator's clock, as the agent has it.
    pub(crate) start_ns: Option<u64>,
}

impl Shared {
    /// Answers a ping with the lease that the run gives. False if there is no such run here, and no answer.
    pub(crate) fn answer_ping(&self, run: &RunId, ping: Ping, pong: Pong) -> bool {
        let Some(Handle { live, .. }) = self.handle(run) else { return false };
        let Ping { agent, acknowledged, start_ns } = ping;
        let event = Event::Pinged { agent, acknowledged, start_ns };
        let lease_until_ns = live.decide_beside(self.clock.now_ns(), event);
        let lease = lease_until_ns.map(|until_ns| Lease { run: run.clone(), until_ns });
        self.pong(agent, pong, lease);
        true
    }
}

impl Shared {
    /// Adjusts a run's load. Gives the run time from which on it is another one, in nanoseconds.
    pub(super) async fn adjust(&self, run: &RunId, to: Level) -> Result<u64, AdjustRefused> {
        let not_found = || AdjustRefused::NotFound(run.clone());
        let Handle { live, .. } = self.handle(run).ok_or_else(not_found)?;
        live.can_adjust(to)?;
        self.check_level(&live.head.plan, to).await?;
        let at_ns = live.adjust(self.clock.now_ns(), to)?;
        tracing::info!(%run, %to, at_ns, "run adjusted");
        Ok(at_ns)
    }
}

impl Shared {
    /// Whether a plan's target may be loaded so hard. What was due before was held against the list before.
    async fn check_level(&self, plan: &Plan, to: Level) -> Result<(), Denied> {
        allowed::permits(&self.settings.allow.for_level(to), plan).await
    }
}

#[cfg(test)]
impl Shared {
    /// Gives a run's driver so much to do that whoever has more for it waits.
    pub(crate) fn keep_busy(&self, run: &RunId) {
        let inbox = self.handle(run).expect("the run is there").inbox;
        while inbox.try_send(Input::Offered(Vec::new())).is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use volley_plan::{Adjust, AllowList};

    use super::*;
    use crate::{Coordinator, MemoryStore, Settings};

    /// Whether a run can be brought to a level at one time or another, its decider says; the list is asked in any case.
    #[tokio::test]
    async fn a_level_is_held_against_the_list_whatever_load_it_makes() {
        let allow = AllowList::parse(["10.0.0.1 max 100/s"]).unwrap();
        let settings = Settings { allow: Arc::new(allow), ..Settings::default() };
        let coordinator = Coordinator::new(Arc::new(MemoryStore::default()), settings);
        let plan =
            volley_plan::parse("target: http://10.0.0.1/\nrate: 1/s\narrivals: poisson\nduration: 24h")
                .unwrap();
        let to = Level::Rate("1000000/s".parse().unwrap());
        assert!(plan.load.adjusted(Adjust { at_ns: 0, to }).is_err(), "too many for a day");
        let said = coordinator.shared.check_level(&plan, to).await;
        assert!(matches!(said, Err(Denied::Rate { .. })), "{said:?}");
        let to = Level::Rate("100/s".parse().unwrap());
        assert_eq!(coordinator.shared.check_level(&plan, to).await, Ok(()));
    }
}
