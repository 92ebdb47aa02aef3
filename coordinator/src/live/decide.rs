//! The way to a run's decider: what happens goes in, what is asked of it comes out.

use std::collections::{BTreeMap, BTreeSet};

use volley_lifecycle::{Action, AgentShare, CannotAdjust, Event, Run, State};
use volley_plan::Level as LoadLevel;
use volley_plan::link::Incarnation;

use super::{Inner, Live};
use crate::coordinator::AdjustRefused;
use crate::store::Standing;

/// What was decided beside the driver, for it to carry out. However long it doesn't come to it, this is no more than the
/// unacknowledged orders and some notes.
#[derive(Default)]
pub(super) struct Aside {
    actions: Vec<Action>,
    /// The orders among them. One that is to go out again before it has gone out at all goes out once.
    orders: BTreeSet<(Incarnation, u64)>,
}

impl Aside {
    fn add(&mut self, action: Action) {
        let is_new = match &action {
            Action::Send { agent, number, .. } => self.orders.insert((*agent, *number)),
            _ => true,
        };
        if is_new {
            self.actions.push(action);
        }
    }
}

impl Live {
    /// Lets the decider decide.
    pub(crate) fn handle(&self, now_ns: u64, event: Event) -> Vec<Action> {
        self.inner().run.handle(now_ns, event)
    }

    /// Lets the decider decide on something that need not wait until the driver comes to it. Gives the end of the lease
    /// that a ping's answer carries; what else follows, the driver is told to carry out.
    pub(crate) fn decide_beside(&self, now_ns: u64, event: Event) -> Option<u64> {
        let (lease_until_ns, is_news) = self.inner().decide_beside(now_ns, event);
        if is_news {
            self.decided.notify_one();
        }
        lease_until_ns
    }

    /// What was decided beside the driver since it last asked, in its order.
    pub(crate) fn take_aside(&self) -> Vec<Action> {
        std::mem::take(&mut self.inner().aside).actions
    }

    /// Whether the load can be brought to another level, as of the latest event.
    pub(crate) fn can_adjust(&self, to: LoadLevel) -> Result<(), AdjustRefused> {
        self.inner().can_adjust(to)
    }

    /// Brings the load to another level. Gives the run time from which on it is there.
    pub(crate) fn adjust(&self, now_ns: u64, to: LoadLevel) -> Result<u64, AdjustRefused> {
        let mut inner = self.inner();
        inner.can_adjust(to)?;
        let before = inner.run.adjusted().len();
        let (_, is_news) = inner.decide_beside(now_ns, Event::AdjustAsked { to });
        if is_news {
            self.decided.notify_one();
        }
        match inner.run.adjusted().get(before..) {
            Some([.., adjust]) => Ok(adjust.at_ns),
            // It came too late since the latest event, and now that is known.
            Some([]) | None => Err(inner.run.can_adjust(to).err().unwrap_or(CannotAdjust::Over).into()),
        }
    }

    /// Where the decider stands, for another process to go on from: with these agents, of which there is news, and those
    /// to whom it has given orders beyond the last one that was `saved`. What those orders do is in the run already, so it
    /// has to be in their shares.
    pub(crate) fn standing(
        &self,
        agents: impl Iterator<Item = Incarnation>,
        saved: &BTreeMap<Incarnation, u64>,
    ) -> Standing {
        let agents: BTreeSet<_> = agents.collect();
        let is_news = |share: &&AgentShare| {
            let agent = share.facts.incarnation;
            agents.contains(&agent) || share.last_order() > saved.get(&agent).copied().unwrap_or(0)
        };
        self.ask(|run| {
            let of_these = run.agents().filter(is_news);
            let agents = of_these.map(AgentShare::record).collect();
            Standing { run: run.record(), agents }
        })
    }

    /// Asks the decider.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Run) -> T) -> T {
        question(&self.inner().run)
    }

    pub(crate) fn is_gathering(&self) -> bool {
        self.ask(|run| matches!(run.state(), State::Gathering { .. }))
    }
}

impl Inner {
    fn can_adjust(&self, to: LoadLevel) -> Result<(), AdjustRefused> {
        match &self.queue {
            Some(_) => Err(AdjustRefused::Queued),
            None => Ok(self.run.can_adjust(to)?),
        }
    }

    /// The lease that a ping's answer carries, and whether the driver has something to carry out or has to look at the run
    /// anew, since it stands elsewhere or a deadline has come nearer.
    fn decide_beside(&mut self, now_ns: u64, event: Event) -> (Option<u64>, bool) {
        let stood = |run: &Run| (run.state().name(), run.deadline_ns().unwrap_or(u64::MAX));
        let (state, deadline_ns) = stood(&self.run);
        let mut lease_until_ns = None;
        for action in self.run.handle(now_ns, event) {
            match action {
                Action::Renew { until_ns, .. } => lease_until_ns = Some(until_ns),
                action => self.aside.add(action),
            }
        }
        let (state_now, deadline_now_ns) = stood(&self.run);
        let is_news = !self.aside.actions.is_empty() || state_now != state || deadline_now_ns < deadline_ns;
        (lease_until_ns, is_news)
    }
}
