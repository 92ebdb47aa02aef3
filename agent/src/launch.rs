//! The seam between a run and its engine: what a run needs of one, so that a test or a simulation can put another in its
//! place.

use tokio::sync::mpsc::UnboundedReceiver;
use volley_engine::{Command, Engine, Event, Setup};

/// What a run needs of an engine.
pub trait Loops: Send {
    /// Takes a command. It never waits for anything.
    fn command(&self, command: Command);

    /// Ends all sending at once, and everything else without making the caller wait.
    fn retire(self: Box<Self>);
}

/// An engine with what it tells.
pub struct Launched {
    /// The engine.
    pub loops: Box<dyn Loops>,
    /// What it tells. They end after the last window or a refusal; if they end without, it has broken down.
    pub events: UnboundedReceiver<Event>,
}

/// Makes an engine. It never waits for anything.
pub type Launch = Box<dyn Fn(Setup) -> Launched + Send>;

impl Loops for Engine {
    fn command(&self, command: Command) {
        Self::command(self, command);
    }

    /// The engine's threads end on a thread of their own, since the link must not wait.
    fn retire(self: Box<Self>) {
        Self::command(&self, Command::Stop { at_ns: 0, drain_ns: 0 });
        let thread = std::thread::Builder::new().name("volley-retire".to_owned());
        if let Err(error) = thread.spawn(move || drop(self)) {
            tracing::warn!(%error, "no thread to end the engine on, so it was ended on the link's");
        }
    }
}

/// Makes a real engine.
pub(crate) fn launch_engine(setup: Setup) -> Launched {
    let (engine, events) = Engine::launch(setup);
    Launched { loops: Box::new(engine), events }
}
