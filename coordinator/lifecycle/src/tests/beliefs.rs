//! What agents believe to be theirs: by the orders that they have taken, and by nothing else. Whatever is lost on the way,
//! what they may send by that is their own.

use std::collections::BTreeMap;

use volley_plan::link::{Incarnation, Order, Share};
use volley_plan::shape::{StripeSet, Stripes};

use crate::{Action, Leg, Run};

/// One agent: the orders to it, how many of them it has taken, and its longest lease.
#[derive(Clone, Debug, Default)]
struct Believer {
    orders: BTreeMap<u64, Order>,
    taken: u64,
    lease_ns: u64,
    /// What of it the process at hand has given.
    given_ns: u64,
    /// The orders taken, the lease and the legs that were found to be right.
    checked: (u64, u64, Vec<Leg>),
}

/// All agents of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beliefs(BTreeMap<Incarnation, Believer>);

impl Beliefs {
    /// Takes notice of what the decider did; a lease must end before every order that may be unknown to its agent.
    pub(crate) fn notice(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Send { agent, number, order } => self.sent(*agent, *number, order),
                Action::Renew { agent, until_ns } => self.renewed(*agent, *until_ns),
                _ => {}
            }
        }
    }

    fn sent(&mut self, agent: Incarnation, number: u64, order: &Order) {
        let known = self.0.entry(agent).or_default();
        let is_new = known.orders.insert(number, order.clone()).is_none();
        if let (Order::Start { lease_until_ns, .. }, true) = (order, is_new) {
            known.lease_ns = known.lease_ns.max(*lease_until_ns);
            known.given_ns = known.given_ns.max(*lease_until_ns);
        }
    }

    fn renewed(&mut self, agent: Incarnation, until_ns: u64) {
        let known = self.0.entry(agent).or_default();
        let bound_ns = known.orders.range(known.taken + 1..).filter_map(|(_, order)| match order {
            Order::Stop { at_ns, .. } | Order::Change { at_ns, .. } => Some(*at_ns),
            _ => None,
        });
        let bound_ns = bound_ns.min().unwrap_or(u64::MAX).max(known.given_ns);
        assert!(until_ns <= bound_ns, "a lease until {until_ns} past an order at {bound_ns}");
        assert!(until_ns >= known.given_ns, "a lease taken back");
        (known.given_ns, known.lease_ns) = (until_ns, known.lease_ns.max(until_ns));
    }

    /// Another process gives leases from now on, and knows none of those that were given.
    pub(crate) fn restarted(&mut self) {
        self.0.values_mut().for_each(|known| known.given_ns = 0);
    }

    /// The highest order that was ever sent to an agent.
    pub(crate) fn sent_to(&self, agent: Incarnation) -> u64 {
        self.0.get(&agent).and_then(|known| known.orders.last_key_value()).map_or(0, |(number, _)| *number)
    }

    /// `agent` has taken its orders up to this number.
    pub(crate) fn take(&mut self, agent: Incarnation, number: u64) {
        let known = self.0.entry(agent).or_default();
        known.taken = known.taken.max(number);
    }

    pub(crate) fn taken(&self, agent: Incarnation) -> u64 {
        self.0.get(&agent).map_or(0, |known| known.taken)
    }

    /// The end of an agent's longest lease, in run time.
    pub(crate) fn lease_ns(&self, agent: Incarnation) -> u64 {
        self.0.get(&agent).map_or(0, |known| known.lease_ns)
    }

    /// True if the agent knows when the run started.
    pub(crate) fn has_started(&self, agent: Incarnation) -> bool {
        let is_start = |(_, order): (&u64, &Order)| matches!(order, Order::Start { .. });
        self.0.get(&agent).is_some_and(|known| known.orders.range(..=known.taken).any(is_start))
    }

    /// Under its lease, each agent believes to have what the run says that it has, or less.
    pub(crate) fn check(&mut self, run: &Run) {
        // One that has said its last word sends nothing, whatever it believes.
        for share in run.agents().filter(|share| !share.reported.last) {
            let Some(known) = self.0.get_mut(&share.facts.incarnation) else { continue };
            let checked = (known.taken, known.lease_ns, share.legs().to_vec());
            if known.checked == checked {
                continue;
            }
            known.checked = checked;
            let believed = known.legs();
            let times = believed.iter().map(|leg| leg.0).chain(share.legs().iter().map(|leg| leg.from_ns));
            for run_ns in times.filter(|&run_ns| run_ns < known.lease_ns) {
                let Some((_, stripes)) = believed.iter().rev().find(|leg| leg.0 <= run_ns) else { continue };
                let own = share.share_at(run_ns).map_or_else(none, |own| own.stripes.clone());
                let beyond = stripes.without(&own);
                assert!(
                    beyond.is_empty(),
                    "{} believes to have what it has not at {run_ns}",
                    share.facts.name
                );
            }
        }
    }
}

impl Believer {
    /// What it has from when on, as far as it knows.
    fn legs(&self) -> Vec<(u64, StripeSet)> {
        let mut legs: Vec<(u64, StripeSet)> = Vec::new();
        let mut share: Option<&Share> = None;
        let mut is_started = false;
        for order in self.orders.range(..=self.taken).map(|(_, order)| order) {
            match order {
                Order::Prepare { share: prepared, .. } => share = Some(prepared),
                Order::Change { at_ns, share: changed, .. } if is_started => {
                    legs.retain(|leg| leg.0 < *at_ns);
                    legs.push((*at_ns, changed.stripes.clone()));
                }
                // Before the start it only says what there is to have.
                Order::Change { share: changed, .. } => share = Some(changed),
                Order::Start { from_ns, .. } => {
                    is_started = true;
                    legs.extend(share.map(|share| (*from_ns, share.stripes.clone())));
                }
                Order::Stop { at_ns, .. } if is_started => {
                    legs.retain(|leg| leg.0 < *at_ns);
                    legs.push((*at_ns, none()));
                }
                Order::Grant { .. } | Order::Stop { .. } | Order::Release => {}
            }
        }
        legs
    }
}

fn none() -> StripeSet {
    StripeSet::new(Stripes::default(), Vec::new()).expect("none is in bounds")
}
