//! Carries out what the decider says, in the order in which it says it. Orders are saved before they are sent, all of one
//! event together; a window is kept before it is acknowledged, and acknowledged before it is shown.

use std::sync::Arc;

use volley_lifecycle::{Action, Event};
use volley_plan::link::{Incarnation, ToAgent};
use volley_stats::Window;

use super::Driver;
use crate::crash::crash_at;
use crate::store::{Arrival, Delivery, Kept, SavedOrder, StoreError};

/// What belongs to the event at hand.
#[derive(Default)]
pub(super) struct Hand {
    /// Results that were delivered.
    pub(super) window: Option<Arc<Window>>,
    /// Who delivered them, where that is not the process that measured them.
    pub(super) carrier: Option<Incarnation>,
}

impl Driver {
    /// One event, with everything that follows from it.
    pub(super) async fn decide(&mut self, event: Event, hand: &mut Hand) {
        let actions = self.live.handle(self.shared.clock.now_ns(), event);
        self.act(actions, hand).await;
    }

    pub(super) async fn act(&mut self, actions: Vec<Action>, hand: &mut Hand) {
        if let Err(error) = self.carry_out(actions, hand).await {
            self.store_has_failed(&error, hand).await;
        }
    }

    pub(super) async fn store_has_failed(&mut self, error: &StoreError, hand: &mut Hand) {
        tracing::error!(run = %self.live.head.id, %error, "the store failed: the run stops");
        self.store_failed = true;
        let event = Event::StoreFailed { reason: error.to_string() };
        let actions = self.live.handle(self.shared.clock.now_ns(), event);
        // Nothing is saved any more, so this can't fail.
        if let Err(error) = self.carry_out(actions, hand).await {
            tracing::error!(run = %self.live.head.id, %error, "the store was used after it had failed");
        }
    }

    /// Carries out the actions in order. Once storing has failed, those that depend on it are left out; the rest (a
    /// note, an agent set free) is done all the same.
    async fn carry_out(&mut self, actions: Vec<Action>, hand: &mut Hand) -> Result<(), StoreError> {
        let (mut orders, actions) = without_orders(actions);
        let mut result = Ok(());
        for action in actions {
            match action {
                Step::Orders if result.is_ok() => result = self.give(std::mem::take(&mut orders)).await,
                Step::Other(Action::Keep { agent, sequence, late }) if result.is_ok() => {
                    result = self.keep(agent, sequence, late, hand).await;
                }
                Step::Other(Action::Acknowledge { agent, sequence }) if result.is_ok() => {
                    self.acknowledge(agent, sequence, hand);
                }
                Step::Other(Action::Note(note)) => {
                    self.live.note(&note);
                    // The log is a part of the document.
                    self.keep_at_ns = 0;
                }
                Step::Other(Action::Free { agent }) => self.shared.free(agent, &self.live.head.id),
                // A lease is for the answer to a ping, which is given elsewhere; the end is seen by the run's outcome,
                // once all of this is done; the rest is left out, as said above.
                Step::Orders | Step::Other(_) => {}
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
            self.shared.store.save_orders(run, standing, &orders).await?;
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
        sequence: u64,
        late: bool,
        hand: &mut Hand,
    ) -> Result<(), StoreError> {
        let Some(window) = hand.window.take() else { return Ok(()) };
        if self.store_failed {
            return Ok(());
        }
        let arrival = if late { Arrival::Late } else { Arrival::InTime };
        let (run, facts) = (&self.live.head.id, self.live.reported_by(agent));
        let delivery = Delivery { run, agent, sequence, window: &window, facts: &facts, arrival };
        let kept = self.shared.store.keep_window(delivery).await?;
        crash_at("window-stored");
        if kept == Kept::Repeated {
            return Ok(());
        }
        if late {
            self.live.count_late(&window);
            self.keep_document().await;
        } else {
            self.live.see(agent, &window);
            self.publisher.touch(&window, self.shared.clock.now_ns());
        }
        Ok(())
    }

    /// Tells whoever delivered it that it is kept.
    fn acknowledge(&self, agent: Incarnation, sequence: u64, hand: &Hand) {
        if !self.store_failed {
            let run = self.live.head.id.clone();
            let (to, of) = match hand.carrier {
                Some(carrier) => (carrier, Some(agent)),
                None => (agent, None),
            };
            self.shared.send(to, ToAgent::Acknowledge { run, of, sequence });
        }
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
