//! The engine as its owner sees it.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::api::{Command, Event, Setup};
use crate::control::{Control, PlannedEnd};
use crate::limit::{Limit, Pool};
use crate::nanoseconds;
use crate::pace::Work;
use crate::reporter::{Reporter, ToReporter};

use volley_plan::{Amount, Load};

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
        let work = Work::new(&setup.plan, &setup.share, setup.seed);
        let most = work.as_ref().map_or(1, Work::workers_max);
        let workers = u32::try_from(setup.workers).unwrap_or(u32::MAX).clamp(1, most);
        let control = Arc::new(control(&setup.plan.load, work.as_ref().ok(), workers as usize));
        let reporter = work.map_err(|error| error.to_string()).and_then(|work| {
            let (control, events, to_self) = (Arc::clone(&control), events.clone(), to_reporter.clone());
            let reporter = Reporter { setup, work, workers, control, events, to_self };
            let thread = thread::Builder::new().name("volley-reporter".to_owned());
            let thread = thread.spawn(move || reporter.run(&inbox));
            thread.map_err(|error| format!("a thread could not be started: {error}"))
        });
        if let Err(reason) = &reporter {
            // The receiver is in this function's hands.
            let _ = events.send(Event::Refused { reason: reason.clone() });
        }
        (Self { control, to_reporter, reporter: reporter.ok() }, received)
    }

    /// Takes a command. It never waits for anything.
    pub fn command(&self, command: Command) {
        self.control.obey(command);
    }
}

pub(crate) fn control(load: &Load, work: Option<&Work>, workers: usize) -> Control {
    let limit = match work {
        Some(Work::Closed { load, share }) if matches!(load.iterations, Some(Amount::InAll(_))) => {
            Limit::Granted(Mutex::new(Pool::new(workers, share.users)))
        }
        _ => Limit::Unlimited,
    };
    let lets_finish = work.is_some_and(|work| matches!(work, Work::Open { .. }) && work.ends_by_count());
    let planned_end = load.total_ns().map(|duration_ns| PlannedEnd {
        lets_finish,
        duration_ns,
        drain_ns: nanoseconds(load.drain),
    });
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
