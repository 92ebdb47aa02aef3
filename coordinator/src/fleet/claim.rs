//! Which agents work for which run.

use std::collections::BTreeSet;

use volley_lifecycle::AgentFacts;
use volley_plan::AgentsWanted;
use volley_plan::link::{Incarnation, RunId};

use super::member::{Duty, Member};
use super::{AgentView, Fleet};

/// How many agents could take part in a run, and how many could if they weren't busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strength {
    /// Idle and responsive.
    pub(crate) idle: usize,
    /// Working for a run, and connected.
    pub(crate) busy: usize,
}

impl Strength {
    /// All of them.
    pub(crate) fn in_all(self) -> usize {
        self.idle + self.busy
    }
}

impl Fleet {
    /// Gives idle agents to a run that begins: at least `wanted.min` of those that it wants, and none if there are fewer,
    /// so that two runs that wait for agents never each hold some that the other needs; at most `wanted.max`, those first
    /// that can do most. `spared` are for others.
    pub(crate) fn claim(
        &mut self,
        run: &RunId,
        wanted: &AgentsWanted,
        spared: &BTreeSet<Incarnation>,
        now_ns: u64,
    ) -> Vec<AgentFacts> {
        let most = wanted.max.map_or(usize::MAX, |max| max as usize);
        let found = self.find(wanted, spared, now_ns);
        if found.len() < wanted.min.max(1) as usize { Vec::new() } else { self.take(run, found, most) }
    }

    /// Gives idle agents to a run that takes as many as there are, up to `most`.
    pub(crate) fn claim_some(
        &mut self,
        run: &RunId,
        wanted: &AgentsWanted,
        most: usize,
        spared: &BTreeSet<Incarnation>,
        now_ns: u64,
    ) -> Vec<AgentFacts> {
        let found = self.find(wanted, spared, now_ns);
        self.take(run, found, most)
    }

    /// Idle agents that a run may have, those first that can do most.
    fn find(&self, wanted: &AgentsWanted, spared: &BTreeSet<Incarnation>, now_ns: u64) -> Vec<Incarnation> {
        let may = |member: &Member| {
            let is_spared = spared.contains(&member.facts.incarnation);
            member.is_available(now_ns) && member.fits(wanted) && !is_spared
        };
        let mut found: Vec<_> = self.members.values().filter(|member| may(member)).collect();
        let might = |member: &Member| {
            let AgentFacts { weight, workers, capacity, .. } = member.facts;
            (capacity, weight.unwrap_or(workers))
        };
        found.sort_by_key(|member| std::cmp::Reverse(might(member)));
        found.iter().map(|member| member.facts.incarnation).collect()
    }

    fn take(&mut self, run: &RunId, agents: Vec<Incarnation>, most: usize) -> Vec<AgentFacts> {
        let mut taken: Vec<_> = agents.into_iter().take(most).collect();
        // Whoever deals to them does so in this order.
        taken.sort_unstable();
        let mut facts = Vec::new();
        for agent in taken {
            if let Some(member) = self.members.get_mut(&agent) {
                member.duty = Duty::Busy(run.clone());
                facts.push(member.facts.clone());
            }
        }
        facts
    }

    /// The idle agents that a plan wants.
    pub(crate) fn idle(&self, wanted: &AgentsWanted, now_ns: u64) -> impl Iterator<Item = Incarnation> {
        let fitting = move |member: &&Member| member.is_available(now_ns) && member.fits(wanted);
        self.members.values().filter(fitting).map(|member| member.facts.incarnation)
    }

    /// The longest round trip to one that a plan wants and may get, as far as that is measured, in nanoseconds.
    pub(crate) fn longest_way_ns(&self, wanted: &AgentsWanted) -> u64 {
        let may = |member: &&Member| member.link.is_some() && !member.is_retiring() && member.fits(wanted);
        let members = self.members.values().filter(may);
        members.filter_map(|member| member.offset.way_ns()).max().unwrap_or(0)
    }

    /// How many of those that a plan wants could take part in a run now, or could if they weren't busy.
    pub(crate) fn strength(&self, wanted: &AgentsWanted, now_ns: u64) -> Strength {
        let mut strength = Strength::default();
        for member in self.members.values().filter(|member| member.fits(wanted)) {
            strength.idle += usize::from(member.is_available(now_ns));
            strength.busy += usize::from(member.is_busy());
        }
        strength
    }

    /// These agents work for a run that the coordinator before this one began: they are its as soon as they join.
    pub(crate) fn expect(&mut self, run: &RunId, agents: impl IntoIterator<Item = Incarnation>) {
        for agent in agents {
            match self.members.get_mut(&agent) {
                Some(member) => member.duty = Duty::Busy(run.clone()),
                None => drop(self.expected.insert(agent, run.clone())),
            }
        }
    }

    /// Takes an agent back from a run; true if it was that run's.
    pub(crate) fn free(&mut self, agent: Incarnation, run: &RunId) -> bool {
        self.expected.retain(|other, of| *other != agent || of != run);
        let Some(member) = self.members.get_mut(&agent) else { return false };
        let is_its = member.duty == Duty::Busy(run.clone());
        if is_its {
            member.duty = Duty::Idle;
        }
        is_its
    }

    /// Takes all agents back from a run that is forgotten.
    pub(crate) fn free_all(&mut self, run: &RunId) {
        self.expected.retain(|_, of| of != run);
        for member in self.members.values_mut().filter(|member| member.duty == Duty::Busy(run.clone())) {
            member.duty = Duty::Idle;
        }
    }

    /// The run that an agent works for.
    pub(crate) fn run_of(&self, agent: Incarnation) -> Option<RunId> {
        match &self.members.get(&agent)?.duty {
            Duty::Busy(run) => Some(run.clone()),
            Duty::Idle => None,
        }
    }

    /// Says whether an agent is to get no further run; `None` if there is no such agent, else how it is now.
    pub(crate) fn drain(&mut self, agent: Incarnation, drain: bool, now_ns: u64) -> Option<AgentView> {
        let member = self.members.get_mut(&agent)?;
        member.draining = drain;
        Some(member.view(now_ns))
    }

    /// Notes whether an agent says that it is about to end; true if that is new.
    pub(crate) fn is_leaving(&mut self, agent: Incarnation, leaving: bool) -> bool {
        let Some(member) = self.members.get_mut(&agent) else { return false };
        let is_new = leaving && !member.leaving;
        member.leaving = leaving;
        is_new
    }
}
