//! How runs come to their agents: each waits for its turn, those that gather get whoever is free, and those that go on and
//! are elastic get who is left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;
use volley_lifecycle::{AgentFacts, Run, Settings as Times};
use volley_plan::AgentsWanted;
use volley_plan::link::{Incarnation, RunId};
use volley_stats::SECOND_NS;

use super::{Handle, Shared, lock};
use crate::at_work::AtWork;
use crate::driver::{Driver, Input};
use crate::fleet::AgentView;
use crate::live::Live;
use crate::queue::{Advanced, Turn};
use crate::view;

/// How long after an offer idle agents are offered again, though nothing has changed, in nanoseconds.
const OFFER_AGAIN_NS: u64 = SECOND_NS;
/// No agent's way makes a run begin later than so, in nanoseconds.
const LONGEST_LEAD_NS: u64 = 5 * SECOND_NS;

/// Waiting.
impl Shared {
    /// Lets a run begin when it is its turn, which may be at once. Until then it can be stopped.
    pub(super) fn begin_in_turn(self: &Arc<Self>, live: Arc<Live>, inbox: mpsc::Receiver<Input>) {
        let turn = lock(&self.queue).enter(live.head.id.clone(), live.head.plan.clone());
        self.offer();
        let shared = self.clone();
        let mut waiting = Waiting { live, inbox, turn };
        match waiting.turn.try_recv() {
            Ok(agents) => waiting.begin(&shared, agents),
            // Its turn can't be lost: it is told by what is still in the queue.
            Err(_) => drop(tokio::spawn(waiting.for_turn(shared))),
        }
    }

    /// Lets all runs begin whose way is free, and tells the others where they stand. Gives the idle agents that are kept
    /// for one of those.
    fn advance(&self) -> BTreeSet<Incarnation> {
        if self.is_stopping() {
            return BTreeSet::new();
        }
        let Advanced { places, spared } = {
            // The only two locks that are ever held together, always in this order.
            let mut queue = lock(&self.queue);
            self.fleet(|fleet, now_ns| queue.advance(fleet, now_ns))
        };
        for (run, place) in places {
            let Some(live) = self.live(&run) else { continue };
            if live.stands_at(place) {
                let snapshot = view::snapshot(self.progress_of(&live));
                live.feed().publish(|feed| feed.state(snapshot));
            }
        }
        spared
    }

    /// A run goes on that the coordinator before this one began: its target and its agents are its, these as soon as they
    /// join.
    pub(super) fn goes_on(&self, live: &Live, agents: impl IntoIterator<Item = Incarnation>) {
        let run = &live.head.id;
        lock(&self.queue).goes_on(run.clone(), live.head.plan.clone());
        self.fleet(|fleet, _| fleet.expect(run, agents));
        lock(&self.runs).waiting.insert(run.clone());
    }

    /// A run is over, or will never begin: others may have waited for it.
    pub(super) fn leave_queue(&self, run: &RunId) {
        lock(&self.queue).leave(run);
        self.offer();
    }
}

/// Beginning.
impl Shared {
    /// Hands a run to its decider and its driver, with these agents.
    pub(super) fn begin_with(
        self: &Arc<Self>,
        live: Arc<Live>,
        inbox: mpsc::Receiver<Input>,
        agents: Vec<AgentFacts>,
    ) {
        let (id, plan) = (live.head.id.clone(), live.head.plan.clone());
        let (now_ns, settings) = (self.clock.now_ns(), self.times_for(&plan.agents));
        let (run, actions) = Run::new(now_ns, id, plan, rand::random(), settings, agents);
        live.begin(run);
        tokio::spawn(Driver::new(self.clone(), live).drive(actions, inbox));
    }

    /// The times that a run begins with. Orders to start are there before the start, however long their way is.
    fn times_for(&self, wanted: &AgentsWanted) -> Times {
        let way_ns = self.fleet(|fleet, _| fleet.longest_way_ns(wanted));
        let times = self.settings.lifecycle;
        Times { lead_ns: times.lead_ns.max(way_ns.saturating_mul(2).min(LONGEST_LEAD_NS)), ..times }
    }
}

/// A run that waits for its turn.
struct Waiting {
    live: Arc<Live>,
    inbox: mpsc::Receiver<Input>,
    turn: Turn,
}

impl Waiting {
    async fn for_turn(mut self, shared: Arc<Shared>) {
        let live = self.live.clone();
        loop {
            tokio::select! {
                biased;
                () = live.stop.notified() => return self.cancel(&shared),
                turn = &mut self.turn => match turn {
                    Ok(agents) => return self.begin(&shared, agents),
                    Err(_) => return,
                },
                // Nobody has anything to say to a run that has no agents, until the coordinator ends.
                input = self.inbox.recv() => if input.is_none() { return },
            }
        }
    }

    /// Ends it in the way of every run that is stopped before it began.
    fn cancel(mut self, shared: &Arc<Shared>) {
        let run = &self.live.head.id;
        shared.leave_queue(run);
        // Its turn may have come at this very moment.
        for facts in self.turn.try_recv().unwrap_or_default() {
            shared.fleet(|fleet, _| fleet.free(facts.incarnation, run));
        }
        self.live.stop.notify_one();
        self.begin(shared, Vec::new());
    }

    fn begin(self, shared: &Arc<Shared>, agents: Vec<AgentFacts>) {
        let Self { live, inbox, .. } = self;
        tracing::info!(run = %live.head.id, plan = %live.head.plan.name, agents = agents.len(), "run begins");
        lock(&shared.runs).waiting.insert(live.head.id.clone());
        shared.begin_with(live, inbox, agents);
        // Agents that came in the meantime would otherwise be offered only when the next one does.
        shared.offer();
    }
}

/// Offering.
impl Shared {
    /// Tells those that look for agents of a change, and offers idle ones to the runs that wait for some.
    pub(crate) fn offer(&self) {
        self.fleet_changed();
        self.offer_to_all();
    }

    /// Offers idle agents where nothing has changed, since a run may not have taken them when it was offered them, or may
    /// want more by now. Whoever is idle says so each half second; all runs are looked at once a second. True if they were.
    pub(crate) fn offer_again(&self) -> bool {
        let (now_ns, offered_ns) = (self.clock.now_ns(), self.offered_ns.load(Ordering::Relaxed));
        let is_due = now_ns.saturating_sub(offered_ns) >= OFFER_AGAIN_NS;
        if is_due {
            self.offer_to_all();
        }
        is_due
    }

    /// Offers idle agents to the runs that wait for some, which mostly are none: first to those that gather, then in the
    /// order of the queue, and who is left to those that go on and take more.
    fn offer_to_all(&self) {
        self.offered_ns.store(self.clock.now_ns(), Ordering::Relaxed);
        let wanting = self.wanting();
        for (handle, _) in wanting.iter().filter(|(_, want)| *want == Want::ToBegin) {
            let run = &handle.live.head.id;
            let wanted = &handle.live.head.plan.agents;
            let agents = self.fleet(|fleet, now_ns| fleet.claim(run, wanted, &BTreeSet::new(), now_ns));
            self.offer_to(handle, agents);
        }
        let spared = self.advance();
        for (handle, want) in &wanting {
            let Want::More(room) = *want else { continue };
            let run = &handle.live.head.id;
            let wanted = &handle.live.head.plan.agents;
            // Whoever it has had or let go it does not take again.
            let known = handle.live.ask(|run| run.agents().map(|agent| agent.facts.incarnation).collect());
            let others = spared.union(&known).copied().collect();
            let agents = self.fleet(|fleet, now_ns| fleet.claim_some(run, wanted, room, &others, now_ns));
            self.offer_to(handle, agents);
        }
    }

    /// The runs that wait for agents, the oldest first. Those that will never want one again are left out from now on.
    fn wanting(&self) -> Vec<(Handle, Want)> {
        let handles: Vec<_> = {
            let runs = lock(&self.runs);
            runs.waiting.iter().filter_map(|id| runs.by_id.get(id).cloned()).collect()
        };
        let wanting = handles.into_iter().map(|handle| {
            let want = Want::of(&handle.live);
            (handle, want)
        });
        let (wanting, done): (Vec<_>, Vec<_>) = wanting.partition(|(_, want)| *want != Want::NeverAgain);
        for (handle, _) in done {
            lock(&self.runs).waiting.remove(&handle.live.head.id);
        }
        wanting
    }

    fn offer_to(&self, handle: &Handle, agents: Vec<AgentFacts>) {
        if agents.is_empty() {
            return;
        }
        if let Err(error) = handle.inbox.try_send(Input::Offered(agents)) {
            // Its driver is busy or gone: there will be another occasion.
            let Input::Offered(agents) = error.into_inner() else { return };
            self.fleet(|fleet, _| {
                for facts in agents {
                    fleet.free(facts.incarnation, &handle.live.head.id);
                }
            });
        }
    }

    /// The idle agents of a run that has waited for more long enough: they are its.
    pub(crate) fn idle_agents_for(&self, run: &RunId, wanted: &AgentsWanted) -> Vec<AgentFacts> {
        let most = wanted.max.map_or(usize::MAX, |max| max as usize);
        self.fleet(|fleet, now_ns| fleet.claim_some(run, wanted, most, &BTreeSet::new(), now_ns))
    }
}

/// Retiring.
impl Shared {
    /// An agent is to be relieved of its share in the run that it works for.
    pub(crate) async fn relieve(&self, agent: Incarnation) {
        if let Some(run) = self.fleet(|fleet, _| fleet.run_of(agent)) {
            // A run that is over has nothing to relieve it of.
            let _ = self.hand_over(&run, Input::Leaving { agent }).await;
        }
    }

    /// Says whether an agent is to get no further run; one that works for a run is relieved of its share there. Gives how it
    /// is now; `None` if there is no such agent.
    pub(crate) async fn drain(self: &Arc<Self>, agent: Incarnation, drain: bool) -> Option<AgentView> {
        let view = self.fleet(|fleet, now_ns| fleet.drain(agent, drain, now_ns))?;
        tracing::info!(%agent, name = %view.facts.name, drain, "agent told whether to drain");
        let shared = self.clone();
        let follow = async move {
            if drain {
                shared.relieve(agent).await;
            }
            shared.offer();
        };
        // A task of its own, since this must follow though the caller goes away.
        let _ = tokio::spawn(follow).await;
        self.fleet(|fleet, now_ns| fleet.view(agent, now_ns))
    }
}

/// Looking.
impl Shared {
    /// How these agents are in the runs that they work for, in their order. Each run is asked once.
    pub(crate) fn at_work(&self, agents: &[AgentView]) -> Vec<AtWork> {
        let runs: BTreeSet<_> = agents.iter().filter_map(|agent| agent.run.as_ref()).collect();
        let lives = runs.into_iter().filter_map(|run| Some((run, self.live(run)?)));
        let now_ns = self.clock.now_ns();
        let mut known: BTreeMap<_, _> =
            lives.map(|(run, live)| (run, AtWork::of_all(&live, now_ns))).collect();
        let at_work =
            |agent: &AgentView| known.get_mut(agent.run.as_ref()?)?.remove(&agent.facts.incarnation);
        agents.iter().map(at_work).map(Option::unwrap_or_default).collect()
    }
}

/// What a run wants of the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// It begins as soon as there are enough.
    ToBegin,
    /// It goes on, and takes so many more.
    More(usize),
    /// Nothing now.
    Nothing,
    /// Nothing from now on.
    NeverAgain,
}

impl Want {
    fn of(live: &Live) -> Self {
        let wanted = &live.head.plan.agents;
        if live.is_gathering() {
            return Self::ToBegin;
        }
        if !wanted.elastic || live.is_over() {
            return Self::NeverAgain;
        }
        let (wants, has) =
            live.ask(|run| (run.wants_agents(), run.agents().filter(|a| a.state.is_live()).count()));
        let room = wanted.max.map_or(usize::MAX, |max| (max as usize).saturating_sub(has));
        if wants && room > 0 { Self::More(room) } else { Self::Nothing }
    }
}
