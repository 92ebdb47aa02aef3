//! Carries out what the decider says, in the order in which it says it. Orders are saved before they are sent, all of one
//! event together; a window is kept before the decider hears of it, and acknowledged then.

use std::sync::Arc;

use volley_lifecycle::{Action, Event, ToKeep};
use volley_plan::link::{Incarnation, ToAgent, WindowFacts};
use volley_stats::SealedWindow;

use super::Driver;
use crate::crash::crash_at;
use crate::store::{Arrival, Delivery, Kept, SavedOrder, StoreError};

/// What belongs to the event at hand.
#[derive(Default)]
pub(super) struct Hand {
    /// Who delivered results, where that is not the process that measured them.
    carrier: Option<Incarnation>,
}

/// A window that was delivered.
pub(super) struct Delivered {
    /// The process that measured it.
    pub(super) agent: Incarnation,
    /// The one that delivered it.
    pub(super) by: Incarnation,
    pub(super) window: Arc<SealedWindow>,
    pub(super) facts: WindowFacts,
}

impl Driver {
    /// One event, with everything that follows from it.
    pub(super) async fn decide(&mut self, event: Event) {
        self.decide_for(event, &Hand::default()).await;
    }

    async fn decide_for(&mut self, event: Event, hand: &Hand) {
        let actions = self.live.handle(self.shared.clock.now_ns(), event);
        self.act(actions, hand).await;
    }

    pub(super) async fn act(&mut self, actions: Vec<Action>, hand: &Hand) {
        if let Err(error) = self.carry_out(actions, hand).await {
            self.store_has_failed(&error).await;
        }
    }

    /// Keeps a window and lets the decider decide on it. One that can't be kept it never hears of, so that all that it
    /// decides on and tells is kept; its agent has it still, and delivers it again once there is a place for it.
    pub(super) async fn deliver(&mut self, delivered: Delivered) {
        let Delivered { agent, by, window, facts } = delivered;
        if self.store_failed {
            self.undelivered.insert(by);
            return;
        }
        if let Some(to_keep) = self.live.ask(|run| run.to_keep(agent, &facts))
            && let Err(error) = self.keep(agent, &window, facts.sequence, to_keep).await
        {
            self.undelivered.insert(by);
            return self.store_has_failed(&error).await;
        }
        let hand = Hand { carrier: (by != agent).then_some(by) };
        self.decide_for(Event::Window { agent, facts }, &hand).await;
    }

    pub(super) async fn store_has_failed(&mut self, error: &StoreError) {
        tracing::error!(run = %self.live.head.id, %error, "the store failed: the run stops");
        self.store_failed = true;
        let event = Event::StoreFailed { reason: error.to_string() };
        let actions = self.live.handle(self.shared.clock.now_ns(), event);
        // Nothing is saved any more, so this can't fail.
        if let Err(error) = self.carry_out(actions, &Hand::default()).await {
            tracing::error!(run = %self.live.head.id, %error, "the store was used after it had failed");
        }
    }

    /// The run is over, and the store works again: agents deliver what it could not keep.
    pub(super) fn store_works_again(&mut self) {
        let agents = self.undelivered.len();
        tracing::info!(run = %self.live.head.id, agents, "the store works again; what it could not keep is delivered anew");
        self.store_failed = false;
        self.ask_anew();
    }

    /// Has agents send anew what could not be kept, which they do on a new connection.
    pub(super) fn ask_anew(&mut self) {
        let agents = std::mem::take(&mut self.undelivered);
        self.shared.fleet(|fleet, _| agents.into_iter().for_each(|agent| fleet.cut(agent)));
    }

    /// Carries out the actions in order. Orders that could not be saved are not given; the rest (a note, an agent set free)
    /// is done all the same.
    async fn carry_out(&mut self, actions: Vec<Action>, hand: &Hand) -> Result<(), StoreError> {
        let (mut orders, actions) = without_orders(actions);
        let mut result = Ok(());
        for action in actions {
            match action {
                Step::Orders if result.is_ok() => result = self.give(std::mem::take(&mut orders)).await,
                Step::Other(Action::Acknowledge { agent, sequence }) => {
                    self.acknowledge(agent, sequence, hand);
                }
                Step::Other(Action::Note(note)) => {
                    self.live.note(&note);
                    // The log is a part of the document.
                    self.keep_at_ns = 0;
                }
                Step::Other(Action::Free { agent }) => self.shared.free(agent, &self.live.head.id),
                // A lease is for the answer to a ping, which is given elsewhere; the end is seen by the run's outcome,
                // once all of this is done.
                Step::Orders | Step::Other(Action::Renew { .. } | Action::Send { .. } | Action::Finished) => {
                }
            }
        }
        result
    }

    /// Saves orders with where the decider stands now that it has given them, and sends them. It may have decided more
    /// meanwhile, [beside](crate::live::Live::decide_beside) this; that is saved with them, and sent in its turn.
    async fn give(&mut self, orders: Vec<SavedOrder>) -> Result<(), StoreError> {
        let run = &self.live.head.id;
        if !self.store_failed {
            let standing = self.live.standing(orders.iter().map(|saved| saved.agent), &self.saved);
            let saved = standing.agents.iter().map(|agent| (agent.incarnation(), agent.last_order()));
            let saved: Vec<_> = saved.collect();
            let saved_orders = self.shared.store.save_orders(run, standing, &orders).await;
            self.shared.wrote(saved_orders)?;
            self.saved.extend(saved);
            crash_at("order-saved");
        }
        for SavedOrder { agent, number, order } in orders {
            self.shared.send_order(agent, run, number, order);
        }
        Ok(())
    }

    async fn keep(
        &mut self,
        agent: Incarnation,
        window: &Arc<SealedWindow>,
        sequence: u64,
        ToKeep { reported, late }: ToKeep,
    ) -> Result<(), StoreError> {
        let arrival = if late { Arrival::Late } else { Arrival::InTime };
        let run = &self.live.head.id;
        let delivery = Delivery { run, agent, sequence, window, facts: &reported, arrival };
        let kept = self.shared.store.keep_window(delivery).await;
        let kept = self.shared.wrote(kept)?;
        crash_at("window-stored");
        if kept == Kept::Repeated {
            return Ok(());
        }
        if late {
            self.live.count_late(window);
            self.keep_document().await;
        } else {
            self.live.see(agent, window);
            self.shared.count_window(window);
            self.publisher.touch(window, self.shared.clock.now_ns());
        }
        Ok(())
    }

    /// Tells whoever delivered it that it is kept.
    fn acknowledge(&self, agent: Incarnation, sequence: u64, hand: &Hand) {
        let run = self.live.head.id.clone();
        let (to, of) = match hand.carrier {
            Some(carrier) => (carrier, Some(agent)),
            None => (agent, None),
        };
        self.shared.send(to, ToAgent::Acknowledge { run, of, sequence });
    }
}

/// An action, or the place of all orders: that of the first one.
enum Step {
    Orders,
    Other(Action),
}

/// The orders of some actions, and what else there is to do. Orders go at the place of the first one, so after the results
/// that they follow from are kept, and before their agents are free for others.
fn without_orders(actions: Vec<Action>) -> (Vec<SavedOrder>, Vec<Step>) {
    let mut orders = Vec::new();
    let mut steps = Vec::new();
    for action in actions {
        match action {
            Action::Send { agent, number, order } => {
                if orders.is_empty() {
                    steps.push(Step::Orders);
                }
                orders.push(SavedOrder { agent, number, order });
            }
            other => steps.push(Step::Other(other)),
        }
    }
    (orders, steps)
}
