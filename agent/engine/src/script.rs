//! What iterations do: the plan's scenarios, with requests as numbers of steps.

use volley_plan::{Mix, Plan, Step, Think};

use crate::nanoseconds;

/// One step of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The request with this number.
    Request(usize),
    /// A pause.
    Think(Think),
}

/// All scenarios, and which iteration runs which.
#[derive(Debug)]
pub(crate) struct Script {
    scenarios: Vec<Vec<Act>>,
    mix: Mix,
    seed: u64,
}

impl Script {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Self {
        let mut requests = 0;
        let mut act = |step: &Step| match step {
            Step::Think(think) => Act::Think(*think),
            Step::Request(_) => {
                requests += 1;
                Act::Request(requests - 1)
            }
        };
        let scenarios =
            plan.scenarios.iter().map(|scenario| scenario.steps.iter().map(&mut act).collect()).collect();
        Self { scenarios, mix: Mix::new(&plan.scenarios, seed), seed }
    }

    /// What iteration `n` does.
    #[inline]
    pub(crate) fn acts(&self, n: u64) -> &[Act] {
        &self.scenarios[self.mix.pick(n)]
    }

    /// The request that iteration `n` begins with; `None` where it begins with a pause.
    #[inline]
    pub(crate) fn first_request(&self, n: u64) -> Option<usize> {
        match self.acts(n).first() {
            Some(Act::Request(step)) => Some(*step),
            _ => None,
        }
    }

    /// How long the pause is that iteration `n` makes as its act number `place`.
    pub(crate) fn pause_ns(&self, think: &Think, n: u64, place: usize) -> u64 {
        nanoseconds(think.length(self.seed, n, place))
    }
}
