//! The engine as its owner sees it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};

use crate::api::{Command, Event, Setup};
use crate::control::Control;
use crate::deal::{Deal, DealError};
use crate::reporter::{Reporter, ToReporter};
use crate::{Clock, sentence};

/// One run's request loops. Dropping it cuts off what is in flight, ends its threads and waits for them.
#[derive(Debug)]
pub struct Engine {
    clock: Clock,
    /// Nothing where the share was refused at once.
    loops: Option<Loops>,
}

#[derive(Debug)]
struct Loops {
    control: Arc<Control>,
    to_reporter: Sender<ToReporter>,
    /// It doesn't keep the channel open once all threads are gone.
    events: WeakUnboundedSender<Event>,
    reporter: Option<JoinHandle<()>>,
}

/// Why no loops were started.
#[derive(Debug, Error)]
enum LaunchError {
    #[error("the share cannot be done")]
    Deal(#[from] DealError),
    #[error("a thread could not be started")]
    Thread(#[from] io::Error),
}

impl Engine {
    /// Starts to get ready and returns at once; what comes of it is told by events.
    ///
    /// The events come over a channel without a bound: about one a second, and one for each grant. They end after the
    /// last window or a refusal.
    #[must_use]
    pub fn launch(setup: Setup) -> (Self, UnboundedReceiver<Event>) {
        let (events, received) = unbounded_channel();
        let clock = setup.clock;
        let loops = Loops::launch(setup, events.clone()).map_err(|error| {
            // The receiver is in this function's hands.
            let _ = events.send(Event::Refused { reason: sentence(&error) });
        });
        (Self { clock, loops: loops.ok() }, received)
    }

    /// Takes a command. It waits for nothing; a change of a Poisson load may take a tenth of a second to work out.
    pub fn command(&self, command: Command) {
        let Some(loops) = &self.loops else { return };
        if let Err(reason) = loops.control.obey(command, self.clock.now_ns())
            && let Some(events) = loops.events.upgrade()
        {
            // An engine whose events nobody reads does its work all the same.
            let _ = events.send(Event::Vetoed { reason });
        }
    }
}

impl Loops {
    fn launch(setup: Setup, events: UnboundedSender<Event>) -> Result<Self, LaunchError> {
        let control = Arc::new(Control::new(Deal::new(&setup)?));
        let (to_reporter, inbox) = mpsc::channel();
        let weak = events.downgrade();
        let reporter =
            Reporter { setup, control: Arc::clone(&control), events, to_self: to_reporter.clone() };
        let thread = thread::Builder::new().name("volley-reporter".to_owned());
        let reporter = thread.spawn(move || reporter.run(&inbox))?;
        Ok(Self { control, to_reporter, events: weak, reporter: Some(reporter) })
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.control.quit();
        let _ = self.to_reporter.send(ToReporter::Quit);
        if self.reporter.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("an engine's reporter panicked");
        }
    }
}
