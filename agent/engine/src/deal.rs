//! How an engine's share is dealt to its workers: at the start, and again at each change.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use thiserror::Error;
use volley_plan::allow::{AllowList, Denied};
use volley_plan::link::{Hand, Share, TAKE_OVER_NS};
use volley_plan::shape::{ShapeError, StripeSet};
use volley_plan::{Adjust, AdjustError, ClosedLoad, Level, Load, Model, Plan};

use crate::control::PlannedEnd;
use crate::dial::Site;
use crate::pace::{ClosedPlan, Leg, Numbering, OpenPlan, TakeOver, Work};
use crate::{Setup, nanoseconds};

/// Why a share can't be dealt.
#[derive(Debug, Error)]
pub(crate) enum DealError {
    #[error("the share says nothing of what bounds the arrivals that the plan has")]
    Bounds,
    #[error("the arrivals of the plan cannot be told")]
    Shape(#[from] ShapeError),
    #[error("the load cannot be adjusted")]
    Adjust(#[from] AdjustError),
    #[error(transparent)]
    Denied(#[from] Denied),
}

/// Most addresses that later loads are held against. A name that leads elsewhere each time would have no end of them.
const MAX_SITES: usize = 1024;

/// Addresses, as the list of what may be loaded sees them.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// Those that may be connected to, at least one.
    pub(crate) sites: Vec<Site>,
    /// Why the others may not.
    pub(crate) denied: Vec<Denied>,
}

/// What an engine has to do, and which worker does what of it.
#[derive(Debug)]
pub(crate) struct Deal {
    plan: Arc<Plan>,
    allow: Arc<AllowList>,
    /// The latest addresses that are connected to.
    sites: VecDeque<Site>,
    /// The plan's load, as it was adjusted so far.
    load: Load,
    paced: Paced,
    numbering: Numbering,
    seed: u64,
    share: Share,
    by_worker: Vec<Share>,
}

/// A load as workers pace it. It is worked out once for all of them.
#[derive(Clone, Debug)]
enum Paced {
    Closed(Arc<ClosedPlan>),
    Open(OpenPlan),
}

impl Paced {
    fn new(load: &Load, numbering: Numbering, seed: u64) -> Result<Self, DealError> {
        Ok(match &load.model {
            Model::Closed(load) => Self::Closed(Arc::new(ClosedPlan { load: load.clone(), numbering })),
            Model::Open(load) => Self::Open(OpenPlan::new(load, seed)?),
        })
    }

    fn check(&self, share: &Share) -> Result<(), DealError> {
        if matches!(self, Self::Open(_)) && share.bounds.is_none() { Err(DealError::Bounds) } else { Ok(()) }
    }
}

impl Deal {
    /// Deals the share of a plan's load to the workers; to fewer where the whole load could not keep so many busy. Some may
    /// have nothing to do until a change.
    ///
    /// # Errors
    /// [`DealError`] where the share or the adjusting is none of this plan's.
    pub(crate) fn new(setup: &Setup) -> Result<Self, DealError> {
        let (plan, share, seed) = (Arc::clone(&setup.plan), setup.share.clone(), setup.seed);
        let (mut load, mut numbering) = (plan.load.clone(), Numbering::of(&plan));
        for adjust in &setup.adjusted {
            load = load.adjusted(*adjust)?;
            numbering = numbering.adjusted(adjust.at_ns, &load.model);
        }
        let paced = Paced::new(&load, numbering, seed)?;
        paced.check(&share)?;
        let most = Share::all(&plan).hands_max(&load).max(share.hands_max(&load));
        let workers = u32::try_from(setup.workers).unwrap_or(u32::MAX).min(most).max(1);
        let by_worker = deal_out(&share, &load, &vec![nothing(&share.stripes); workers as usize]);
        let (allow, sites) = (Arc::clone(&setup.allow), VecDeque::new());
        Ok(Self { plan, allow, sites, load, paced, numbering, seed, share, by_worker })
    }

    pub(crate) fn workers(&self) -> usize {
        self.by_worker.len()
    }

    /// The load, as it was adjusted so far.
    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    /// Users of the closed model that are the engine's; 0 in the open one.
    pub(crate) fn users(&self) -> u32 {
        match &self.load.model {
            Model::Closed(load) => self.share.users(load),
            Model::Open(_) => 0,
        }
    }

    /// The most slots that the share takes, each with a connection.
    pub(crate) fn slots_max(&self) -> u32 {
        self.share.slots_max(&self.load)
    }

    /// Those of the target's addresses that may be loaded so hard as the load is: they are connected to from now on, and
    /// later loads are held against them.
    ///
    /// # Errors
    /// None of them may be: what is said of the first.
    pub(crate) fn admit(&mut self, sites: Vec<Site>) -> Result<Admitted, Denied> {
        let allow = self.allow.for_load(&self.load);
        let mut admitted = Admitted { sites: Vec::new(), denied: Vec::new() };
        for site in sites {
            match site.permitted(&allow) {
                Ok(()) => admitted.sites.push(site),
                Err(denied) => admitted.denied.push(denied),
            }
        }
        if admitted.sites.is_empty() && !admitted.denied.is_empty() {
            return Err(admitted.denied.swap_remove(0));
        }
        admitted.sites.iter().for_each(|site| self.note(site));
        Ok(admitted)
    }

    fn note(&mut self, site: &Site) {
        if !self.sites.contains(site) {
            self.sites.truncate(MAX_SITES - 1);
            self.sites.push_front(site.clone());
        }
    }

    /// Whether the target may be loaded so hard, at each address that it is connected to.
    fn permits(&self, load: &Load) -> Result<(), Denied> {
        let allow = self.allow.for_load(load);
        allow.permits_loaded(&self.plan)?;
        self.sites.iter().try_for_each(|site| site.permitted(&allow))
    }

    /// How the plan itself ends the run.
    pub(crate) fn planned_end(&self) -> Option<PlannedEnd> {
        let lets_finish = matches!(&self.paced, Paced::Open(plan) if plan.ends_by_count());
        let drain_ns = nanoseconds(self.load.drain);
        self.load.total_ns().map(|duration_ns| PlannedEnd { lets_finish, duration_ns, drain_ns })
    }

    /// What each worker has to do from the run time on from which the share counts. A run that goes on then has had these
    /// users before, who begin anew one after the other.
    pub(crate) fn legs_from(&self, from_ns: u64) -> Vec<Leg> {
        let all = &self.share.stripes;
        let acquired = if from_ns == 0 { nothing(all) } else { all.clone() };
        self.legs(from_ns, acquired, TAKE_OVER_NS)
    }

    /// Deals another share, and of another load if that changes too; gives what each worker has to do from then on.
    ///
    /// # Errors
    /// [`DealError`] where the share or the level is none of this plan's, or the list of what may be loaded forbids it. All
    /// stays as it was.
    pub(crate) fn change(
        &mut self,
        at_ns: u64,
        share: Share,
        to: Option<Level>,
        over_ns: u64,
    ) -> Result<Vec<Leg>, DealError> {
        self.paced.check(&share)?;
        if let Some(to) = to {
            let load = self.load.adjusted(Adjust { at_ns, to })?;
            self.permits(&load)?;
            let numbering = self.numbering.adjusted(at_ns, &load.model);
            self.paced = Paced::new(&load, numbering, self.seed)?;
            (self.load, self.numbering) = (load, numbering);
        }
        let acquired = share.stripes.without(&self.share.stripes);
        let held: Vec<_> = self.by_worker.iter().map(|part| part.stripes.clone()).collect();
        self.by_worker = deal_out(&share, &self.load, &held);
        self.share = share;
        Ok(self.legs(at_ns, acquired, over_ns))
    }

    fn legs(&self, from_ns: u64, acquired: StripeSet, over_ns: u64) -> Vec<Leg> {
        let leg = |part: &Share, work| Leg { from_ns, stripes: part.stripes.clone(), work };
        let parts = self.by_worker.iter();
        match &self.paced {
            Paced::Closed(plan) => {
                let take_over = Arc::new(TakeOver::new(&plan.load, acquired, from_ns, over_ns));
                let work = || Work::Closed(Arc::clone(plan), Arc::clone(&take_over));
                parts.map(|part| leg(part, work())).collect()
            }
            Paced::Open(plan) => parts.map(|part| leg(part, Work::Open(plan.clone(), part.bounds))).collect(),
        }
    }
}

/// Deals a share to workers that hold these stripes.
fn deal_out(share: &Share, load: &Load, held: &[StripeSet]) -> Vec<Share> {
    match &load.model {
        Model::Closed(closed) => deal_users(share, load, closed, held),
        Model::Open(_) => deal_arrivals(share, load, held),
    }
}

/// No user that stays goes from one worker to another, which would be the end of its iteration: only those that are new are
/// dealt, to the workers that have fewest.
fn deal_users(share: &Share, load: &Load, closed: &ClosedLoad, held: &[StripeSet]) -> Vec<Share> {
    let users = |stripes: &StripeSet| stripes.count_in(0..u64::from(closed.users.most()));
    let mut parts: Vec<StripeSet> = held.iter().map(|held| common(held, &share.stripes)).collect();
    let new = parts.iter().fold(share.stripes.clone(), |new, kept| new.without(kept));
    let even = users(&share.stripes).div_ceil(held.len() as u64);
    let mut lacks: Vec<u64> = parts.iter().map(|kept| even.saturating_sub(users(kept))).collect();
    if lacks.iter().all(|lack| *lack == 0) {
        lacks.fill(1);
    }
    let wanting: Vec<usize> = (0..held.len()).filter(|&worker| lacks[worker] > 0).collect();
    let weight = |&worker: &usize| u32::try_from(lacks[worker]).unwrap_or(u32::MAX);
    let hands: Vec<Hand> =
        wanting.iter().map(|worker| Hand { weight: weight(worker), holds: None }).collect();
    let dealt = Share { stripes: new, bounds: None }.dealt(load, &hands);
    for (worker, part) in wanting.into_iter().zip(dealt) {
        parts[worker] = parts[worker].with(&part.stripes);
    }
    parts.into_iter().map(|stripes| Share { stripes, bounds: None }).collect()
}

/// Evenly to as many workers as it keeps busy; where that isn't all of them, to those that hold most.
fn deal_arrivals(share: &Share, load: &Load, held: &[StripeSet]) -> Vec<Share> {
    let busy = (share.hands_max(load) as usize).clamp(1, held.len());
    let mut workers: Vec<usize> = (0..held.len()).collect();
    workers.sort_by_key(|&worker| Reverse(common(&held[worker], &share.stripes).held().len()));
    workers.truncate(busy);
    workers.sort_unstable();
    let holds = |&worker: &usize| Some(held[worker].clone()).filter(|held| !held.is_empty());
    let hands: Vec<Hand> = workers.iter().map(|worker| Hand { weight: 1, holds: holds(worker) }).collect();
    let nothing = Share { stripes: nothing(&share.stripes), bounds: None };
    let mut parts = vec![nothing; held.len()];
    for (worker, part) in workers.into_iter().zip(share.dealt(load, &hands)) {
        parts[worker] = part;
    }
    parts
}

fn nothing(of: &StripeSet) -> StripeSet {
    of.without(of)
}

fn common(one: &StripeSet, other: &StripeSet) -> StripeSet {
    one.without(&one.without(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Spin};
    use volley_plan::link::Bounds;
    use volley_plan::shape::Stripes;

    fn plan(load: &str) -> Plan {
        volley_plan::parse(&format!("target: http://h/\n{}", load.replace(", ", "\n"))).unwrap()
    }

    fn try_deal(load: &str, share: impl FnOnce(&Plan) -> Share, workers: usize) -> Result<Deal, DealError> {
        let rule = if load.starts_with("rate") { "any max 50/s" } else { "any" };
        deal_by(&[rule], load, share, workers)
    }

    /// The same by these rules for what may be loaded.
    fn deal_by(
        rules: &[&str],
        load: &str,
        share: impl FnOnce(&Plan) -> Share,
        workers: usize,
    ) -> Result<Deal, DealError> {
        let plan = plan(load);
        let (share, plan, clock) = (share(&plan), Arc::new(plan), Clock::start());
        let allow = Arc::new(AllowList::parse(rules).unwrap());
        Deal::new(&Setup {
            plan,
            share,
            adjusted: Vec::new(),
            allow,
            workers,
            seed: 1,
            clock,
            spin: Spin::Off,
            files: None,
            listener: None,
        })
    }

    fn deal(load: &str, workers: usize) -> Deal {
        try_deal(load, Share::all, workers).unwrap()
    }

    fn stripes(held: impl IntoIterator<Item = u32>) -> StripeSet {
        StripeSet::new(Stripes::default(), held.into_iter().collect()).unwrap()
    }

    /// What each worker has: users or stripes, iterations in flight, connections.
    fn parts(deal: &Deal) -> Vec<(usize, u32, Option<u32>)> {
        let part = |part: &Share| match (&deal.load.model, part.bounds) {
            (Model::Closed(load), _) => (part.users(load) as usize, 0, None),
            (Model::Open(_), bounds) => (
                part.stripes.held().len(),
                bounds.map_or(0, |bounds| bounds.max_in_flight),
                bounds.and_then(|bounds| bounds.connections),
            ),
        };
        deal.by_worker.iter().map(part).collect()
    }

    #[test]
    fn work_is_dealt_exactly() {
        let open = "rate: 10/s, duration: 1s, max_in_flight: ";
        for (load, expected) in [
            (
                format!("{open}11, connections: 4"),
                vec![(840, 4, Some(2)), (840, 4, Some(1)), (840, 3, Some(1))],
            ),
            (format!("{open}3"), vec![(840, 1, None); 3]),
            (format!("{open}2"), vec![(1260, 1, None); 2]),
            ("users: 5, duration: 1s".to_owned(), vec![(2, 0, None), (2, 0, None), (1, 0, None)]),
            ("users: 1, duration: 1s".to_owned(), vec![(1, 0, None)]),
        ] {
            assert_eq!(parts(&deal(&load, 3)), expected, "{load}");
        }
    }

    #[test]
    fn a_part_of_a_plan_has_the_workers_of_the_whole() {
        let share = Share { stripes: stripes([0, 3, 6]), bounds: None };
        let mut deal = try_deal("users: 8, duration: 1s", |_| share, 5).unwrap();
        let users = |deal: &Deal| parts(deal).iter().map(|part| part.0).collect::<Vec<_>>();
        assert_eq!(users(&deal), [1, 1, 1, 0, 0]);
        let before: Vec<StripeSet> = deal.by_worker.iter().map(|part| part.stripes.clone()).collect();
        let more = Share { stripes: stripes(0..7), bounds: None };
        let legs = deal.change(5, more, None, 0).unwrap();
        assert_eq!(users(&deal).iter().sum::<usize>(), 7);
        assert!(users(&deal).iter().all(|users| (1..=2).contains(users)), "{:?}", users(&deal));
        for (leg, before) in legs.iter().zip(&before) {
            assert!(before.without(&leg.stripes).is_empty(), "{before:?} became {:?}", leg.stripes);
        }
        // Those go on who have a user that stays.
        deal.change(6, Share { stripes: stripes([3]), bounds: None }, None, 0).unwrap();
        assert_eq!(users(&deal), [0, 1, 0, 0, 0]);
    }

    #[test]
    fn another_level_is_another_load_and_the_workers_stay() {
        let mut deal = deal("users: 4, duration: 10s", 2);
        deal.change(5_000_000_000, deal.share.clone(), Some(Level::Users(10)), 0).unwrap();
        assert_eq!(parts(&deal), [(5, 0, None), (5, 0, None)]);
        assert_eq!((deal.users(), deal.slots_max()), (10, 10));
        let rate = Level::Rate("5/s".parse().unwrap());
        assert!(matches!(deal.change(6, deal.share.clone(), Some(rate), 0), Err(DealError::Adjust(_))));
        assert_eq!(deal.users(), 10);
    }

    #[test]
    fn a_share_without_bounds_is_none_of_an_open_plan() {
        let load = "rate: 10/s, duration: 1s";
        let share = Share { bounds: None, ..Share::all(&plan(load)) };
        assert!(matches!(try_deal(load, |_| share.clone(), 1), Err(DealError::Bounds)));
        let mut deal = deal(load, 1);
        assert!(matches!(deal.change(5, share, None, 0), Err(DealError::Bounds)));
        let bounds = Bounds { max_in_flight: 1, connections: None };
        assert_eq!(
            deal.change(5, Share { stripes: stripes([7]), bounds: Some(bounds) }, None, 0).unwrap().len(),
            1
        );
    }

    #[test]
    fn what_ends_a_run_is_told_of_the_adjusted_load() {
        let mut deal = deal("rate: 10/s, duration: 10s, iterations: 50", 1);
        let lets_finish = |deal: &Deal| deal.planned_end().unwrap().lets_finish;
        assert!(lets_finish(&deal));
        let slow = Level::Rate("1/s".parse().unwrap());
        deal.change(1_000_000_000, deal.share.clone(), Some(slow), 0).unwrap();
        assert!(!lets_finish(&deal));
    }

    #[test]
    fn what_may_be_loaded_bounds_what_a_load_is_adjusted_to() {
        let mut deal = deal("rate: 10/s, duration: 10s", 1);
        let mut to =
            |rate: &str| deal.change(5, deal.share.clone(), Some(Level::Rate(rate.parse().unwrap())), 0);
        assert!(matches!(to("51/s"), Err(DealError::Denied(Denied::Rate { .. }))));
        assert!(to("50/s").is_ok());
    }

    fn sites(addresses: &[&str]) -> Vec<Site> {
        let site = |text: &&str| Site::Tcp { host: "h".into(), address: text.parse().unwrap() };
        addresses.iter().map(site).collect()
    }

    /// A name is at some network, and no other's rule is of any use to it.
    #[test]
    fn a_change_is_held_against_each_address_that_is_connected_to() {
        let rules = ["10.0.0.0/8 max 20/s", "192.168.0.0/16"];
        let load = "rate: 10/s, duration: 10s";
        let check = |addresses: &[&str], expected: bool| {
            let mut deal = deal_by(&rules, load, Share::all, 1).unwrap();
            assert_eq!(deal.admit(sites(addresses)).unwrap().sites, sites(addresses));
            let changed = deal.change(5, deal.share.clone(), Some(Level::Rate("21/s".parse().unwrap())), 0);
            assert_eq!(changed.is_ok(), expected, "{addresses:?}: {changed:?}");
            assert!(
                deal.change(6, deal.share.clone(), Some(Level::Rate("20/s".parse().unwrap())), 0).is_ok()
            );
        };
        check(&["192.168.0.1:80"], true);
        check(&["10.0.0.1:80"], false);
        check(&["192.168.0.1:80", "10.0.0.1:80"], false);
        // The load was adjusted while the name was looked up.
        let mut deal = deal_by(&rules, "rate: 21/s, duration: 10s", Share::all, 1).unwrap();
        assert!(matches!(deal.admit(sites(&["10.0.0.1:80"])), Err(Denied::Rate { .. })));
    }

    #[test]
    fn only_addresses_that_the_list_permits_are_admitted() {
        let check = |rules: &[&str], expected: Result<&[&str], &str>| {
            let mut deal = deal_by(rules, "users: 1, duration: 1s", Share::all, 1).unwrap();
            let found = deal.admit(sites(&["10.0.0.1:80", "127.0.0.1:80", "169.254.169.254:80"]));
            match (found, expected) {
                (Ok(admitted), expected) => {
                    assert_eq!(admitted.denied.len(), 3 - admitted.sites.len());
                    assert_eq!(Ok(admitted.sites), expected.map(sites));
                }
                (Err(denied), Err(part)) => assert!(denied.to_string().contains(part), "{denied}"),
                (Err(denied), Ok(_)) => panic!("{denied}"),
            }
        };
        check(&["any"], Ok(&["10.0.0.1:80", "127.0.0.1:80"]));
        check(&["127.0.0.0/8"], Ok(&["127.0.0.1:80"]));
        check(&["10.0.0.0/8:8080", "192.168.0.0/16"], Err("h:80 leads to 10.0.0.1:80, which is not on the"));
    }

    #[test]
    fn the_addresses_that_are_remembered_are_the_latest() {
        let rules = ["10.0.0.0/8 max 20/s", "192.168.0.0/16"];
        let mut deal = deal_by(&rules, "rate: 10/s, duration: 10s", Share::all, 1).unwrap();
        let rate = |deal: &mut Deal| {
            deal.change(5, deal.share.clone(), Some(Level::Rate("21/s".parse().unwrap())), 0).is_ok()
        };
        deal.admit(sites(&["10.0.0.1:80"])).unwrap();
        assert!(!rate(&mut deal));
        for port in 1..=MAX_SITES {
            deal.admit(sites(&[&format!("192.168.0.1:{port}")])).unwrap();
        }
        assert_eq!(deal.sites.len(), MAX_SITES);
        assert!(rate(&mut deal));
    }
}
