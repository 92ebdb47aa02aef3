//! A model of the engine: what the real one does with commands and time, without threads, sockets and a clock.
//!
//! It is told what time it is and does all that is due by then. Commands may come from within a session, which holds a
//! handle; they take effect the next time the engine is woken, which the world does at once.

mod commands;
mod open;
mod pool;
mod results;
mod users;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedSender;
use volley_engine::{Command, Event, Setup};
use volley_plan::link::Share;
use volley_plan::{Adjust, Level, Load, Model};
use volley_stats::Part;

use self::open::Arrivals;
use self::results::{Ending, Results};
use self::users::{Begun, Users, Wish};
use crate::random::Random;

/// A time that does not come.
const NEVER: u64 = u64::MAX;
const MS: u64 = 1_000_000;

/// An iteration that was sent to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Its number in the run: the arrival's, or that of the granted iteration; of users without grants one that says
    /// nothing.
    pub(crate) n: u64,
    /// The stripe's number that it belongs to: the arrival's or the user's.
    pub(crate) place: u64,
    /// When it was due, in run time.
    pub(crate) due_ns: u64,
    pub(crate) part: Part,
}

/// How the target answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Most time that preparing takes.
    pub(crate) prepare_ms: u64,
    /// Whether the engine can't do its share.
    pub(crate) refuses: bool,
}

/// The times that an engine must keep, in run time but for the first.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Run time 0 on the agent's clock.
    start_ns: u64,
    /// What is due before this is not this engine's.
    from_ns: u64,
    lease_until_ns: u64,
    /// What is due before this was due while there was no lease: it is missed and never sent.
    lapsed_until_ns: u64,
    /// What is due before this is known to be this engine's own, also without a lease.
    own_until_ns: u64,
    /// No iteration starts from then on.
    stop_ns: u64,
    /// What is in flight then is cut off.
    cancel_ns: u64,
}

#[derive(Clone, Debug)]
struct Change {
    at_ns: u64,
    share: Share,
    to: Option<Level>,
    over_ns: u64,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    part: Part,
    user: Option<u32>,
    ending: Ending,
}

#[derive(Debug)]
enum Work {
    Open(Arrivals),
    Closed(Users),
}

/// The model. See the module's page.
#[derive(Debug)]
pub(crate) struct Engine {
    load: Load,
    seed: u64,
    random: Random,
    habits: Habits,
    inbox: VecDeque<Command>,
    events: UnboundedSender<Event>,
    /// When preparing is done, on the agent's clock; known once it was woken.
    ready_ns: Option<u64>,
    is_ready: bool,
    times: Option<Times>,
    changes: VecDeque<Change>,
    work: Work,
    /// By the run time of their ends, and a number.
    in_flight: BTreeMap<(u64, u64), Flight>,
    flights: u64,
    results: Results,
    is_over: bool,
}

/// An engine that a session commands and a world wakes.
#[derive(Clone, Debug)]
pub(crate) struct Handle(Arc<Mutex<Engine>>);

impl Handle {
    pub(crate) fn new(engine: Engine) -> Self {
        Self(Arc::new(Mutex::new(engine)))
    }

    /// No operation leaves an engine half done, so what a panic left is as good as any.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Engine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    pub(crate) fn new(setup: &Setup, habits: Habits, random: Random, events: UnboundedSender<Event>) -> Self {
        let mut load = setup.plan.load.clone();
        for adjust in &setup.adjusted {
            load = load.adjusted(*adjust).expect("the coordinator adjusted it likewise");
        }
        let work = match &load.model {
            Model::Open(open) => Work::Open(Arrivals::new(open, setup.seed, &setup.share, 0)),
            Model::Closed(closed) => Work::Closed(Users::new(closed, &setup.share)),
        };
        Self {
            load,
            seed: setup.seed,
            random,
            habits,
            inbox: VecDeque::new(),
            events,
            ready_ns: None,
            is_ready: false,
            times: None,
            changes: VecDeque::new(),
            work,
            in_flight: BTreeMap::new(),
            flights: 0,
            results: Results::default(),
            is_over: false,
        }
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.inbox.push_back(command);
    }

    /// Ends at once, with nothing said.
    pub(crate) fn retire(&mut self) {
        self.is_over = true;
    }

    /// Does all that is due at `clock_ns` of the agent's clock. Gives the time at which it wants to be woken again.
    pub(crate) fn wake(&mut self, clock_ns: u64, sent: &mut Vec<Sent>) -> Option<u64> {
        let ready_ns = *self
            .ready_ns
            .get_or_insert_with(|| clock_ns + self.random.within(0..self.habits.prepare_ms + 1) * MS);
        while let Some(command) = self.inbox.pop_front() {
            self.obey(clock_ns, command);
        }
        if self.is_over {
            return None;
        }
        if !self.is_ready && clock_ns >= ready_ns {
            self.get_ready();
        }
        let Some(times) = self.times else { return (!self.is_ready).then_some(ready_ns) };
        if clock_ns < times.start_ns {
            return Some(times.start_ns);
        }
        let run_ns = clock_ns - times.start_ns;
        self.roll(run_ns);
        self.complete(run_ns);
        self.go_on(run_ns, sent);
        self.cancel(run_ns);
        if self.is_through(run_ns) {
            self.end(run_ns);
            return None;
        }
        Some(self.next_ns(run_ns).saturating_add(times.start_ns))
    }

    /// An engine whose events nobody reads does its work all the same.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    fn get_ready(&mut self) {
        self.is_ready = true;
        if self.habits.refuses {
            self.is_over = true;
            return self.tell(Event::Refused { reason: "there are no descriptors left".to_owned() });
        }
        self.tell(Event::Ready);
    }

    /// Ends the second at hand if it is over.
    fn roll(&mut self, run_ns: u64) {
        if run_ns < self.results.end_ns() {
            return;
        }
        let users = match &self.work {
            Work::Open(_) => 0,
            Work::Closed(users) => users.present(run_ns),
        };
        let in_flight = u32::try_from(self.in_flight.len()).unwrap_or(u32::MAX);
        let window = self.results.roll(run_ns, users, in_flight);
        self.tell(Event::Window { window, last: false });
    }

    fn complete(&mut self, run_ns: u64) {
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= run_ns) {
            let flight = entry.remove();
            self.results.ended(run_ns, flight.part, flight.ending);
            self.free(run_ns, flight.user);
        }
    }

    fn free(&mut self, run_ns: u64, user: Option<u32>) {
        if let (Work::Closed(users), Some(user)) = (&mut self.work, user) {
            users.free(user, run_ns + self.random.within(1..60) * MS);
        }
    }

    /// Begins what is to begin, under the shares in their turn.
    fn go_on(&mut self, run_ns: u64, sent: &mut Vec<Sent>) {
        loop {
            let Some(times) = self.times else { return };
            let change_ns = self.changes.front().map_or(NEVER, |change| change.at_ns);
            self.take_up(&times, run_ns, change_ns, sent);
            if change_ns > run_ns || change_ns >= times.stop_ns {
                return;
            }
            if let Some(change) = self.changes.pop_front() {
                self.change(&change, times.from_ns);
            }
        }
    }

    fn take_up(&mut self, times: &Times, run_ns: u64, change_ns: u64, sent: &mut Vec<Sent>) {
        match &mut self.work {
            Work::Open(arrivals) => {
                let taken = arrivals.take_up(
                    times,
                    run_ns,
                    change_ns.min(times.stop_ns),
                    self.in_flight.len(),
                    &mut self.results,
                );
                for arrival in taken {
                    self.launch(run_ns, None, arrival, sent);
                }
            }
            Work::Closed(users) => {
                let warmup_ns = self.load.warmup_ns();
                let part = if run_ns < warmup_ns { Part::Warmup } else { Part::Measured };
                let may_start = run_ns < times.stop_ns && run_ns < times.lease_until_ns && run_ns < change_ns;
                if !may_start {
                    return;
                }
                let (begun, wish) = users.take_up(run_ns);
                if let Some(Wish { taken, iterations }) = wish {
                    self.tell(Event::GrantWanted { taken, iterations });
                }
                for Begun { user, n } in begun {
                    self.results.started(run_ns, part);
                    let iteration = Sent { n, place: user.into(), due_ns: run_ns, part };
                    self.launch(run_ns, Some(user), iteration, sent);
                }
            }
        }
    }

    fn launch(&mut self, run_ns: u64, user: Option<u32>, iteration: Sent, sent: &mut Vec<Sent>) {
        let took_ms = match self.random.within(0..1000) {
            0..2 => self.random.within(3_000..15_000),
            2..30 => self.random.within(300..3_000),
            _ => self.random.within(1..300),
        };
        let ending = if self.random.percent(5) { Ending::Failed } else { Ending::Ok };
        self.flights += 1;
        let key = (run_ns + took_ms * MS + self.random.within(0..MS), self.flights);
        self.in_flight.insert(key, Flight { part: iteration.part, user, ending });
        sent.push(iteration);
    }

    fn change(&mut self, change: &Change, from_ns: u64) {
        let at_ns = change.at_ns.max(from_ns);
        if let Some(to) = change.to {
            let adjust = Adjust { at_ns: change.at_ns, to };
            self.load = self.load.adjusted(adjust).expect("the coordinator adjusted it likewise");
        }
        match (&mut self.work, &self.load.model) {
            (Work::Open(arrivals), Model::Open(open)) => {
                arrivals.change(open, self.seed, &change.share, at_ns);
            }
            (Work::Closed(users), Model::Closed(closed)) => {
                users.change(closed, &change.share, at_ns, change.over_ns);
            }
            (Work::Open(_), Model::Closed(_)) | (Work::Closed(_), Model::Open(_)) => {}
        }
    }

    /// Cuts off what is in flight once the drain is over.
    fn cancel(&mut self, run_ns: u64) {
        let Some(times) = self.times.filter(|times| run_ns >= times.cancel_ns) else { return };
        for flight in std::mem::take(&mut self.in_flight).into_values() {
            self.results.ended(run_ns, flight.part, Ending::Cancelled);
            self.free(times.cancel_ns, flight.user);
        }
    }

    fn is_through(&self, run_ns: u64) -> bool {
        let Some(times) = self.times.filter(|_| self.in_flight.is_empty()) else { return false };
        let has_stopped = run_ns >= times.stop_ns || run_ns >= times.cancel_ns;
        match &self.work {
            Work::Open(arrivals) => {
                let is_done = !arrivals.any_before(times.stop_ns);
                is_done && (has_stopped || (arrivals.ends_by_count() && self.changes.is_empty()))
            }
            Work::Closed(users) => has_stopped || (users.are_through() && self.changes.is_empty()),
        }
    }

    fn end(&mut self, run_ns: u64) {
        self.is_over = true;
        let window = self.results.last(run_ns);
        self.tell(Event::Window { window, last: true });
    }

    /// The run time of what comes next.
    fn next_ns(&self, run_ns: u64) -> u64 {
        let Some(times) = self.times else { return NEVER };
        let next_end_ns = self.in_flight.first_key_value().map_or(NEVER, |(key, _)| key.0);
        let cancel_ns = if self.in_flight.is_empty() { NEVER } else { times.cancel_ns };
        let ahead = |at_ns: u64| if at_ns > run_ns { at_ns } else { NEVER };
        let change_ns = self.changes.front().map_or(NEVER, |change| change.at_ns);
        let begin_ns = match &self.work {
            Work::Open(arrivals) => arrivals.next_ns(&times),
            Work::Closed(users) if run_ns < times.lease_until_ns => users.next_ns(run_ns),
            Work::Closed(_) => NEVER,
        };
        [self.results.end_ns(), next_end_ns, ahead(begin_ns)]
            .into_iter()
            .chain([ahead(cancel_ns), ahead(change_ns), ahead(times.stop_ns)])
            .fold(NEVER, u64::min)
    }
}

/// Durations of plans are bounded to days, so they fit.
fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
