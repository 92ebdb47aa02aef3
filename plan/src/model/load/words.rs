//! A load in words, as lists of runs show it.

use super::{Amount, ClosedLoad, Load, Model, OpenLoad, Users};
use crate::shape::Arrivals;
use crate::units::duration_in_words;
use crate::words::counted;
use std::time::Duration;

impl Load {
    /// The load as people read it, with `noun` for an iteration: `200/s open, 30 s`, `50 users closed, 1,000 requests`.
    pub(crate) fn in_words(&self, noun: &str) -> String {
        let mut text = match &self.model {
            Model::Closed(closed) => closed.in_words(noun),
            Model::Open(open) => open.in_words(noun),
        };
        if self.warmup_ns() > 0 {
            text += &format!(" after {} of warm-up", time(self.warmup_ns()));
        }
        text
    }
}

impl ClosedLoad {
    fn in_words(&self, noun: &str) -> String {
        let mut parts = vec![format!("{} closed", self.users.in_words())];
        parts.extend(self.iterations.map(|amount| match amount {
            Amount::InAll(iterations) => counted(iterations, noun),
            Amount::PerUser(iterations) => format!("{} each", counted(iterations, noun)),
        }));
        parts.extend(self.pacing.map(|cycle| format!("each user every {}", duration_in_words(cycle))));
        if let Users::Staged(shape) = &self.users {
            let at_most = if self.iterations.is_some() { "at most " } else { "" };
            parts.push(format!("{at_most}{}", time(shape.total_ns() - shape.warmup_ns())));
        }
        parts.join(", ")
    }
}

impl Users {
    fn in_words(&self) -> String {
        let shape = match self {
            Self::Steady(users) => return counted(u64::from(*users), "user"),
            Self::Staged(shape) => shape,
        };
        let most = shape.users_max();
        let is_steady = shape.stages().all(|stage| stage.from == most && stage.to == most);
        let most = counted(most.into(), "user");
        if is_steady { most } else { format!("up to {most}") }
    }
}

impl OpenLoad {
    fn in_words(&self, noun: &str) -> String {
        let most = self.shape.rate_max();
        let is_steady = self.shape.stages().all(|stage| stage.from == most && stage.to == most);
        let up_to = if is_steady { "" } else { "up to " };
        let mut parts = vec![format!("{up_to}{} open", most.in_words())];
        if self.arrivals == Arrivals::Poisson {
            parts.push("Poisson".to_owned());
        }
        let (start_ns, end_ns) = (self.shape.warmup_ns(), self.shape.total_ns());
        match self.iterations {
            None => parts.push(time(end_ns - start_ns)),
            Some(iterations) if self.shape.arrivals_in(start_ns..end_ns) >= iterations => {
                parts.push(counted(iterations, noun));
            }
            // The time is over before so many are due.
            Some(iterations) => {
                parts.push(format!("at most {}", counted(iterations, noun)));
                parts.push(time(end_ns - start_ns));
            }
        }
        parts.join(", ")
    }
}

fn time(ns: u64) -> String {
    duration_in_words(Duration::from_nanos(ns))
}
