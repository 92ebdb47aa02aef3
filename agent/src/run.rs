//! The run at hand: its stage, its engine, and what it still has to say of itself.

use std::time::Duration;

use tokio::sync::mpsc::error::TryRecvError;
use volley_engine::{Command, Event};
use volley_plan::link::{Order, Report, RunId, Share};
use volley_plan::{Adjust, Level};
use volley_stats::Window;

use crate::launch::Launched;
use crate::permit::Permit;

/// Where a run stands.
///
/// ```text
/// Preparing --> Ready --> Running --> Over
///     |           |                    ^
///     +-----------+--> Refused         |  (a run that was displaced, released or
///                                          abandoned before it began is dropped)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The engine resolves names and starts its workers.
    Preparing,
    /// It stands by; `told` once that has been said over the present connection.
    Ready { told: bool },
    /// The share can't be done here.
    Refused { reason: String, told: bool },
    /// Run time 0 is known.
    Running {
        /// The furthest lease, in run time.
        lease_until_ns: u64,
        /// It was stopped by this agent: the coordinator could not be reached, or the agent is about to end.
        abandoned: bool,
    },
    /// The engine has said its last word.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wish {
    taken: u64,
    iterations: u64,
    told: bool,
}

/// Why this agent's part ends before its time: what it was changed to may not or can't be done here, or nobody leads it any
/// more.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Veto {
    reason: String,
    told: bool,
}

/// One run as its agent sees it.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) stage: Stage,
    /// The highest order taken.
    pub(crate) taken: u64,
    /// Run time 0 on the agent's clock, once it is known.
    pub(crate) start_ns: Option<u64>,
    /// Nothing where it was refused.
    permit: Option<Permit>,
    engine: Option<Launched>,
    wish: Option<Wish>,
    veto: Option<Veto>,
    watermark_s: u32,
}

impl Run {
    /// A run that has taken its first order, to prepare: permitted and with an engine, or refused.
    pub(crate) fn prepared(id: RunId, engine: Result<(Permit, Launched), String>) -> Self {
        let (permit, engine, stage) = match engine {
            Ok((permit, engine)) => (Some(permit), Some(engine), Stage::Preparing),
            Err(reason) => (None, None, Stage::Refused { reason, told: false }),
        };
        Self { id, stage, taken: 1, start_ns: None, permit, engine, wish: None, veto: None, watermark_s: 0 }
    }

    /// How long its end may take from the word to end it on.
    pub(crate) fn patience(&self) -> Duration {
        self.permit.as_ref().map_or(Duration::ZERO, Permit::patience)
    }

    /// Does what an order says that is not about getting ready or forgetting.
    pub(crate) fn obey(&mut self, order: Order) {
        match order {
            Order::Start { at_ns, from_ns, lease_until_ns } => self.start(at_ns, from_ns, lease_until_ns),
            Order::Change { at_ns, share, to, over_ns } => self.change(at_ns, share, to, over_ns),
            Order::Grant { from, to, last } => {
                self.wish = None;
                self.command(Command::Grant { from, to, last });
            }
            Order::Stop { at_ns, drain_ns } => self.command(Command::Stop { at_ns, drain_ns }),
            Order::Prepare { .. } | Order::Release => {}
        }
    }

    fn start(&mut self, at_ns: u64, from_ns: u64, lease_until_ns: u64) {
        if matches!(self.stage, Stage::Preparing | Stage::Ready { .. }) {
            self.start_ns = Some(at_ns);
            self.stage = Stage::Running { lease_until_ns, abandoned: false };
            self.command(Command::Start { at_ns, from_ns, lease_until_ns });
        }
    }

    /// Takes another share. A load that this agent may not do ends its part of the run instead.
    fn change(&mut self, at_ns: u64, share: Share, to: Option<Level>, over_ns: u64) {
        if self.veto.is_some() {
            return; // Its part ends before that.
        }
        if let Some((permit, to)) = self.permit.as_mut().zip(to)
            && let Err(denied) = permit.adjust(Adjust { at_ns, to })
        {
            // The engine would refuse such a change as well, but what is in flight is to finish.
            let drain_ns = u64::try_from(permit.drain().as_nanos()).unwrap_or(u64::MAX);
            self.command(Command::Stop { at_ns, drain_ns });
            return self.veto(&format!("the agent's own allow-list forbids it: {denied}"));
        }
        self.command(Command::Change { at_ns, share, to, over_ns });
    }

    /// Remembers why its part ends, to tell it. The first reason counts.
    fn veto(&mut self, why: &str) {
        if self.veto.is_none() {
            tracing::warn!(run = %self.id, why, "what the load was changed to may not be done here, so it ends here");
            let reason = format!("what the load was changed to may not be done there: {why}");
            self.veto = Some(Veto { reason, told: false });
        }
    }

    /// Takes a lease that reaches further than the one at hand.
    pub(crate) fn renew(&mut self, until_ns: u64) {
        let Stage::Running { lease_until_ns, .. } = &mut self.stage else { return };
        if until_ns > *lease_until_ns {
            *lease_until_ns = until_ns;
            self.command(Command::Lease { until_ns });
        }
    }

    fn command(&self, command: Command) {
        if let Some(engine) = &self.engine {
            engine.loops.command(command);
        }
    }

    /// Waits for what the engine tells next; `None` once it is gone without a last word.
    pub(crate) async fn next_event(&mut self) -> Option<Event> {
        match &mut self.engine {
            Some(engine) => engine.events.recv().await,
            None => std::future::pending().await,
        }
    }

    /// What the engine has told already, as [`Self::next_event`] gives it; `None` if that would wait.
    pub(crate) fn ready_event(&mut self) -> Option<Option<Event>> {
        match self.engine.as_mut()?.events.try_recv() {
            Ok(event) => Some(Some(event)),
            Err(TryRecvError::Disconnected) => Some(None),
            Err(TryRecvError::Empty) => None,
        }
    }

    /// Takes what the engine tells, and gives back the window that is to be kept.
    pub(crate) fn hear(&mut self, event: Option<Event>) -> Option<(Window, bool)> {
        match event {
            Some(Event::Ready) => {
                if self.stage == Stage::Preparing {
                    self.stage = Stage::Ready { told: false };
                }
                None
            }
            Some(Event::Refused { reason }) => {
                self.refuse(reason);
                None
            }
            Some(Event::Vetoed { reason }) => {
                self.veto(&reason);
                None
            }
            Some(Event::GrantWanted { taken, iterations }) => {
                self.wish = Some(Wish { taken, iterations, told: false });
                None
            }
            Some(Event::Window { window, last }) => {
                self.watermark_s = window.watermark_s;
                if last {
                    self.end();
                }
                Some((window, last))
            }
            None => self.engine_gone(),
        }
    }

    fn refuse(&mut self, reason: String) {
        if matches!(self.stage, Stage::Preparing | Stage::Ready { .. }) {
            self.stage = Stage::Refused { reason, told: false };
        }
        self.retire_engine();
    }

    fn end(&mut self) {
        self.stage = Stage::Over;
        self.wish = None;
        self.retire_engine();
    }

    /// An engine that ends without a last word is broken; without one the coordinator would wait for it in vain.
    fn engine_gone(&mut self) -> Option<(Window, bool)> {
        tracing::error!(run = %self.id, "the engine ended without its last window");
        if matches!(self.stage, Stage::Running { .. }) {
            self.end();
            return Some((Window { watermark_s: self.watermark_s, ..Window::default() }, true));
        }
        self.refuse("the engine ended before the run began".to_owned());
        None
    }

    /// True while silence of the coordinator matters to it.
    pub(crate) fn needs_contact(&self) -> bool {
        match self.stage {
            Stage::Preparing | Stage::Ready { .. } | Stage::Refused { .. } => true,
            Stage::Running { abandoned, .. } => !abandoned,
            Stage::Over => false,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running { .. })
    }

    /// True once nothing more comes of it.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Stops without an order to, and tells why as soon as there is somebody to tell. What was due after its lease may have
    /// become somebody else's, so it stops no later than that. Gives back whether there is something to deliver later.
    pub(crate) fn abandon(&mut self, now_ns: u64, why: String) -> bool {
        let Stage::Running { abandoned, lease_until_ns } = &mut self.stage else { return false };
        if !std::mem::replace(abandoned, true) {
            self.veto.get_or_insert(Veto { reason: why, told: false });
        }
        let run_ns = now_ns.saturating_sub(self.start_ns.unwrap_or(now_ns));
        let at_ns = run_ns.min(*lease_until_ns);
        self.command(Command::Stop { at_ns, drain_ns: 0 });
        true
    }

    /// Ends the engine, and gives back the windows that it had ready.
    pub(crate) fn dismiss(&mut self) -> Vec<(Window, bool)> {
        let mut windows = Vec::new();
        if let Some(engine) = &mut self.engine {
            while let Ok(event) = engine.events.try_recv() {
                if let Event::Window { window, last } = event {
                    windows.push((window, last));
                }
            }
        }
        self.retire_engine();
        windows
    }

    /// Stops all sending at once.
    fn retire_engine(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.loops.retire();
        }
    }

    /// The connection is a new one: what may have been lost with the last is said again.
    pub(crate) fn reconnected(&mut self) {
        if let Stage::Ready { told } | Stage::Refused { told, .. } = &mut self.stage {
            *told = false;
        }
        if let Some(wish) = &mut self.wish {
            wish.told = false;
        }
        if let Some(veto) = &mut self.veto {
            veto.told = false;
        }
    }

    pub(crate) fn has_report(&self) -> bool {
        matches!(self.stage, Stage::Ready { told: false } | Stage::Refused { told: false, .. })
            || self.wish.is_some_and(|wish| !wish.told)
            || self.veto.as_ref().is_some_and(|veto| !veto.told)
    }

    /// What is to be said next of this run, windows apart.
    pub(crate) fn next_report(&mut self) -> Option<Report> {
        match &mut self.stage {
            Stage::Ready { told: told @ false } => {
                *told = true;
                return Some(Report::Ready);
            }
            Stage::Refused { told: told @ false, reason } => {
                *told = true;
                return Some(Report::Refused { reason: reason.clone() });
            }
            _ => {}
        }
        if let Some(veto) = self.veto.as_mut().filter(|veto| !veto.told) {
            veto.told = true;
            return Some(Report::Refused { reason: veto.reason.clone() });
        }
        let wish = self.wish.as_mut().filter(|wish| !wish.told)?;
        wish.told = true;
        Some(Report::GrantWanted { taken: wish.taken, iterations: wish.iterations })
    }
}
