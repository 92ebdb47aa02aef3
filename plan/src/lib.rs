//! What should happen: the plan and its parser, grants, the vocabulary between decider and doer, the verdict. Pure.

pub mod allow;
mod canonical;
mod explain;
mod grant;
pub mod health;
pub mod link;
mod mix;
pub mod model;
mod parse;
mod philox;
pub mod schema;
pub mod shape;
mod threshold;
pub mod units;
mod verdict;
pub mod words;

pub use allow::{AllowList, Denied, RuleError, RuleFault};
pub use canonical::{PlanHash, PlanHashError};
pub use grant::Ledger;
pub use mix::Mix;
pub use model::*;
pub use parse::{
    Fault, Faults, MAX_FAULTS, Overrides, Place, QuickConnect, QuickPlan, QuickTls, parse, parse_bytes,
};
pub use threshold::{
    Comparison, Expectation, ExpectationError, Limit, MAX_THRESHOLDS, Metric, Point, Ratio, Sample, Selector,
    Threshold, Unit,
};
pub use verdict::{Accounts, Verdict};
