//! The books of the simulated world: who had leave for what, by the orders that were saved; what the target got; and what
//! must be true of both after every event.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use volley_lifecycle::{Action, AgentShare, Run};
use volley_plan::Accounts;
use volley_plan::link::{Incarnation, Order};
use volley_plan::shape::StripeSet;
use volley_stats::SECOND_NS;

use crate::engine::Sent;

/// Something that must never be, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong(pub(crate) String);

/// Fails with a sentence unless `holds`.
pub(crate) fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(Wrong(otherwise())) }
}

/// What is known of a run before an event.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    accounts: Accounts,
    is_finished: bool,
    lost: Vec<Incarnation>,
}

impl Before {
    pub(crate) fn of(run: &Run) -> Self {
        let lost = run.agents().filter(|agent| agent.was_lost());
        Self {
            accounts: run.accounts(),
            is_finished: run.outcome().is_some(),
            lost: lost.map(|agent| agent.facts.incarnation).collect(),
        }
    }
}

/// Stripes from one run time to another.
#[derive(Clone, Debug)]
struct Leg {
    span_ns: Range<u64>,
    stripes: StripeSet,
}

/// What one agent had leave for, and what it sent.
#[derive(Clone, Debug, Default)]
struct Agent {
    /// The share that it was told to prepare for.
    prepared: Option<StripeSet>,
    legs: Vec<Leg>,
    /// The end of its furthest lease, in run time.
    lease_until_ns: u64,
    acknowledged: u64,
    /// The orders that were made, and those of them that were saved, or went out unsaved.
    made: BTreeSet<u64>,
    ordered: BTreeSet<u64>,
    /// Orders that take something away, with their times: none of its leases goes beyond before it knows of them.
    bounds: Vec<(u64, u64)>,
    granted: Vec<Range<u64>>,
    /// By the second in which it was due.
    sent: BTreeMap<u32, u64>,
    /// What it sent was due before this.
    sent_until_ns: u64,
}

/// What iterations a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Arrivals, which are due.
    Open,
    /// Of users, so many in all, which are granted.
    Granted,
    /// Of users, so many each.
    Each,
    /// Of users, as many as they do in the time; nobody numbers them.
    Timed,
}

/// The books of one run.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    kind: Kind,
    /// Clocks are known well. An agent whose clock is off by more than messages mostly take may miss what then is another's
    /// to send.
    knows_clocks: bool,
    agents: BTreeMap<Incarnation, Agent>,
    sent: BTreeMap<u64, (Incarnation, Sent)>,
    /// The latest time of a change.
    changed_ns: u64,
    /// Who has what has changed since it was checked last.
    has_new_legs: bool,
    /// How far leases of earlier coordinators may reach, as far as the present one knows.
    assumed_ns: u64,
    /// Iterations that were sent.
    pub(crate) sent_count: u64,
}

impl Books {
    pub(crate) fn new(kind: Kind, knows_clocks: bool) -> Self {
        Self {
            kind,
            knows_clocks,
            agents: BTreeMap::new(),
            sent: BTreeMap::new(),
            changed_ns: 0,
            has_new_legs: false,
            assumed_ns: 0,
            sent_count: 0,
        }
    }

    /// A coordinator goes on that knows only how far leases may reach: to this run time.
    pub(crate) fn resumed(&mut self, leases_until_ns: u64) {
        self.assumed_ns = self.assumed_ns.max(leases_until_ns);
    }

    /// An order was saved.
    pub(crate) fn ordered(&mut self, agent: Incarnation, number: u64, order: &Order) -> Result<(), Wrong> {
        let book = self.agents.entry(agent).or_default();
        if !book.ordered.insert(number) {
            return Ok(()); // It is sent again.
        }
        self.has_new_legs |= matches!(order, Order::Start { .. } | Order::Change { .. });
        match order {
            Order::Prepare { share, .. } => book.prepared = Some(share.stripes.clone()),
            Order::Start { from_ns, .. } => {
                if let Some(stripes) = book.prepared.take() {
                    book.legs.push(Leg { span_ns: *from_ns..u64::MAX, stripes });
                }
            }
            Order::Change { at_ns, share, .. } => {
                let earlier_ns = self.changed_ns;
                must(*at_ns >= earlier_ns, || {
                    format!("a change at {at_ns} after one at {earlier_ns}: shares overlap")
                })?;
                self.changed_ns = *at_ns;
                book.bounds.push((number, *at_ns));
                if let Some(prepared) = &mut book.prepared {
                    *prepared = share.stripes.clone(); // It has not been told to start.
                } else {
                    book.end(*at_ns);
                    book.legs.push(Leg { span_ns: *at_ns..u64::MAX, stripes: share.stripes.clone() });
                }
            }
            Order::Stop { at_ns, .. } => {
                book.bounds.push((number, *at_ns));
                book.end(*at_ns);
            }
            Order::Grant { from, to, .. } => self.grant(agent, *from..*to)?,
            // It has said its last word, so it sends nothing more.
            Order::Release if self.kind == Kind::Open => book.end(book.sent_until_ns),
            Order::Release => book.end(0),
        }
        Ok(())
    }

    fn grant(&mut self, agent: Incarnation, iterations: Range<u64>) -> Result<(), Wrong> {
        for (other, book) in &self.agents {
            let overlaps = |known: &&Range<u64>| known.start < iterations.end && iterations.start < known.end;
            let twice = book.granted.iter().find(overlaps);
            must(iterations.is_empty() || twice.is_none(), || {
                format!("{iterations:?} is granted to {agent} and was to {other}")
            })?;
        }
        self.agents.entry(agent).or_default().granted.push(iterations);
        Ok(())
    }

    /// All orders of one event are saved: no stripe may be in two hands at any time.
    pub(crate) fn check_shares(&mut self) -> Result<(), Wrong> {
        if !std::mem::take(&mut self.has_new_legs) {
            return Ok(());
        }
        let legs = self.agents.iter().flat_map(|(agent, book)| book.legs.iter().map(move |leg| (agent, leg)));
        let legs: Vec<_> = legs.filter(|(_, leg)| !leg.span_ns.is_empty()).collect();
        for (place, (agent, leg)) in legs.iter().enumerate() {
            for (other, known) in legs.iter().skip(place + 1) {
                let overlap_ns =
                    leg.span_ns.start.max(known.span_ns.start)..leg.span_ns.end.min(known.span_ns.end);
                let both = || common(leg.stripes.held(), known.stripes.held());
                let stripe = if overlap_ns.is_empty() { None } else { both() };
                must(stripe.is_none(), || {
                    format!("stripe {stripe:?} is {agent}'s and {other}'s in {overlap_ns:?}")
                })?;
            }
        }
        Ok(())
    }

    /// An agent says how far it has taken its orders.
    pub(crate) fn acknowledged(&mut self, agent: Incarnation, number: u64) {
        let book = self.agents.entry(agent).or_default();
        book.acknowledged = book.acknowledged.max(number);
    }

    /// A request of an iteration reaches the target.
    pub(crate) fn sent(&mut self, agent: Incarnation, sent: Sent) -> Result<(), Wrong> {
        self.sent_count += 1;
        let Sent { n, place, due_ns, .. } = sent;
        if self.kind != Kind::Timed
            && let Some((other, _)) = self.sent.insert(n, (agent, sent))
        {
            return Err(Wrong(format!("iteration {n}, due at {due_ns}, was sent by {other} and by {agent}")));
        }
        let Some(book) = self.agents.get_mut(&agent) else {
            return Err(Wrong(format!("{agent} sends without any order")));
        };
        let second = u32::try_from(due_ns / SECOND_NS).unwrap_or(u32::MAX);
        *book.sent.entry(second).or_default() += 1;
        book.sent_until_ns = book.sent_until_ns.max(due_ns + 1);
        must(due_ns < book.lease_until_ns, || {
            format!("{agent} sends {n}, due at {due_ns}, beyond its lease until {}", book.lease_until_ns)
        })?;
        must(self.kind != Kind::Granted || book.granted.iter().any(|range| range.contains(&n)), || {
            format!("{agent} does iteration {n}, which it was not granted")
        })?;
        let holds = |leg: &Leg| leg.span_ns.contains(&due_ns) && leg.stripes.contains(place);
        if book.legs.iter().any(holds) {
            return Ok(());
        }
        // One that hears late of a stop goes on with what nobody else has.
        let was_its = book.legs.iter().any(|leg| leg.span_ns.end <= due_ns && leg.stripes.contains(place));
        let other = self.agents.iter().find(|(_, book)| book.legs.iter().any(holds)).map(|(other, _)| other);
        must(was_its && other.is_none(), || {
            format!(
                "{agent} sends {n}, due at {due_ns}, of a stripe that is not its own then but {other:?}'s"
            )
        })
    }

    /// The decider took an event in.
    pub(crate) fn decided(&mut self, before: &Before, run: &Run, actions: &[Action]) -> Result<(), Wrong> {
        check_accounts(before, run, actions, self.knows_clocks)?;
        for action in actions {
            match action {
                Action::Renew { agent, until_ns } => self.renewed(before, *agent, *until_ns)?,
                Action::Send { agent, number, order } => self.made(before, *agent, *number, order)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// An order was made, or is to be sent again.
    fn made(&mut self, before: &Before, agent: Incarnation, number: u64, order: &Order) -> Result<(), Wrong> {
        let book = self.agents.entry(agent).or_default();
        let is_new = book.made.insert(number);
        match order {
            Order::Start { lease_until_ns, .. } => {
                book.lease_until_ns = book.lease_until_ns.max(*lease_until_ns);
                Ok(())
            }
            Order::Grant { from, to, .. } => {
                let is_for_nothing = is_new && from < to && before.lost.contains(&agent);
                must(!is_for_nothing, || format!("{from}..{to} is granted to {agent}, which was lost"))
            }
            _ => Ok(()),
        }
    }

    fn renewed(&mut self, before: &Before, agent: Incarnation, until_ns: u64) -> Result<(), Wrong> {
        must(!before.lost.contains(&agent), || format!("a lease for {agent}, which was lost"))?;
        let book = self.agents.entry(agent).or_default();
        let pending = book.bounds.iter().filter(|(number, _)| *number > book.acknowledged);
        let bound_ns = pending.map(|(_, at_ns)| *at_ns).min().unwrap_or(u64::MAX);
        must(until_ns <= bound_ns.max(book.lease_until_ns).max(self.assumed_ns), || {
            format!(
                "a lease of {agent} until {until_ns}, beyond a change at {bound_ns} that it may not know of"
            )
        })?;
        book.lease_until_ns = book.lease_until_ns.max(until_ns);
        Ok(())
    }

    /// What an agent sent, by the second in which it was due.
    pub(crate) fn sent_by(&self, agent: Incarnation) -> BTreeMap<u32, u64> {
        self.agents.get(&agent).map(|book| book.sent.clone()).unwrap_or_default()
    }

    /// The iteration with this number, if it was sent.
    pub(crate) fn was_sent(&self, n: u64) -> bool {
        self.sent.contains_key(&n)
    }

    /// All that were ever told anything.
    pub(crate) fn agents(&self) -> impl Iterator<Item = Incarnation> {
        self.agents.keys().copied()
    }

    /// The latest time of a change of shares.
    pub(crate) fn changes(&self) -> usize {
        self.agents.values().map(|book| book.legs.len().saturating_sub(1)).sum()
    }
}

impl Agent {
    /// Nothing is the agent's from `at_ns` on. Of several such words the earliest counts.
    fn end(&mut self, at_ns: u64) {
        for leg in &mut self.legs {
            leg.span_ns.end = leg.span_ns.end.min(at_ns).max(leg.span_ns.start);
        }
    }
}

/// A number that two rising lists have in common.
fn common(one: &[u32], other: &[u32]) -> Option<u32> {
    let mut others = other.iter().copied().peekable();
    one.iter().copied().find(|number| {
        while others.next_if(|other| other < number).is_some() {}
        others.peek() == Some(number)
    })
}

/// Only unknown falls, and finished is final.
fn check_accounts(before: &Before, run: &Run, actions: &[Action], knows_clocks: bool) -> Result<(), Wrong> {
    let (old, new) = (before.accounts, run.accounts());
    let told = || format!("{old:?} -> {new:?}");
    let risen = new.started >= old.started
        && (new.missed >= old.missed || !knows_clocks)
        && new.ok >= old.ok
        && new.failed >= old.failed
        && new.cancelled >= old.cancelled;
    must(risen, || format!("a count fell: {}", told()))?;
    let is_finished = run.outcome().is_some();
    must(!before.is_finished || (is_finished && old == new), || format!("finished is final: {}", told()))?;
    must(!before.is_finished || !actions.contains(&Action::Finished), || "it finished twice".to_owned())?;
    must(is_finished == run.deadline_ns().is_none(), || {
        format!("{} with the deadline {:?}", run.state().name(), run.deadline_ns())
    })?;
    let fault = new.fault().filter(|_| is_finished);
    must(fault.is_none(), || format!("the account does not add up: {fault:?}: {}", by_agent(run)))
}

/// What each agent reported, for a failure's sake.
fn by_agent(run: &Run) -> String {
    let line = |agent: &AgentShare| {
        let gap = run.gap(agent);
        format!(
            "{} {} {:?} {} requests started, {} ok, {} failed, {} cancelled, gap {gap:?}",
            agent.facts.name,
            agent.state.name(),
            agent.reported.iterations,
            agent.reported.started,
            agent.reported.ok,
            agent.reported.failed,
            agent.reported.cancelled,
        )
    };
    run.agents().map(line).collect::<Vec<_>>().join("; ")
}
