//! The way to a run's decider: what happens goes in, what is asked of it comes out.

use std::collections::BTreeSet;

use volley_lifecycle::{Action, AgentShare, CannotAdjust, Event, Run, State};
use volley_plan::Level as LoadLevel;
use volley_plan::link::{Incarnation, WindowFacts};

use super::{Inner, Live};
use crate::coordinator::AdjustRefused;
use crate::store::Standing;

/// What follows from something that was decided beside the driver.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decided {
    /// The lease that a ping's answer carries.
    pub(crate) lease_until_ns: Option<u64>,
    /// What the driver has to carry out.
    pub(crate) actions: Vec<Action>,
    /// The driver has to look at the run anew: it stands elsewhere, or a deadline has come nearer.
    pub(crate) is_news: bool,
}

impl Live {
    /// Lets the decider decide.
    pub(crate) fn handle(&self, now_ns: u64, event: Event) -> Vec<Action> {
        self.inner().run.handle(now_ns, event)
    }

    /// Lets the decider decide on something that need not wait until the driver comes to it.
    pub(crate) fn decide_beside(&self, now_ns: u64, event: Event) -> Decided {
        self.inner().decide_beside(now_ns, event)
    }

    /// Brings the load to another level. Gives the run time from which on it is there.
    pub(crate) fn adjust(&self, now_ns: u64, to: LoadLevel) -> Result<(u64, Decided), AdjustRefused> {
        let mut inner = self.inner();
        if inner.queue.is_some() {
            return Err(AdjustRefused::Queued);
        }
        inner.run.can_adjust(to)?;
        let before = inner.run.adjusted().len();
        let decided = inner.decide_beside(now_ns, Event::AdjustAsked { to });
        match inner.run.adjusted().get(before..) {
            Some([.., adjust]) => Ok((adjust.at_ns, decided)),
            // It came too late since the latest event, and now that is known.
            Some([]) | None => Err(inner.run.can_adjust(to).err().unwrap_or(CannotAdjust::Over).into()),
        }
    }

    /// Where the decider stands, for another process to go on from: with these agents, of which there is news.
    pub(crate) fn standing(&self, agents: impl Iterator<Item = Incarnation>) -> Standing {
        let agents: BTreeSet<_> = agents.collect();
        self.ask(|run| {
            let of_these = run.agents().filter(|share| agents.contains(&share.facts.incarnation));
            let agents = of_these.map(AgentShare::record).collect();
            Standing { run: run.record(), agents }
        })
    }

    /// What an agent has reported in all.
    pub(crate) fn reported_by(&self, agent: Incarnation) -> WindowFacts {
        let of_agent =
            |run: &Run| Some(run.agents().find(|share| share.facts.incarnation == agent)?.reported);
        self.ask(of_agent).unwrap_or_default()
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
    fn decide_beside(&mut self, now_ns: u64, event: Event) -> Decided {
        let stood = |run: &Run| (run.state().name(), run.deadline_ns().unwrap_or(u64::MAX));
        let (state, deadline_ns) = stood(&self.run);
        let mut decided = Decided::default();
        for action in self.run.handle(now_ns, event) {
            match action {
                Action::Renew { until_ns, .. } => decided.lease_until_ns = Some(until_ns),
                action => decided.actions.push(action),
            }
        }
        let (state_now, deadline_now_ns) = stood(&self.run);
        decided.is_news = state_now != state || deadline_now_ns < deadline_ns;
        decided
    }
}
