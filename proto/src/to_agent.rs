//! What a coordinator says.

use volley_plan::MAX_PLAN_BYTES;
use volley_plan::link::{Incarnation, Lease, Order, ToAgent};

use crate::fields::{clipped, required, run, text, within};
use crate::level::{adjusts_from_wire, adjusts_to_wire};
use crate::limits::{MAX_HASH_BYTES, MAX_REASON_BYTES};
use crate::v1::{numbered_order, to_agent};
use crate::{WireError, v1};

impl From<ToAgent> for v1::ToAgent {
    fn from(message: ToAgent) -> Self {
        let message = match message {
            ToAgent::Welcome => to_agent::Message::Welcome(v1::Welcome {}),
            ToAgent::Refused { reason } => {
                to_agent::Message::Refused(v1::Refused { reason: clipped(reason, MAX_REASON_BYTES) })
            }
            ToAgent::Pong { sent_ns, received_ns, answered_ns, lease } => {
                let lease = lease.map(Into::into);
                to_agent::Message::Pong(v1::Pong { sent_ns, received_ns, answered_ns, lease })
            }
            ToAgent::Order { run, number, order } => to_agent::Message::Order(v1::NumberedOrder {
                run: run.as_str().to_owned(),
                number,
                order: Some(order.into()),
            }),
            ToAgent::Acknowledge { run, of, sequence } => to_agent::Message::Acknowledge(v1::Acknowledge {
                run: run.as_str().to_owned(),
                sequence,
                of: of.map(|Incarnation(number)| number),
            }),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<v1::ToAgent> for ToAgent {
    type Error = WireError;

    fn try_from(wire: v1::ToAgent) -> Result<Self, WireError> {
        Ok(match required(wire.message, "ToAgent.message")? {
            to_agent::Message::Welcome(v1::Welcome {}) => Self::Welcome,
            to_agent::Message::Refused(v1::Refused { reason }) => {
                Self::Refused { reason: text(reason, MAX_REASON_BYTES, "Refused.reason")? }
            }
            to_agent::Message::Pong(v1::Pong { sent_ns, received_ns, answered_ns, lease }) => Self::Pong {
                sent_ns,
                received_ns,
                answered_ns,
                lease: lease.map(TryInto::try_into).transpose()?,
            },
            to_agent::Message::Order(order) => Self::Order {
                run: run(&order.run, "NumberedOrder.run")?,
                number: within(order.number, 1, u64::MAX, "NumberedOrder.number")?,
                order: required(order.order, "NumberedOrder.order")?.try_into()?,
            },
            to_agent::Message::Acknowledge(v1::Acknowledge { run: name, sequence, of }) => {
                Self::Acknowledge { run: run(&name, "Acknowledge.run")?, of: of.map(Incarnation), sequence }
            }
        })
    }
}

impl From<Lease> for v1::Lease {
    fn from(lease: Lease) -> Self {
        Self { run: lease.run.as_str().to_owned(), until_ns: lease.until_ns }
    }
}

impl TryFrom<v1::Lease> for Lease {
    type Error = WireError;

    fn try_from(wire: v1::Lease) -> Result<Self, WireError> {
        Ok(Self { run: run(&wire.run, "Lease.run")?, until_ns: wire.until_ns })
    }
}

impl From<Order> for numbered_order::Order {
    fn from(order: Order) -> Self {
        match order {
            Order::Prepare { plan, hash, share, seed, adjusted } => Self::Prepare(v1::Prepare {
                plan,
                hash,
                share: Some(share.into()),
                seed,
                adjusted: adjusts_to_wire(adjusted),
            }),
            Order::Start { at_ns, from_ns, lease_until_ns } => {
                Self::Start(v1::Start { at_ns, lease_until_ns, from_ns })
            }
            Order::Change { at_ns, share, to, over_ns } => {
                Self::Change(v1::Change { at_ns, share: Some(share.into()), to: to.map(Into::into), over_ns })
            }
            Order::Grant { from, to, last } => Self::Grant(v1::Grant { from, to, last }),
            Order::Stop { at_ns, drain_ns } => Self::Stop(v1::Stop { at_ns, drain_ns }),
            Order::Release => Self::Release(v1::Release {}),
        }
    }
}

impl TryFrom<numbered_order::Order> for Order {
    type Error = WireError;

    fn try_from(wire: numbered_order::Order) -> Result<Self, WireError> {
        Ok(match wire {
            numbered_order::Order::Prepare(prepare) => prepare.try_into()?,
            numbered_order::Order::Start(v1::Start { at_ns, lease_until_ns, from_ns }) => {
                Self::Start { at_ns, from_ns, lease_until_ns }
            }
            numbered_order::Order::Change(change) => change.try_into()?,
            numbered_order::Order::Grant(v1::Grant { from, to, .. }) if from > to => {
                return Err(WireError::Span { field: "Grant.from and Grant.to", from, to });
            }
            numbered_order::Order::Grant(v1::Grant { from, to, last }) => Self::Grant { from, to, last },
            numbered_order::Order::Stop(v1::Stop { at_ns, drain_ns }) => Self::Stop { at_ns, drain_ns },
            numbered_order::Order::Release(v1::Release {}) => Self::Release,
        })
    }
}

impl TryFrom<v1::Prepare> for Order {
    type Error = WireError;

    fn try_from(wire: v1::Prepare) -> Result<Self, WireError> {
        Ok(Self::Prepare {
            plan: text(wire.plan, MAX_PLAN_BYTES, "Prepare.plan")?,
            hash: text(wire.hash, MAX_HASH_BYTES, "Prepare.hash")?,
            share: required(wire.share, "Prepare.share")?.try_into()?,
            seed: wire.seed,
            adjusted: adjusts_from_wire(&wire.adjusted)?,
        })
    }
}

impl TryFrom<v1::Change> for Order {
    type Error = WireError;

    fn try_from(wire: v1::Change) -> Result<Self, WireError> {
        Ok(Self::Change {
            at_ns: wire.at_ns,
            share: required(wire.share, "Change.share")?.try_into()?,
            to: wire.to.map(TryInto::try_into).transpose()?,
            over_ns: wire.over_ns,
        })
    }
}
