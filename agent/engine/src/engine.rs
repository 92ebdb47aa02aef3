//! The engine as its owner sees it.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::api::{Command, Event, Setup};
use crate::control::{Control, PlannedEnd};
use crate::limit::{Limit, Pool};
use crate::reporter::{Reporter, ToReporter};
use crate::{nanoseconds, planned_load};

/// One run's request loops. Dropping it cuts off what is in flight, ends its threads and waits for them.
#[derive(Debug)]
pub struct Engine {
    control: Arc<Control>,
    to_reporter: Sender<ToReporter>,
    reporter: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts to get ready and returns at once; what comes of it is told by events.
    ///
    /// The events come over a channel without a bound: about one a second, and one for each grant. They end after the
    /// last window or a refusal.
    #[must_use]
    pub fn launch(setup: Setup) -> (Self, UnboundedReceiver<Event>) {
        let (events, received) = unbounded_channel();
        let (to_reporter, inbox) = mpsc::channel();
        let users = setup.share.users;
        let workers = setup.workers.clamp(1, (users as usize).max(1));
        let control = Arc::new(control(&setup, workers));
        let reporter = Reporter {
            setup,
            workers,
            control: Arc::clone(&control),
            events: events.clone(),
            inbox,
            to_self: to_reporter.clone(),
        };
        let thread = thread::Builder::new().name("volley-reporter".to_owned()).spawn(|| reporter.run());
        if let Err(error) = &thread {
            let reason = format!("a thread could not be started: {error}");
            // The receiver is in this function's hands.
            let _ = events.send(Event::Refused { reason });
        }
        (Self { control, to_reporter, reporter: thread.ok() }, received)
    }

    /// Takes a command. It never waits for anything.
    pub fn command(&self, command: Command) {
        self.control.obey(command);
    }
}

fn control(setup: &Setup, workers: usize) -> Control {
    let load = planned_load(&setup.plan);
    let limit = match load.requests {
        Some(_) => Limit::Granted(Mutex::new(Pool::new(workers, setup.share.users))),
        None => Limit::Unlimited,
    };
    let planned_end = load
        .duration
        .map(|duration| PlannedEnd { duration_ns: nanoseconds(duration), drain_ns: nanoseconds(load.drain) });
    Control::new(limit, planned_end, workers)
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.control.quit();
        let _ = self.to_reporter.send(ToReporter::Quit);
        if self.reporter.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("an engine's reporter panicked");
        }
    }
}
