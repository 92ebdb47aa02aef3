//! What is decided beside a run's driver, since it must not wait until the store has done what the driver asked of it: a
//! slow disk holds results up, never leases. What follows from it beside the answer, the driver carries out.

use tokio::sync::mpsc;
use volley_lifecycle::Event;
use volley_plan::link::{Incarnation, Lease, RunId};
use volley_plan::{Adjust, Denied, Level, Plan};

use super::{AdjustRefused, Handle, Shared};
use crate::driver::{Input, Pong};
use crate::live::Decided;

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
    pub(crate) async fn answer_ping(&self, run: &RunId, ping: Ping, pong: Pong) -> bool {
        let Some(Handle { live, inbox }) = self.handle(run) else { return false };
        let Ping { agent, acknowledged, start_ns } = ping;
        let event = Event::Pinged { agent, acknowledged, start_ns };
        let decided = live.decide_beside(self.clock.now_ns(), event);
        let lease = decided.lease_until_ns.map(|until_ns| Lease { run: run.clone(), until_ns });
        self.pong(agent, pong, lease);
        pass_on(&inbox, decided).await;
        true
    }
}

impl Shared {
    /// Adjusts a run's load. Gives the run time from which on it is another one, in nanoseconds.
    pub(super) async fn adjust(&self, run: &RunId, to: Level) -> Result<u64, AdjustRefused> {
        let not_found = || AdjustRefused::NotFound(run.clone());
        let Handle { live, inbox } = self.handle(run).ok_or_else(not_found)?;
        self.check_level(&live.head.plan, to)?;
        let (at_ns, decided) = live.adjust(self.clock.now_ns(), to)?;
        tracing::info!(%run, %to, at_ns, "run adjusted");
        pass_on(&inbox, decided).await;
        Ok(at_ns)
    }
}

impl Shared {
    /// Whether a plan's target may be loaded so hard. What can't be adjusted so at all, the decider says.
    fn check_level(&self, plan: &Plan, to: Level) -> Result<(), Denied> {
        // How hard a level is doesn't depend on when it begins.
        match plan.load.adjusted(Adjust { at_ns: 0, to }) {
            Ok(load) => self.settings.allow.permits(&plan.target, &load),
            Err(_) => Ok(()),
        }
    }
}

/// Has the driver do what follows.
async fn pass_on(inbox: &mpsc::Sender<Input>, decided: Decided) {
    let Decided { actions, is_news, .. } = decided;
    if is_news || !actions.is_empty() {
        // A driver that is gone has nothing to do any more.
        let _ = inbox.send(Input::Decided(actions)).await;
    }
}
