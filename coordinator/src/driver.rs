//! The driver of one run: waits for what happens or for a deadline, lets the decider decide, carries out what it says.
//!
//! An order is saved before it is sent; a window is kept before it is acknowledged, and acknowledged before it is
//! shown.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;
use volley_lifecycle::{Action, AgentFacts, Event};
use volley_plan::link::{Incarnation, Lease, Order, Report, ToAgent, WindowFacts};
use volley_stats::Window;
use volley_web::stream::Tick;

use crate::coordinator::Shared;
use crate::document::RunDocument;
use crate::live::Live;
use crate::past::{self, Past};
use crate::publish::{BY_SECOND_S, Publisher};
use crate::store::{Arrival, Delivery, Kept, SavedOrder, StoreError};

mod check;

/// What comes into a run from outside.
#[derive(Debug)]
pub(crate) enum Input {
    /// Agents that were claimed for it.
    Offered(Vec<AgentFacts>),
    /// An agent pinged; the answer carries its lease.
    Pinged { agent: Incarnation, acknowledged: u64, pong: Pong },
    /// An agent reported.
    Reported { agent: Incarnation, report: Report },
}

/// The answer to a ping, but for its time of leaving and its lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pong {
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
}

/// What belongs to the event at hand.
#[derive(Default)]
struct Hand {
    window: Option<Arc<Window>>,
    lease_until_ns: Option<u64>,
}

/// How often the document of a run that goes on is kept where nothing else causes it: if the coordinator is killed, it
/// is what its page is made from.
const KEEP_DOCUMENT_NS: u64 = 10_000_000_000;

/// The store has the rows of the latest seconds in memory, and of these at least.
const BEHIND_S: u32 = 30;

/// A deadline that is met so much too late, in nanoseconds, was slept over: this process was stopped, or the machine.
const SLEPT_NS: u64 = 1_000_000_000;
/// How long what came in meanwhile is read before such a deadline counts, in nanoseconds.
const CATCH_UP_NS: u64 = 500_000_000;

/// The driver of one run.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    live: Arc<Live>,
    publisher: Publisher,
    /// Nothing is kept and acknowledged any more. What is sent goes out unsaved, since the order to stop must get
    /// through and agents take orders without gaps only.
    store_failed: bool,
    /// The seconds before this one were told to the store as complete.
    completed_s: u32,
    /// The state in which the document was last kept, and when it is to be kept again.
    kept_state: &'static str,
    keep_at_ns: u64,
    /// While what came in during a sleep is read: until when.
    catch_up_until_ns: Option<u64>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, live: Arc<Live>) -> Self {
        Self {
            shared,
            live,
            publisher: Publisher::default(),
            store_failed: false,
            completed_s: 0,
            // As which it was created.
            kept_state: "gathering",
            keep_at_ns: 0,
            catch_up_until_ns: None,
        }
    }

    /// Drives the run. Ends when nobody can say anything to it any more, which is when it is forgotten: after its end,
    /// late windows may still come.
    pub(crate) async fn drive(mut self, first: Vec<Action>, mut inbox: mpsc::Receiver<Input>) {
        self.act(first, &mut Hand::default()).await;
        loop {
            self.settle().await;
            let wake = self.wake_at();
            let live = self.live.clone();
            tokio::select! {
                biased;
                () = live.stop.notified() => self.decide(Event::StopAsked, &mut Hand::default()).await,
                input = inbox.recv() => match input {
                    Some(input) => self.take(input).await,
                    None => return,
                },
                () = tokio::time::sleep_until(wake) => {}
            }
            // Checked each time, so that a busy inbox can't keep a deadline from being met.
            if self.is_time() {
                self.time().await;
            }
        }
    }

    /// Whether a deadline has come. One that was slept over waits a little: agents that pinged all the while would be
    /// called lost, only because nobody had read them.
    fn is_time(&mut self) -> bool {
        let now_ns = self.shared.clock.now_ns();
        let deadline_ns = self.live.ask(volley_lifecycle::Run::deadline_ns).unwrap_or(u64::MAX);
        if now_ns < deadline_ns {
            self.catch_up_until_ns = None;
            return false;
        }
        match self.catch_up_until_ns {
            None if now_ns - deadline_ns > SLEPT_NS => {
                self.catch_up_until_ns = Some(now_ns.saturating_add(CATCH_UP_NS));
                false
            }
            Some(until_ns) if now_ns < until_ns => false,
            _ => {
                self.catch_up_until_ns = None;
                true
            }
        }
    }

    fn wake_at(&self) -> Instant {
        let deadline_ns = self.live.ask(volley_lifecycle::Run::deadline_ns);
        let deadline_ns = deadline_ns.map(|ns| ns.max(self.catch_up_until_ns.unwrap_or(0)));
        let publish_ns = self.publisher.next_ns();
        let keep_ns = (self.live.is_over() && !self.live.is_kept()).then_some(self.keep_at_ns);
        let next_ns = [deadline_ns, publish_ns, keep_ns].into_iter().flatten().min().unwrap_or(u64::MAX);
        self.shared.clock.instant(next_ns)
    }

    /// Publishes what is new, and closes the books once the run is over.
    async fn settle(&mut self) {
        let ended = self.live.ask(|run| run.outcome().is_some());
        if !ended {
            self.publisher.publish(&self.shared, &self.live);
            self.complete().await;
            self.keep_now_and_then().await;
        } else if !self.live.is_over() {
            self.end().await;
        } else if !self.live.is_kept() && self.keep_at_ns <= self.shared.clock.now_ns() {
            self.keep_document().await;
        }
    }

    async fn end(&mut self) {
        let document = self.keep_document().await;
        tracing::info!(run = %document.id, sentence = %document.progress.sentence, "run finished");
        let ticks = self.ticks_from_store(&document).await;
        self.publisher.finish(&self.shared, &self.live, ticks, document.progress);
        self.live.set_over();
        self.shared.finished(&self.live.head.id);
    }

    /// All ticks of a run that is over, where the store is to tell them: of one that is too long to be told by the
    /// second, and of one whose last agents were so far behind that its seconds may not be in memory any more.
    async fn ticks_from_store(&self, document: &RunDocument) -> Vec<Tick> {
        let published_s = self.publisher.published_s();
        let is_long = published_s.max(self.live.length_s()) > BY_SECOND_S;
        let is_behind = self.live.complete_s(self.shared.clock.now_ns()) > published_s + BEHIND_S;
        if !(is_long || is_behind) || !self.live.is_kept() {
            return Vec::new();
        }
        let ticks = past::ticks(&*self.shared.store, document).await;
        ticks.unwrap_or_else(|error| {
            tracing::error!(run = %document.id, %error, "the run's seconds cannot be read");
            Vec::new()
        })
    }

    /// Tells the store which seconds are complete, and the feed which have become minutes.
    async fn complete(&mut self) {
        let published_s = self.publisher.published_s();
        if published_s <= self.completed_s || self.store_failed {
            return;
        }
        self.completed_s = published_s;
        let run = &self.live.head.id;
        if let Err(error) = self.shared.store.complete(run, published_s).await {
            return self.store_has_failed(&error, &mut Hand::default()).await;
        }
        for from_s in self.publisher.minutes_due() {
            let run_s = self.live.run_s(self.shared.clock.now_ns());
            let so_far = Past::so_far(run.clone(), self.live.head.plan.clone(), run_s);
            match past::minute(&*self.shared.store, so_far, from_s).await {
                Ok(tick) => self.live.feed().publish(|feed| feed.tick(tick)),
                Err(error) => tracing::error!(%run, from_s, %error, "a minute cannot be read"),
            }
        }
    }

    /// Keeps the document of a run that goes on.
    async fn keep_now_and_then(&mut self) {
        let state = self.live.ask(|run| run.state().name());
        let is_due = self.keep_at_ns <= self.shared.clock.now_ns() && self.kept_state != "gathering";
        if (state != self.kept_state || is_due) && !self.store_failed {
            self.kept_state = state;
            self.keep_document().await;
        }
    }

    async fn keep_document(&mut self) -> RunDocument {
        let document = self.shared.document_of(&self.live);
        self.keep_at_ns = self.shared.clock.now_ns().saturating_add(KEEP_DOCUMENT_NS);
        match self.shared.store.update(&document).await {
            Ok(()) if document.progress.over => self.live.set_kept(),
            Ok(()) => {}
            Err(error) => {
                tracing::error!(run = %document.id, %error, "the run's document could not be kept");
            }
        }
        document
    }

    /// A deadline has come. A run that gave up waiting is offered those that are there all the same, so that it can
    /// tell how many they were.
    async fn time(&mut self) {
        if self.live.is_gathering() {
            let id = &self.live.head.id;
            let agents = self.shared.fleet(|fleet, now_ns| fleet.claim(id, 1, now_ns));
            self.offered(agents).await;
        }
        self.decide(Event::Time, &mut Hand::default()).await;
    }

    async fn take(&mut self, input: Input) {
        match input {
            Input::Offered(agents) => self.offered(agents).await,
            Input::Pinged { agent, acknowledged, pong } => {
                let mut hand = Hand::default();
                self.decide(Event::Pinged { agent, acknowledged }, &mut hand).await;
                self.pong(agent, pong, hand.lease_until_ns);
            }
            Input::Reported { agent, report } => self.reported(agent, report).await,
        }
    }

    /// Offers agents one by one. Those that the run doesn't need any more are free again.
    async fn offered(&mut self, agents: Vec<AgentFacts>) {
        for facts in agents {
            let agent = facts.incarnation;
            if self.live.is_gathering() {
                self.decide(Event::Joined(facts), &mut Hand::default()).await;
            } else {
                self.shared.free(agent, &self.live.head.id);
            }
        }
    }

    fn pong(&self, agent: Incarnation, pong: Pong, lease_until_ns: Option<u64>) {
        let run = self.live.head.id.clone();
        let lease = lease_until_ns.map(|until_ns| Lease { run, until_ns });
        self.shared.pong(agent, pong, lease);
    }

    async fn reported(&mut self, agent: Incarnation, report: Report) {
        let mut hand = Hand::default();
        let event = match report {
            Report::Ready => Event::Ready { agent },
            Report::Refused { reason } => Event::Refused { agent, reason },
            Report::GrantWanted { taken, iterations } => Event::GrantWanted { agent, taken, iterations },
            Report::Window { sequence, window, last } => {
                let start_ns = self.live.ask(volley_lifecycle::Run::start_ns);
                let run_ns =
                    start_ns.map_or(0, |start_ns| self.shared.clock.now_ns().saturating_sub(start_ns));
                if let Err(fault) = check::window(&window, &self.live.head.plan, run_ns) {
                    return self.shared.turn_away(agent, &fault.to_string());
                }
                let facts = WindowFacts::of(sequence, &window, last, &self.live.head.plan.load);
                hand.window = Some(Arc::new(window));
                Event::Window { agent, facts }
            }
        };
        self.decide(event, &mut hand).await;
    }

    /// One event, with everything that follows from it.
    async fn decide(&mut self, event: Event, hand: &mut Hand) {
        let actions = self.live.handle(self.shared.clock.now_ns(), event);
        self.act(actions, hand).await;
    }

    async fn act(&mut self, actions: Vec<Action>, hand: &mut Hand) {
        if let Err(error) = self.carry_out(actions, hand).await {
            self.store_has_failed(&error, hand).await;
        }
    }

    async fn store_has_failed(&mut self, error: &StoreError, hand: &mut Hand) {
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
        let mut result = Ok(());
        for action in actions {
            match action {
                Action::Send { agent, number, order } if result.is_ok() => {
                    result = self.send(agent, number, order).await;
                }
                Action::Keep { agent, sequence, late } if result.is_ok() => {
                    result = self.keep(agent, sequence, late, hand).await;
                }
                Action::Acknowledge { agent, sequence } if result.is_ok() => {
                    self.acknowledge(agent, sequence);
                }
                Action::Renew { until_ns, .. } => hand.lease_until_ns = Some(until_ns),
                Action::Note(note) => self.live.note(&note),
                Action::Free { agent } => self.shared.free(agent, &self.live.head.id),
                // Seen by the run's outcome, once all of this is done; or left out, as said above.
                Action::Finished | Action::Send { .. } | Action::Keep { .. } | Action::Acknowledge { .. } => {
                }
            }
        }
        result
    }

    async fn send(&mut self, agent: Incarnation, number: u64, order: Order) -> Result<(), StoreError> {
        let run = &self.live.head.id;
        if !self.store_failed {
            let saved = SavedOrder { agent, number, order: order.clone() };
            self.shared.store.save_order(run, saved).await?;
        }
        self.shared.send_order(agent, run, number, order);
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
        let run = &self.live.head.id;
        let delivery = Delivery { run, agent, sequence, window: &window, arrival };
        if self.shared.store.keep_window(delivery).await? == Kept::Repeated {
            return Ok(());
        }
        if late {
            self.live.count_late(&window);
            self.keep_document().await;
        } else {
            self.live.see(&window);
            self.publisher.touch(&window, self.shared.clock.now_ns());
        }
        Ok(())
    }

    fn acknowledge(&self, agent: Incarnation, sequence: u64) {
        if !self.store_failed {
            let run = self.live.head.id.clone();
            self.shared.send(agent, ToAgent::Acknowledge { run, sequence });
        }
    }
}

#[cfg(test)]
mod tests;
