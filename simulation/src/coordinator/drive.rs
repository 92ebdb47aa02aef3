//! What the driver does with an event, and with the decider's actions: step by step, so that it can die between any two.

use std::collections::BTreeSet;

use volley_lifecycle::{Action, Event};
use volley_plan::link::{Incarnation, Order, ToAgent, WindowFacts};
use volley_stats::SealedWindow;

use super::words::{short, told};
use super::{Desk, Halt, Process};
use crate::books::{Before, Wrong};
use crate::store::{KeptWindow, StoreBroken};

/// A window that was delivered.
pub(super) struct Delivery {
    /// By whom.
    pub(super) teller: Incarnation,
    /// The earlier process that measured it.
    pub(super) of: Option<Incarnation>,
    pub(super) window: SealedWindow,
}

impl Process {
    /// One event, with everything that follows from it. Gives the lease that it renews.
    pub(super) fn decide(
        &mut self,
        desk: &mut Desk<'_>,
        event: Event,
        delivery: Option<&Delivery>,
    ) -> Result<Option<u64>, Halt> {
        self.step()?;
        if let (Event::Window { agent, facts }, Some(delivery)) = (&event, delivery)
            && !self.is_kept(desk, *agent, facts, delivery)?
        {
            return Ok(None);
        }
        let now_ns = self.clock.read(desk.now_ns);
        let Some(run) = &mut self.run else { return Ok(None) };
        let told = if desk.trace.is_kept() { told(&event) } else { String::new() };
        let before = Before::of(run);
        let actions = run.handle(now_ns, event);
        desk.trace
            .say(desk.now_ns, || format!("decider [{}] {told} => {}", run.state().name(), short(&actions)));
        desk.books.decided(&before, run, &actions)?;
        self.act(desk, actions, delivery)
    }

    pub(super) fn act(
        &mut self,
        desk: &mut Desk<'_>,
        actions: Vec<Action>,
        delivery: Option<&Delivery>,
    ) -> Result<Option<u64>, Halt> {
        let mut lease_until_ns = None;
        match self.carry_out(desk, actions, delivery, &mut lease_until_ns)? {
            Ok(()) => {}
            Err(StoreBroken) => self.store_has_failed(desk)?,
        }
        Ok(lease_until_ns)
    }

    pub(super) fn store_has_failed(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        self.has_store_failed = true;
        let now_ns = self.clock.read(desk.now_ns);
        let Some(run) = &mut self.run else { return Ok(()) };
        let before = Before::of(run);
        let actions = run.handle(now_ns, Event::StoreFailed { reason: "the disk is full".to_owned() });
        desk.books.decided(&before, run, &actions)?;
        // Nothing is saved any more, so this can't fail.
        self.carry_out(desk, actions, None, &mut None)?
            .map_err(|StoreBroken| Halt::Wrong(Wrong("the store was used after it had failed".to_owned())))
    }

    /// Carries out the actions in order. Once storing has failed, those that depend on it are left out.
    fn carry_out(
        &mut self,
        desk: &mut Desk<'_>,
        actions: Vec<Action>,
        delivery: Option<&Delivery>,
        lease_until_ns: &mut Option<u64>,
    ) -> Result<Result<(), StoreBroken>, Halt> {
        let mut orders = orders(&actions);
        let mut result = Ok(());
        for action in actions {
            match action {
                Action::Send { agent, number, order } if result.is_ok() => {
                    // All orders of an event are saved together, before the first of them is sent.
                    result = self.save(desk, &std::mem::take(&mut orders))?;
                    if result.is_ok() {
                        self.send(desk, agent, number, order)?;
                    }
                }
                Action::Acknowledge { agent, sequence } => {
                    self.acknowledge(desk, agent, sequence, delivery)?;
                }
                Action::Renew { until_ns, .. } => *lease_until_ns = Some(until_ns),
                Action::Note(note) => desk.trace.say(desk.now_ns, || format!("note: {}", note.text)),
                Action::Free { agent } => {
                    if let Some(member) = self.fleet.member(agent) {
                        member.is_busy = false;
                    }
                }
                Action::Finished => {
                    self.step()?;
                    if let Some(run) = &self.run {
                        desk.store.close(run.record());
                    }
                }
                Action::Send { .. } => {}
            }
        }
        Ok(result)
    }

    fn save(
        &mut self,
        desk: &mut Desk<'_>,
        orders: &[(Incarnation, u64, Order)],
    ) -> Result<Result<(), StoreBroken>, Halt> {
        if orders.is_empty() {
            return Ok(Ok(()));
        }
        self.step()?;
        let Some(run) = &self.run else { return Ok(Ok(())) };
        if !self.has_store_failed {
            let told: BTreeSet<_> = orders.iter().map(|(agent, ..)| *agent).collect();
            let told = run.agents().filter(|share| told.contains(&share.facts.incarnation));
            let records = told.map(|share| (share.facts.incarnation, share.record()));
            if desk.store.save(run.record(), records.collect(), orders.to_vec()).is_err() {
                // They are decided, and go out unsaved when they are sent again.
                for (agent, number, order) in orders {
                    desk.books.ordered(*agent, *number, order)?;
                }
                return Ok(Err(StoreBroken));
            }
        }
        for (agent, number, order) in orders {
            desk.books.ordered(*agent, *number, order)?;
        }
        desk.books.check_shares()?;
        Ok(Ok(()))
    }

    /// Sends an order, its time told on the agent's clock. Where that is unknown yet the order stays unsent, and goes out
    /// again after a ping.
    fn send(
        &mut self,
        desk: &mut Desk<'_>,
        agent: Incarnation,
        number: u64,
        order: Order,
    ) -> Result<(), Halt> {
        self.step()?;
        let order = match order {
            Order::Start { at_ns, from_ns, lease_until_ns } => {
                let told = self.fleet.member(agent).and_then(|member| member.to_agent_ns(at_ns));
                let Some(at_ns) = told else { return Ok(()) };
                Order::Start { at_ns, from_ns, lease_until_ns }
            }
            order => order,
        };
        self.say(desk, agent, ToAgent::Order { run: self.job.id.clone(), number, order });
        Ok(())
    }

    /// Tells whoever delivered them that windows are kept.
    fn acknowledge(
        &mut self,
        desk: &mut Desk<'_>,
        agent: Incarnation,
        sequence: u64,
        delivery: Option<&Delivery>,
    ) -> Result<(), Halt> {
        self.step()?;
        let (run, of) = (self.job.id.clone(), delivery.and_then(|delivery| delivery.of));
        let teller = delivery.map_or(agent, |delivery| delivery.teller);
        self.say(desk, teller, ToAgent::Acknowledge { run, of, sequence });
        Ok(())
    }

    /// Keeps a window before the decider hears of it. One that can't be kept it doesn't hear of.
    fn is_kept(
        &mut self,
        desk: &mut Desk<'_>,
        agent: Incarnation,
        facts: &WindowFacts,
        delivery: &Delivery,
    ) -> Result<bool, Halt> {
        if self.has_store_failed {
            return Ok(false);
        }
        let Some(to_keep) = self.run.as_ref().and_then(|run| run.to_keep(agent, facts)) else {
            return Ok(true);
        };
        let window = KeptWindow { window: delivery.window.clone(), late: to_keep.late };
        match desk.store.keep(agent, to_keep.reported, facts.sequence, window) {
            Err(StoreBroken) => {
                self.store_has_failed(desk)?;
                Ok(false)
            }
            Ok(kept) => {
                kept.map_err(Wrong)?;
                // It may die between the two.
                self.step()?;
                Ok(true)
            }
        }
    }
}

fn orders(actions: &[Action]) -> Vec<(Incarnation, u64, Order)> {
    let order = |action: &Action| match action {
        Action::Send { agent, number, order } => Some((*agent, *number, order.clone())),
        _ => None,
    };
    actions.iter().filter_map(order).collect()
}
