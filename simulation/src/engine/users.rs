//! The closed model within one engine: which users there are, and when each begins its next iteration.

use std::collections::BTreeMap;
use std::ops::Range;

use volley_plan::link::Share;
use volley_plan::shape::UserShape;
use volley_plan::{Amount, ClosedLoad};

use super::NEVER;
use super::pool::Pool;

#[derive(Clone, Copy, Debug)]
struct User {
    /// It begins nothing before that.
    not_before_ns: u64,
    is_busy: bool,
    /// Its stripe was given away: it ends with what it is at.
    is_gone: bool,
    done: u64,
}

/// An iteration that a user begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) user: u32,
    pub(crate) n: u64,
}

/// A grant to be asked for: with the end of the last one, and about a second's iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) taken: u64,
    pub(crate) iterations: u64,
}

/// The users of one engine.
#[derive(Debug)]
pub(crate) struct Users {
    shape: Option<UserShape>,
    users_max: u64,
    users: BTreeMap<u32, User>,
    pool: Option<Pool>,
    each: Option<u64>,
}

impl Users {
    pub(crate) fn new(load: &ClosedLoad, share: &Share) -> Self {
        let user = User { not_before_ns: 0, is_busy: false, is_gone: false, done: 0 };
        let (pool, each) = match load.iterations {
            Some(Amount::InAll(_)) => (Some(Pool::default()), None),
            Some(Amount::PerUser(each)) => (None, Some(each)),
            None => (None, None),
        };
        Self {
            shape: shape(load),
            users_max: load.users.most().into(),
            users: share.user_numbers(load).map(|number| (number, user)).collect(),
            pool,
            each,
        }
    }

    /// The share counts from this run time on.
    pub(crate) fn begin(&mut self, from_ns: u64) {
        self.users.values_mut().for_each(|user| user.not_before_ns = from_ns);
    }

    pub(crate) fn grant(&mut self, iterations: Range<u64>, last: bool) {
        if let Some(pool) = &mut self.pool {
            pool.grant(iterations, last);
        }
    }

    /// Users that stay go on; those that are new begin evenly over `over_ns`.
    pub(crate) fn change(&mut self, load: &ClosedLoad, share: &Share, at_ns: u64, over_ns: u64) {
        (self.shape, self.users_max) = (shape(load), load.users.most().into());
        let numbers: Vec<u32> = share.user_numbers(load).collect();
        for (number, user) in &mut self.users {
            user.is_gone = numbers.binary_search(number).is_err();
        }
        self.users.retain(|_, user| user.is_busy || !user.is_gone);
        let new: Vec<u32> = numbers.into_iter().filter(|number| !self.users.contains_key(number)).collect();
        for (place, number) in (0..).zip(&new) {
            let not_before_ns = at_ns + over_ns * place / new.len() as u64;
            self.users.insert(*number, User { not_before_ns, is_busy: false, is_gone: false, done: 0 });
        }
    }

    pub(crate) fn free(&mut self, number: u32, not_before_ns: u64) {
        let Some(user) = self.users.get_mut(&number) else { return };
        (user.is_busy, user.not_before_ns) = (false, not_before_ns);
        if user.is_gone {
            self.users.remove(&number);
        }
    }

    /// Users that there are by the plan.
    pub(crate) fn present(&self, run_ns: u64) -> u32 {
        let present = self.users.keys().filter(|&&number| self.there_ns(number, run_ns) <= run_ns);
        u32::try_from(present.count()).unwrap_or(u32::MAX)
    }

    /// When a user is there next, or since when.
    fn there_ns(&self, number: u32, run_ns: u64) -> u64 {
        match &self.shape {
            None => 0,
            Some(shape) => shape.span(number, run_ns).map_or(NEVER, |span| span.start),
        }
    }

    fn is_free(&self, user: &User) -> bool {
        !user.is_busy && !user.is_gone && self.each.is_none_or(|each| user.done < each)
    }

    /// Who begins which iteration now, and what is to be asked for.
    pub(crate) fn take_up(&mut self, run_ns: u64) -> (Vec<Begun>, Option<Wish>) {
        let may_begin = |(number, user): (&u32, &User)| {
            let may = self.is_free(user)
                && user.not_before_ns <= run_ns
                && self.there_ns(*number, run_ns) <= run_ns;
            may.then_some(*number)
        };
        let waiting: Vec<u32> = self.users.iter().filter_map(may_begin).collect();
        let mut begun = Vec::new();
        for number in waiting {
            let Some(user) = self.users.get_mut(&number) else { continue };
            let n = match &mut self.pool {
                None => u64::from(number) + user.done * self.users_max,
                Some(pool) => match pool.claim() {
                    Some(n) => n,
                    None => break,
                },
            };
            user.is_busy = true;
            user.done += 1;
            begun.push(Begun { user: number, n });
        }
        let iterations = (4 * self.users.len() as u64).max(2);
        let taken = self.pool.as_mut().and_then(Pool::wish);
        (begun, taken.map(|taken| Wish { taken, iterations }))
    }

    /// Nothing is left to begin, whatever comes.
    pub(crate) fn are_through(&self) -> bool {
        match (&self.pool, self.each) {
            (Some(pool), _) => pool.is_exhausted(),
            (None, Some(each)) => self.users.values().all(|user| user.done >= each),
            (None, None) => false,
        }
    }

    /// When the next user that is free may begin.
    pub(crate) fn next_ns(&self, run_ns: u64) -> u64 {
        let free = self.users.iter().filter(|(_, user)| self.is_free(user));
        let at_ns = |(number, user): (&u32, &User)| user.not_before_ns.max(self.there_ns(*number, run_ns));
        free.map(at_ns).filter(|&at_ns| at_ns > run_ns).min().unwrap_or(NEVER)
    }
}

fn shape(load: &ClosedLoad) -> Option<UserShape> {
    match &load.users {
        volley_plan::Users::Steady(_) => None,
        volley_plan::Users::Staged(shape) => Some(shape.clone()),
    }
}
