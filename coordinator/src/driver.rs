//! The driver of one run: waits for what happens or for a deadline, lets the decider decide, and [carries out](carry) what
//! it says.
//!
//! While it waits for the store it takes nothing in. What must not wait that long, pings above all, is decided beside it
//! ([`Live::decide_beside`]), and only what follows from that is carried out here, before anything else is taken in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::Instant;
use volley_lifecycle::{Action, AgentFacts, Event, Level, Note, Run};
use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Report, WindowFacts};
use volley_stats::SECOND_NS;
use volley_web::stream::Tick;

use crate::coordinator::Shared;
use crate::crash::crash_at;
use crate::document::RunDocument;
use crate::live::Live;
use crate::past::{self, Past};
use crate::publish::{BY_SECOND_S, Publisher};
use crate::thresholds::Broken;
use crate::timeline::Gaps;

mod carry;
mod catch_up;
mod check;

use carry::{Delivered, Hand};
use catch_up::CatchUp;

/// What comes into a run from outside.
#[derive(Debug)]
pub(crate) enum Input {
    /// Agents that were claimed for it.
    Offered(Vec<AgentFacts>),
    /// What it loads may not be loaded so hard any more, and why.
    Forbidden { reason: String },
    /// An agent is to be relieved of its share.
    Leaving { agent: Incarnation },
    /// An agent reported: something of its own, or results `of` a process before it on its host.
    Reported {
        agent: Incarnation,
        of: Option<Incarnation>,
        report: Report,
        /// Its place among those of its connection, which is free again when this is taken in.
        place: OwnedSemaphorePermit,
    },
}

/// The answer to a ping, but for its time of leaving and its lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pong {
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
}

/// How often the document of a run that goes on is kept where nothing else causes it: if the coordinator is killed, it
/// is what its page is made from.
const KEEP_DOCUMENT_NS: u64 = 10_000_000_000;

/// The store has the rows of the latest seconds in memory, and of these at least.
const BEHIND_S: u32 = 30;

/// A deadline that is met so much too late, in nanoseconds, was slept over: this process was stopped, or the machine.
const SLEPT_NS: u64 = 1_000_000_000;

/// The driver of one run.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    live: Arc<Live>,
    publisher: Publisher,
    /// Nothing is kept and acknowledged any more. What is sent goes out unsaved, since the order to stop must get
    /// through and agents take orders without gaps only.
    store_failed: bool,
    /// Those who have delivered what could not be kept, and have it still.
    undelivered: BTreeSet<Incarnation>,
    /// The seconds before this one were told to the store as complete.
    completed_s: u32,
    /// The state in which the document was last kept, and when it is to be kept again.
    kept_state: &'static str,
    keep_at_ns: u64,
    /// While what came in during a sleep is read.
    catch_up: Option<CatchUp>,
    /// The last order of each agent that the store has, with its share as it was after that one.
    saved: BTreeMap<Incarnation, u64>,
    /// Whoever ends the coordinator waits for this.
    _is_there: watch::Receiver<()>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, live: Arc<Live>) -> Self {
        Self {
            _is_there: shared.driver_begins(),
            shared,
            live,
            publisher: Publisher::default(),
            store_failed: false,
            undelivered: BTreeSet::new(),
            completed_s: 0,
            // As which it was created.
            kept_state: "gathering",
            keep_at_ns: 0,
            catch_up: None,
            saved: BTreeMap::new(),
        }
    }

    /// The driver of a run that goes on since before this coordinator was started. Its seconds before `published_s` are
    /// complete, and published.
    pub(crate) fn resumed(shared: Arc<Shared>, live: Arc<Live>, published_s: u32) -> Self {
        let publisher = Publisher::beginning_at(published_s);
        Self { publisher, completed_s: published_s, kept_state: "", ..Self::new(shared, live) }
    }

    /// Drives the run. Ends when nobody can say anything to it any more, which is when it is forgotten: after its end,
    /// late windows may still come.
    pub(crate) async fn drive(mut self, first: Vec<Action>, mut inbox: mpsc::Receiver<Input>) {
        self.act(first, &Hand::default()).await;
        loop {
            self.carry_out_aside().await;
            self.settle().await;
            let wake = self.wake_at();
            let live = self.live.clone();
            tokio::select! {
                biased;
                () = live.stop.notified() => self.stop_asked().await,
                input = inbox.recv() => match input {
                    Some(input) => self.take(input).await,
                    None => return self.leave().await,
                },
                () = live.decided.notified() => {}
                () = tokio::time::sleep_until(wake) => {}
            }
            // Checked each time, so that a busy inbox can't keep a deadline from being met.
            if self.is_time(inbox.len()) {
                self.time().await;
            }
        }
    }

    /// Somebody wants it to end. Asked once more, the decider cuts off what is in flight.
    async fn stop_asked(&mut self) {
        self.decide(Event::StopAsked).await;
        if self.live.cuts_off_at_stop() {
            self.decide(Event::StopAsked).await;
        }
    }

    /// Nobody can say anything any more. A run that is left for the next process has its document as it is now; what of one
    /// that is forgotten could not be kept is delivered to whoever takes what comes late.
    async fn leave(&mut self) {
        self.carry_out_aside().await;
        if !self.live.is_over() && !self.store_failed {
            self.keep_document().await;
        } else {
            self.ask_anew();
        }
    }

    /// Whether a deadline has come. One that was slept over waits a little: agents that pinged all the while would be
    /// called lost, only because nobody had read them. So much is `unread`.
    fn is_time(&mut self, unread: usize) -> bool {
        let now_ns = self.shared.clock.now_ns();
        let deadline_ns = self.live.ask(Run::deadline_ns).unwrap_or(u64::MAX);
        if now_ns < deadline_ns {
            self.catch_up = None;
            return false;
        }
        match &self.catch_up {
            None if now_ns - deadline_ns > SLEPT_NS => {
                self.catch_up = Some(CatchUp::begin(now_ns, unread));
                false
            }
            Some(catch_up) if !catch_up.is_over(now_ns) => false,
            _ => {
                self.catch_up = None;
                true
            }
        }
    }

    fn wake_at(&self) -> Instant {
        let deadline_ns = self.live.ask(Run::deadline_ns);
        let deadline_ns = deadline_ns.map(|ns| ns.max(self.catch_up.as_ref().map_or(0, CatchUp::until_ns)));
        let publish_ns = self.publisher.next_ns();
        let keep_ns = (self.live.is_over() && self.has_to_keep()).then_some(self.keep_at_ns);
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
        } else if self.has_to_keep() && self.keep_at_ns <= self.shared.clock.now_ns() {
            let (_, is_kept) = self.keep_document().await;
            if is_kept && self.store_failed {
                self.store_works_again();
            }
        }
    }

    /// Something of a run that is over could not be kept, and is tried again.
    fn has_to_keep(&self) -> bool {
        self.store_failed || !self.live.is_kept()
    }

    /// Holds the seconds before this one against what the plan demands.
    async fn judge(&mut self, below_s: u32) {
        for Broken { words, abort } in self.live.judge(below_s) {
            // What was seen is a part of the document, and once seen it stays.
            self.keep_at_ns = 0;
            if abort {
                self.decide(Event::ThresholdBroken { words }).await;
            } else {
                let at_run_ns = Some(u64::from(below_s) * SECOND_NS);
                self.live.note(&Note { at_run_ns, level: Level::Warn, text: words });
            }
        }
    }

    async fn end(&mut self) {
        self.judge(self.live.complete_s(self.shared.clock.now_ns())).await;
        let (document, _) = self.keep_document().await;
        self.shared.count_end(document.progress.verdict.unwrap_or(Verdict::None));
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
        self.live.compare_agents(published_s);
        self.judge(published_s).await;
        let run = &self.live.head.id;
        let completed = self.shared.store.complete(run, published_s).await;
        if let Err(error) = self.shared.wrote(completed) {
            return self.store_has_failed(&error).await;
        }
        for from_s in self.publisher.minutes_due() {
            let run_s = self.live.run_s(self.shared.clock.now_ns());
            let (load, gaps) = self.live.ask(|run| (run.load().clone(), Gaps::of(run)));
            let so_far = Past::so_far(run.clone(), load, gaps, run_s);
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
            let is_new = state != self.kept_state;
            self.kept_state = state;
            self.keep_document().await;
            if is_new && state == "draining" {
                crash_at("draining");
            }
        }
    }

    /// Gives the document, and whether it is kept.
    async fn keep_document(&mut self) -> (RunDocument, bool) {
        let document = self.shared.document_of(&self.live);
        self.keep_at_ns = self.shared.clock.now_ns().saturating_add(KEEP_DOCUMENT_NS);
        let updated = self.shared.store.update(&document).await;
        match self.shared.wrote(updated) {
            Ok(()) => {
                if document.progress.over {
                    self.live.set_kept();
                }
                (document, true)
            }
            Err(error) => {
                tracing::error!(run = %document.id, %error, "the run's document could not be kept");
                (document, false)
            }
        }
    }

    /// A deadline has come. A run that gave up waiting is offered those that are there all the same, so that it can
    /// tell how many they were.
    async fn time(&mut self) {
        if self.live.is_gathering() {
            let id = &self.live.head.id;
            let agents = self.shared.idle_agents_for(id, &self.live.head.plan.agents);
            self.offered(agents).await;
        }
        self.decide(Event::Time).await;
    }

    /// Carries out what was decided beside the driver.
    async fn carry_out_aside(&mut self) {
        let actions = self.live.take_aside();
        if !actions.is_empty() {
            self.act(actions, &Hand::default()).await;
        }
    }

    async fn take(&mut self, input: Input) {
        self.catch_up.iter_mut().for_each(CatchUp::read_one);
        match input {
            Input::Offered(agents) => self.offered(agents).await,
            Input::Forbidden { reason } => {
                self.decide(Event::Forbidden { reason }).await;
            }
            Input::Leaving { agent } => self.decide(Event::Leaving { agent }).await,
            Input::Reported { agent, of, report, place } => {
                drop(place);
                self.reported(agent, of, report).await;
            }
        }
    }

    /// Offers agents one by one. Those that the run doesn't need any more are free again.
    async fn offered(&mut self, agents: Vec<AgentFacts>) {
        for facts in agents {
            let agent = facts.incarnation;
            if self.live.ask(Run::wants_agents) {
                self.decide(Event::Joined(facts)).await;
            } else {
                self.shared.free(agent, &self.live.head.id);
            }
        }
    }

    async fn reported(&mut self, agent: Incarnation, of: Option<Incarnation>, report: Report) {
        let event = match report {
            Report::Ready => Event::Ready { agent },
            Report::Refused { reason } => Event::Refused { agent, reason },
            Report::GrantWanted { taken, iterations } => Event::GrantWanted { agent, taken, iterations },
            Report::Window { sequence, window, last } => {
                let start_ns = self.live.ask(Run::start_ns);
                let run_ns =
                    start_ns.map_or(0, |start_ns| self.shared.clock.now_ns().saturating_sub(start_ns));
                let plan = &self.live.head.plan;
                if let Err(fault) = check::window(&window, plan, run_ns) {
                    return self.shared.turn_away(agent, &fault.to_string());
                }
                let facts = WindowFacts::of(sequence, &window, last, &plan.load);
                let (measurer, window) = (of.unwrap_or(agent), Arc::new(window));
                return self.deliver(Delivered { agent: measurer, by: agent, window, facts }).await;
            }
        };
        self.decide(event).await;
    }
}

#[cfg(test)]
mod tests;
