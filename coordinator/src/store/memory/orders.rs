//! The orders of one run in memory. Every agent is sent the same plan to prepare, so its text is there once.

use std::collections::BTreeMap;
use std::sync::Arc;

use volley_plan::Adjust;
use volley_plan::link::{Incarnation, Order, Share};

use crate::store::SavedOrder;

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct KeptOrders {
    by_agent: BTreeMap<Incarnation, BTreeMap<u64, Kept>>,
    /// The plan that was last sent, and its hash.
    plan: Option<Arc<Texts>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Texts {
    plan: String,
    hash: String,
}

#[derive(Debug)]
enum Kept {
    Prepare { texts: Arc<Texts>, share: Share, seed: u64, adjusted: Vec<Adjust> },
    Other(Order),
}

impl Kept {
    fn order(&self) -> Order {
        match self {
            Self::Prepare { texts, share, seed, adjusted } => Order::Prepare {
                plan: texts.plan.clone(),
                hash: texts.hash.clone(),
                share: share.clone(),
                seed: *seed,
                adjusted: adjusted.clone(),
            },
            Self::Other(order) => order.clone(),
        }
    }
}

impl KeptOrders {
    /// Adds an order; false if it is there already. Of each agent the first one stays and the latest ones, `most` in all.
    pub(super) fn insert(&mut self, saved: SavedOrder, most: usize) -> bool {
        let SavedOrder { agent, number, order } = saved;
        let kept = self.kept(order);
        let orders = self.by_agent.entry(agent).or_default();
        if orders.contains_key(&number) {
            return false;
        }
        orders.insert(number, kept);
        if orders.len() > most
            && let Some(second) = orders.keys().nth(1).copied()
        {
            orders.remove(&second);
        }
        true
    }

    fn kept(&mut self, order: Order) -> Kept {
        match order {
            Order::Prepare { plan, hash, share, seed, adjusted } => {
                let texts = self.shared(Texts { plan, hash });
                Kept::Prepare { texts, share, seed, adjusted }
            }
            other => Kept::Other(other),
        }
    }

    fn shared(&mut self, texts: Texts) -> Arc<Texts> {
        match &self.plan {
            Some(known) if **known == texts => known.clone(),
            _ => self.plan.insert(Arc::new(texts)).clone(),
        }
    }

    /// All orders, by agent and number.
    pub(super) fn all(&self) -> Vec<SavedOrder> {
        let of_agent = |(&agent, orders): (&Incarnation, &BTreeMap<u64, Kept>)| {
            let saved = |(&number, kept): (&u64, &Kept)| SavedOrder { agent, number, order: kept.order() };
            orders.iter().map(saved).collect::<Vec<_>>()
        };
        self.by_agent.iter().flat_map(of_agent).collect()
    }
}

#[cfg(test)]
mod tests {
    use volley_plan::shape::{StripeSet, Stripes};

    use super::*;

    #[test]
    fn the_plan_of_many_agents_is_there_once() {
        let mut orders = KeptOrders::default();
        let order = |stripe, plan: &str| Order::Prepare {
            plan: plan.to_owned(),
            hash: "h".to_owned(),
            share: Share { stripes: StripeSet::new(Stripes::default(), vec![stripe]).unwrap(), bounds: None },
            seed: 9,
            adjusted: Vec::new(),
        };
        let saved = |agent, order| SavedOrder { agent: Incarnation(agent), number: 1, order };
        let given = [saved(1, order(0, "p")), saved(2, order(1, "p")), saved(3, order(2, "another"))];
        assert!(given.iter().all(|saved| orders.insert(saved.clone(), 100)));
        assert!(!orders.insert(given[0].clone(), 100));
        assert_eq!(orders.all(), given);
        let of = |agent: u64| match &orders.by_agent[&Incarnation(agent)][&1] {
            Kept::Prepare { texts, .. } => texts,
            Kept::Other(order) => panic!("{order:?}"),
        };
        assert!(Arc::ptr_eq(of(1), of(2)) && !Arc::ptr_eq(of(1), of(3)));
    }
}
