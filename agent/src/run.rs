//! The run at hand: its stage, its engine, and what it still has to say of itself.

use tokio::sync::mpsc::UnboundedReceiver;
use volley_engine::{Command, Engine, Event, Setup};
use volley_plan::link::{Order, Report, RunId};
use volley_stats::Window;

/// What a run needs of an engine: to be told things, and to end everything when it is dropped.
pub(crate) trait Loops: Send {
    fn command(&self, command: Command);
}

impl Loops for Engine {
    fn command(&self, command: Command) {
        Self::command(self, command);
    }
}

/// An engine with what it tells.
pub(crate) struct Launched {
    pub(crate) loops: Box<dyn Loops>,
    pub(crate) events: UnboundedReceiver<Event>,
}

/// Makes an engine.
pub(crate) type Launch = Box<dyn Fn(Setup) -> Launched + Send>;

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
        /// Run time 0, agent's clock.
        start_ns: u64,
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

/// One run as its agent sees it.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) stage: Stage,
    /// The highest order taken.
    pub(crate) taken: u64,
    engine: Option<Launched>,
    wish: Option<Wish>,
    watermark_s: u32,
}

impl Run {
    /// A run that has taken its first order, to prepare.
    pub(crate) fn prepared(id: RunId, engine: Result<Launched, String>) -> Self {
        let (engine, stage) = match engine {
            Ok(engine) => (Some(engine), Stage::Preparing),
            Err(reason) => (None, Stage::Refused { reason, told: false }),
        };
        Self { id, stage, taken: 1, engine, wish: None, watermark_s: 0 }
    }

    /// Does what an order says that is not about getting ready or forgetting.
    pub(crate) fn obey(&mut self, order: &Order) {
        match *order {
            Order::Start { at_ns, lease_until_ns } => self.start(at_ns, lease_until_ns),
            Order::Grant { from, to, last } => {
                self.wish = None;
                self.command(Command::Grant { from, to, last });
            }
            Order::Stop { at_ns, drain_ns } => self.command(Command::Stop { at_ns, drain_ns }),
            Order::Prepare { .. } | Order::Release => {}
        }
    }

    fn start(&mut self, at_ns: u64, lease_until_ns: u64) {
        if matches!(self.stage, Stage::Preparing | Stage::Ready { .. }) {
            self.stage = Stage::Running { start_ns: at_ns, lease_until_ns, abandoned: false };
            self.command(Command::Start { at_ns, lease_until_ns });
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

    /// Stops without an order to. Gives back whether there is something to deliver later.
    pub(crate) fn abandon(&mut self, now_ns: u64) -> bool {
        let Stage::Running { start_ns, abandoned, .. } = &mut self.stage else { return false };
        *abandoned = true;
        let at_ns = now_ns.saturating_sub(*start_ns);
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

    /// Stops all sending at once. The engine's threads end on a thread of their own, since the link must not wait.
    fn retire_engine(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.loops.command(Command::Stop { at_ns: 0, drain_ns: 0 });
            let thread = std::thread::Builder::new().name("volley-retire".to_owned());
            if let Err(error) = thread.spawn(move || drop(engine)) {
                tracing::warn!(%error, "no thread to end the engine on, so it was ended on the link's");
            }
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
    }

    pub(crate) fn has_report(&self) -> bool {
        matches!(self.stage, Stage::Ready { told: false } | Stage::Refused { told: false, .. })
            || self.wish.is_some_and(|wish| !wish.told)
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
        let wish = self.wish.as_mut().filter(|wish| !wish.told)?;
        wish.told = true;
        Some(Report::GrantWanted { taken: wish.taken, iterations: wish.iterations })
    }
}
