//! What the model does with leases, changes, stops and grants.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use volley_engine::{Clock, Spin};
use volley_plan::AllowList;
use volley_plan::shape::{StripeSet, Stripes};
use volley_stats::SealedWindow;

use super::*;
use crate::totals::Totals;

const S: u64 = 1_000_000_000;
/// Run time 0 on the agent's clock.
const START_NS: u64 = 500 * S;

/// An engine that has started, and what came of it.
struct Lab {
    engine: Engine,
    events: UnboundedReceiver<Event>,
    sent: Vec<Sent>,
    totals: Totals,
    wishes: Vec<(u64, u64)>,
    is_over: bool,
}

/// The stripes that leave this rest when divided by two: every other user or arrival.
fn half(load: &Load, rest: u32) -> Share {
    let held = (0..Stripes::default().count()).filter(|stripe| stripe % 2 == rest).collect();
    let stripes = StripeSet::new(Stripes::default(), held).expect("in bounds");
    let bounds = match &load.model {
        Model::Open(_) => Some(volley_plan::link::Bounds { max_in_flight: 1000, connections: None }),
        Model::Closed(_) => None,
    };
    Share { stripes, bounds }
}

impl Lab {
    /// With every other user or arrival, and a lease of so many seconds.
    fn new(load: &str, lease_s: u64) -> Self {
        let plan = volley_plan::parse(&format!("target: http://h/\n{load}")).expect("a plan");
        let share = half(&plan.load, 0);
        let setup = Setup {
            plan: Arc::new(plan),
            share,
            adjusted: Vec::new(),
            allow: Arc::new(AllowList::anything()),
            workers: 1,
            seed: 1,
            clock: Clock::start(),
            spin: Spin::Off,
            files: None,
            listener: None,
        };
        let (events, told) = unbounded_channel();
        let habits = Habits { prepare_ms: 0, refuses: false };
        let engine = Engine::new(&setup, habits, Random::new(5), events);
        let mut lab = Self {
            engine,
            events: told,
            sent: Vec::new(),
            totals: Totals::default(),
            wishes: Vec::new(),
            is_over: false,
        };
        let start = Command::Start { at_ns: START_NS, from_ns: 0, lease_until_ns: lease_s * S };
        lab.tell(0, start);
        lab
    }

    /// Time passes up to a moment, in which it is told something.
    fn tell(&mut self, at_ms: u64, command: Command) {
        self.pass(at_ms);
        self.engine.command(command);
        self.engine.wake(START_NS + at_ms * MS, &mut self.sent);
        self.hear();
    }

    /// Time passes.
    fn pass(&mut self, until_ms: u64) {
        let until_ns = START_NS + until_ms * MS;
        let mut next_ns = self.engine.wake(self.engine.ready_ns.unwrap_or(START_NS - S), &mut self.sent);
        while let Some(at_ns) = next_ns.filter(|&at_ns| at_ns <= until_ns) {
            next_ns = self.engine.wake(at_ns, &mut self.sent);
        }
        self.hear();
    }

    fn hear(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Window { window, last } => {
                    self.totals.add(&SealedWindow::of(&window));
                    self.is_over |= last;
                }
                Event::GrantWanted { taken, iterations } => self.wishes.push((taken, iterations)),
                Event::Ready => {}
                Event::Refused { reason } | Event::Vetoed { reason } => panic!("{reason}"),
            }
        }
    }

    fn sent(&self) -> Vec<u64> {
        self.sent.iter().map(|sent| sent.n).collect()
    }
}

fn lease(until_s: u64) -> Command {
    Command::Lease { until_ns: until_s * S }
}

fn change(lab: &Lab, at_ms: u64, share: Share, to: Option<Level>, over_ms: u64) -> Command {
    let _ = lab;
    Command::Change { at_ns: at_ms * MS, share, to, over_ns: over_ms * MS }
}

#[test]
fn what_is_due_without_a_lease_is_missed_once_that_is_renewed() {
    let mut lab = Lab::new("rate: 2/s\nduration: 10s\nmax_in_flight: 1000", 3);
    lab.pass(6_200);
    assert_eq!(lab.sent(), [0, 2, 4]);
    lab.tell(6_200, lease(20));
    lab.pass(9_900);
    assert_eq!(lab.sent(), [0, 2, 4, 14, 16, 18]);
    lab.pass(40_000);
    assert_eq!((lab.totals.all_started(), lab.totals.missed, lab.is_over), (6, 4, true));
}

#[test]
fn without_word_what_was_due_stays_undecided_and_a_stop_decides() {
    let mut lab = Lab::new("rate: 2/s\nduration: 10s\nmax_in_flight: 1000", 3);
    lab.pass(40_000);
    assert_eq!((lab.totals.all_started(), lab.totals.missed, lab.is_over), (3, 0, false));
    lab.tell(40_000, Command::Stop { at_ns: 5 * S, drain_ns: 0 });
    assert_eq!((lab.totals.missed, lab.is_over), (2, true));
}

#[test]
fn a_change_that_is_heard_late_doubles_nothing() {
    let mut lab = Lab::new("rate: 2/s\nduration: 10s\nmax_in_flight: 1000", 20);
    let all = Share { stripes: Stripes::default().all(), ..half(&lab.engine.load, 0) };
    let told = change(&lab, 2_000, all.clone(), None, 0);
    lab.tell(3_200, told);
    let told = change(&lab, 3_000, all, None, 0);
    lab.tell(3_400, told);
    lab.pass(5_100);
    // Of the others those that are due from the change on, and its own once.
    assert_eq!(lab.sent(), [0, 2, 4, 6, 5, 7, 8, 9, 10]);
}

#[test]
fn an_adjusted_load_goes_on_where_the_old_one_was() {
    let mut lab = Lab::new("rate: 2/s\nduration: 6s\nmax_in_flight: 1000", 20);
    let share = half(&lab.engine.load, 0);
    let to = Level::Rate(volley_plan::shape::Rate::per_second(4).expect("a rate"));
    let told = change(&lab, 4_000, share, Some(to), 0);
    lab.tell(1_000, told);
    lab.pass(30_000);
    let due: Vec<_> = lab.sent.iter().map(|sent| (sent.n, sent.due_ns / MS)).collect();
    let expected = [0, 1_000, 2_000, 3_000, 4_000, 4_500, 5_000, 5_500];
    assert_eq!(due, (0..).step_by(2).zip(expected).collect::<Vec<_>>());
    assert!(lab.is_over);
}

#[test]
fn users_are_given_away_and_new_ones_begin_over_a_while() {
    let mut lab = Lab::new("users: 6\nduration: 30s", 40);
    let others = half(&lab.engine.load, 1);
    let told = change(&lab, 5_000, others, None, 3_000);
    lab.tell(1_000, told);
    lab.pass(12_000);
    let first = |user| lab.sent.iter().find(|sent| sent.place == user).map(|sent| sent.due_ns / MS);
    assert_eq!([0, 1, 3, 5].map(first), [Some(0), Some(5_000), Some(6_000), Some(7_000)]);
    let last = lab.sent.iter().filter(|sent| sent.place.is_multiple_of(2)).map(|sent| sent.due_ns / MS).max();
    assert!(last < Some(5_000), "{last:?}");
}

#[test]
fn a_grant_is_used_up_and_the_next_is_asked_for_at_half() {
    let mut lab = Lab::new("users: 4\niterations: 50", 40);
    lab.tell(100, Command::Grant { from: 0, to: 8, last: false });
    lab.pass(20_000);
    assert_eq!((lab.sent(), lab.wishes.as_slice()), ((0..8).collect(), &[(0, 8), (8, 8)][..]));
    lab.tell(20_000, Command::Grant { from: 12, to: 14, last: true });
    lab.pass(60_000);
    assert_eq!((lab.sent().len(), lab.totals.all_started(), lab.is_over), (10, 10, true));
}
