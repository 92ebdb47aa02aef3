//! The thread of a worker, from its event loop to its farewell.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use rustix::thread::gettid;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use super::{Lines, Worker, WorkerPlan};
use crate::Clock;
use crate::dial::{DialPlan, Dialer, Target};
use crate::health::ThreadTime;
use crate::recorder::Gauges;
use crate::reporter::ToReporter;
use crate::timer::Timer;

/// Says that a worker is done, in whatever way its thread ends.
struct Farewell {
    worker: usize,
    to_reporter: Sender<ToReporter>,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let (worker, thread, time) = (self.worker, gettid(), ThreadTime::of_this_thread());
        let _ = self.to_reporter.send(ToReporter::Done { worker, thread, time });
    }
}

/// The whole life of a worker's thread.
pub(crate) fn run(plan: WorkerPlan, dial: DialPlan, lines: Lines) {
    let to_reporter = lines.to_reporter.clone();
    let _farewell = Farewell { worker: plan.index, to_reporter: to_reporter.clone() };
    let (runtime, timer) = match event_loop(plan.clock) {
        Ok(made) => made,
        Err(error) => {
            let _ = to_reporter.send(ToReporter::Standing(Err(error)));
            return;
        }
    };
    let stands_by = || {
        let _ = to_reporter.send(ToReporter::Standing(Ok(gettid())));
    };
    let (clock, control) = (plan.clock, Arc::clone(&lines.control));
    let target = |gauges: &Rc<Gauges>| Target::Sockets(Dialer::new(dial, clock, control, gauges));
    Worker::run_on(&runtime, &timer, plan, target, lines, stands_by);
    // A resolver that is still asked for a name can't be interrupted, and nobody waits for it any more.
    runtime.shutdown_background();
}

/// Most threads of a worker that resolve names.
const RESOLVERS: usize = 64;

/// Without tokio's own timers: see [`Timer`].
fn event_loop(clock: Clock) -> io::Result<(LocalRuntime, Timer)> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io().max_blocking_threads(RESOLVERS).thread_name("volley-resolver");
    let runtime = builder.build_local(LocalOptions::default())?;
    let timer = {
        let _inside = runtime.enter();
        Timer::new(clock)?
    };
    Ok((runtime, timer))
}

impl Worker {
    /// A worker's life on this event loop. It says that it stands by, once it does.
    pub(crate) fn run_on(
        runtime: &LocalRuntime,
        timer: &Timer,
        plan: WorkerPlan,
        target: impl FnOnce(&Rc<Gauges>) -> Target,
        lines: Lines,
        stands_by: impl FnOnce(),
    ) {
        let worker = Rc::new(Self::new(plan, target, lines));
        stands_by();
        if let Err(error) = runtime.block_on(worker.keep(timer)) {
            tracing::error!(worker = worker.index, %error, "a worker's timer failed, its slots are gone");
        }
        let mut recorder = worker.recorder.borrow_mut();
        recorder.polled(worker.spinning.take_polled_ns());
        recorder.finish();
    }
}
