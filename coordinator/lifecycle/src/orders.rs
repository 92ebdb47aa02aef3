//! The orders to one agent: numbered, kept until they are acknowledged, and sent again where they must have been lost.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use volley_plan::link::Order;

/// Orders that were sent this long ago and are not acknowledged go out again with the agent's next ping.
const RESEND_NS: u64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sent {
    number: u64,
    order: Order,
    /// When, on the clock of the process that sent it. One that was started again sends it at once.
    #[serde(skip)]
    sent_ns: u64,
}

/// The orders to one agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Orders {
    numbered: u64,
    unacknowledged: VecDeque<Sent>,
    /// It was ordered to cut off at once what is in flight.
    is_cut_off: bool,
    /// It was let go.
    is_released: bool,
}

impl Orders {
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    pub(crate) fn is_released(&self) -> bool {
        self.is_released
    }

    /// The number of the last one; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        self.numbered
    }

    /// Gives an order its number and keeps it until it is acknowledged.
    pub(crate) fn number(&mut self, order: Order, now_ns: u64) -> u64 {
        self.numbered = self.numbered.saturating_add(1);
        self.is_cut_off |= matches!(order, Order::Stop { drain_ns: 0, .. });
        self.is_released |= matches!(order, Order::Release);
        self.unacknowledged.push_back(Sent { number: self.numbered, order, sent_ns: now_ns });
        self.numbered
    }

    /// Notes what the agent has taken. It may be more than is known here: where the store had failed, orders went out
    /// unsaved before this process was started. Their numbers are not given again.
    pub(crate) fn acknowledge(&mut self, number: u64) {
        self.numbered = self.numbered.max(number);
        self.unacknowledged.retain(|sent| sent.number > number);
    }

    /// The orders that must have been lost on the way; they count as sent again.
    pub(crate) fn lost(&mut self, now_ns: u64) -> Vec<(u64, Order)> {
        let is_due = |sent: &&mut Sent| now_ns >= sent.sent_ns.saturating_add(RESEND_NS);
        let again = |sent: &mut Sent| {
            sent.sent_ns = now_ns;
            (sent.number, sent.order.clone())
        };
        self.unacknowledged.iter_mut().filter(is_due).map(again).collect()
    }

    /// The earliest run time from which on the agent may have less to do than it knows: its lease must not reach beyond.
    pub(crate) fn pending_ns(&self) -> Option<u64> {
        let bound = |sent: &Sent| match sent.order {
            Order::Stop { at_ns, .. } | Order::Change { at_ns, .. } => Some(at_ns),
            Order::Prepare { .. } | Order::Start { .. } | Order::Grant { .. } | Order::Release => None,
        };
        self.unacknowledged.iter().filter_map(bound).min()
    }

    /// True if it was told to start, and may not know it.
    pub(crate) fn start_is_pending(&self) -> bool {
        self.unacknowledged.iter().any(|sent| matches!(sent.order, Order::Start { .. }))
    }

    /// Run time 0 is at `start_ns` of this process's clock, by whatever clock an order to start was given. Gives back the
    /// lease of that order, in run time, if it is not known to have been taken.
    pub(crate) fn start_at(&mut self, start_ns: u64) -> u64 {
        let mut lease_ns = 0;
        for sent in &mut self.unacknowledged {
            if let Order::Start { at_ns, lease_until_ns, .. } = &mut sent.order {
                *at_ns = start_ns;
                lease_ns = *lease_until_ns;
            }
        }
        lease_ns
    }

    /// The same without the text of the plan, which is kept once for all.
    pub(crate) fn without_plan(&self) -> Self {
        self.with_plan("", "")
    }

    /// The same with the text of the plan.
    pub(crate) fn with_plan(&self, text: &str, digest: &str) -> Self {
        let mut orders = self.clone();
        for sent in &mut orders.unacknowledged {
            // Another process has another clock.
            sent.sent_ns = 0;
            if let Order::Prepare { plan, hash, .. } = &mut sent.order {
                (*plan, *hash) = (text.to_owned(), digest.to_owned());
            }
        }
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_went_out_unsaved_are_not_given_again() {
        let mut orders = Orders::default();
        assert_eq!(orders.number(Order::Release, 0), 1);
        let mut restored = orders.clone();
        restored.acknowledge(7);
        assert_eq!((restored.last(), restored.number(Order::Release, 0)), (7, 8));
        restored.acknowledge(u64::MAX);
        assert_eq!(restored.number(Order::Release, 0), u64::MAX, "what can't be true does no harm");
    }
}
