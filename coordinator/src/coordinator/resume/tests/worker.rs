//! An agent that works by itself, keeps its windows until they are acknowledged, and goes on with whichever coordinator
//! there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval, sleep};
use volley_plan::Model;
use volley_plan::link::{FromAgent, Incarnation, Order, Progress, Report, RoundTrip, RunId, ToAgent};
use volley_stats::{Part, SECOND_NS, SealedWindow, Window};

use crate::Coordinator;
use crate::testing::{Arrivals, connection, hello, open_window, window};

/// The coordinator of the moment.
pub(super) type Present = watch::Receiver<Option<Coordinator>>;

/// How often it pings and looks whether a second is over.
const BEAT: Duration = Duration::from_millis(250);

/// See the module's page.
pub(super) struct Worker {
    incarnation: Incarnation,
    epoch: Instant,
    /// How far its clock is ahead of its process' start.
    ahead: Duration,
    job: Option<Job>,
    /// Requests in all its windows.
    pub(super) done: Arc<AtomicU64>,
}

/// A run at hand.
struct Job {
    run: RunId,
    acknowledged: u64,
    is_ready: bool,
    start: Option<Instant>,
    until: Option<Duration>,
    arrivals: Option<Arrivals>,
    /// The end of its last grant, how many iterations of it are to be done, and whether it is the last.
    grant: (u64, u64, bool),
    wants_more: bool,
    is_stopped: bool,
    /// Its windows; the last one, once it is there.
    windows: Vec<Window>,
    is_done: bool,
    is_released: bool,
    /// Those that were sent over the present connection.
    sent: usize,
    kept: usize,
}

impl Job {
    fn new(run: RunId) -> Self {
        Self {
            run,
            acknowledged: 0,
            is_ready: false,
            start: None,
            until: None,
            arrivals: None,
            grant: (0, 0, false),
            wants_more: false,
            is_stopped: false,
            windows: Vec::new(),
            is_done: false,
            is_released: false,
            sent: 0,
            kept: 0,
        }
    }
}

impl Job {
    /// What happened in a second, of which so much may be over only: something else in each, so that a window that is
    /// repeated or lost changes the totals.
    fn second(&mut self, second: u32, elapsed: Duration) -> (u64, Window) {
        let Some(arrivals) = &self.arrivals else {
            let granted = std::mem::take(&mut self.grant.1);
            let requests = if self.until.is_none() { granted } else { 1 + u64::from(second % 50) * 3 };
            return (requests, window(second, requests, 0));
        };
        let begun_ns = u64::from(second) * SECOND_NS;
        let end_ns = (begun_ns + SECOND_NS).min(u64::try_from(elapsed.as_nanos()).unwrap());
        let requests = arrivals.due_in(begun_ns, end_ns);
        (requests, open_window(second, Part::Measured, (requests, 0), 1 + u64::from(second)))
    }
}

impl Worker {
    /// Lets one work. Gives the number of requests that it has done.
    pub(super) fn start(incarnation: u64, present: &Present) -> Arc<AtomicU64> {
        let done = Arc::new(AtomicU64::new(0));
        let worker = Self {
            incarnation: Incarnation(incarnation),
            epoch: Instant::now(),
            ahead: Duration::from_secs(1_000 * incarnation),
            job: None,
            done: done.clone(),
        };
        tokio::spawn(worker.work(present.clone()));
        done
    }

    async fn work(mut self, mut present: Present) {
        loop {
            let Ok(coordinator) = present.wait_for(Option::is_some).await.map(|there| there.clone()) else {
                return;
            };
            let Some(coordinator) = coordinator else { continue };
            let (to, mut from) = connection(&coordinator);
            let name = format!("agent {}", self.incarnation);
            let joined = to.send(FromAgent::Join(hello(self.incarnation, &name))).await;
            if joined.is_ok() && from.recv().await == Some(ToAgent::Welcome) {
                self.converse(to, from).await;
            }
            sleep(BEAT).await;
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from((self.epoch.elapsed() + self.ahead).as_nanos()).unwrap()
    }

    fn moment(&self, at_ns: u64) -> Instant {
        self.epoch + Duration::from_nanos(at_ns).saturating_sub(self.ahead)
    }

    /// Until the connection ends.
    async fn converse(&mut self, to: mpsc::Sender<FromAgent>, mut from: mpsc::Receiver<ToAgent>) {
        if let Some(job) = &mut self.job {
            (job.sent, job.is_ready, job.wants_more) = (job.kept, false, false);
        }
        let mut beat = interval(BEAT);
        let mut round_trip = None;
        loop {
            let said = tokio::select! {
                message = from.recv() => match message {
                    Some(message) => self.hear(message, &mut round_trip),
                    None => return,
                },
                _ = beat.tick() => {
                    self.count();
                    let progress = self.job.as_ref().filter(|job| job.acknowledged > 0 && !job.is_released).map(|job| Progress {
                        run: job.run.clone(),
                        acknowledged: job.acknowledged,
                        start_ns: job.start.map(|start| self.reading(start)),
                    });
                    Some(FromAgent::Ping { sent_ns: self.now_ns(), round_trip, progress, leaving: false })
                }
            };
            for message in said.into_iter().chain(self.reports()) {
                if to.send(message).await.is_err() {
                    return;
                }
            }
        }
    }

    fn reading(&self, moment: Instant) -> u64 {
        u64::try_from((moment.saturating_duration_since(self.epoch) + self.ahead).as_nanos()).unwrap()
    }

    fn hear(&mut self, message: ToAgent, round_trip: &mut Option<RoundTrip>) -> Option<FromAgent> {
        match message {
            ToAgent::Pong { sent_ns, received_ns, answered_ns, .. } => {
                *round_trip =
                    Some(RoundTrip { sent_ns, received_ns, answered_ns, returned_ns: self.now_ns() });
            }
            ToAgent::Order { run, number, order } => self.take(&run, number, order),
            ToAgent::Acknowledge { sequence, .. } => {
                if let Some(job) = &mut self.job {
                    job.kept = job.kept.max(usize::try_from(sequence).unwrap());
                }
                self.end();
            }
            ToAgent::Welcome | ToAgent::Refused { .. } => panic!("{message:?}"),
        }
        None
    }

    fn take(&mut self, run: &RunId, number: u64, order: Order) {
        if self.job.as_ref().is_none_or(|job| job.run != *run) && number == 1 {
            self.job = Some(Job::new(run.clone()));
        }
        let Some(mut job) = self.job.take().filter(|job| job.run == *run) else { return };
        if number == job.acknowledged + 1 {
            job.acknowledged = number;
            match order {
                Order::Prepare { plan, share, seed, .. } => {
                    let plan = Arc::new(volley_plan::parse(&plan).unwrap());
                    job.until = plan.load.total_ns().map(Duration::from_nanos);
                    let (load, legs) = (plan.load.clone(), vec![(0, share.stripes)]);
                    let is_open = matches!(load.model, Model::Open(_));
                    job.arrivals = is_open.then_some(Arrivals { plan, load, seed, legs });
                }
                Order::Start { at_ns, .. } => job.start = Some(self.moment(at_ns)),
                Order::Stop { .. } => job.is_stopped = true,
                Order::Release => job.is_released = true,
                Order::Grant { from, to, last } => {
                    job.grant = (to, job.grant.1 + to - from, last);
                    job.wants_more = false;
                }
                Order::Change { at_ns, share, .. } => {
                    if let Some(arrivals) = &mut job.arrivals {
                        arrivals.legs.push((at_ns, share.stripes));
                    }
                }
            }
        }
        self.job = Some(job);
        self.end();
    }

    /// Forgets a run that it was let go from, once all of its windows are kept.
    fn end(&mut self) {
        self.job.take_if(|job| job.is_released && job.kept == job.windows.len());
    }

    /// Counts the seconds that are over.
    fn count(&mut self) {
        let Some(job) = self.job.as_mut().filter(|job| !job.is_done) else { return };
        let Some(start) = job.start else { return };
        let elapsed = Instant::now().saturating_duration_since(start);
        let (second, until) = (u32::try_from(job.windows.len()).unwrap(), job.until);
        let is_over = job.is_stopped || until.map_or(job.grant.2, |until| elapsed >= until);
        if is_over || elapsed >= Duration::from_secs(u64::from(second) + 1) {
            let (requests, window) = job.second(second, elapsed);
            job.windows.push(window);
            self.done.fetch_add(requests, Ordering::Relaxed);
            job.is_done = is_over;
        }
    }

    /// What has not been said over this connection.
    fn reports(&mut self) -> Vec<FromAgent> {
        let Some(job) = &mut self.job else { return Vec::new() };
        let report = |report| FromAgent::Report { run: job.run.clone(), of: None, report };
        let mut said = Vec::new();
        if job.acknowledged > 0 && job.start.is_none() && !job.is_ready {
            job.is_ready = true;
            said.push(report(Report::Ready));
        }
        let (all, is_done) = (job.windows.len(), job.is_done);
        let (taken, left, is_last) = job.grant;
        if taken > 0 && left == 0 && !is_last && !job.wants_more {
            job.wants_more = true;
            said.push(report(Report::GrantWanted { taken, iterations: 20 }));
        }
        for index in job.sent.max(job.kept)..all {
            let (sequence, last) = (index as u64 + 1, is_done && index + 1 == all);
            let window = SealedWindow::of(&job.windows[index]);
            said.push(report(Report::Window { sequence, window, last }));
        }
        job.sent = all;
        said
    }
}
