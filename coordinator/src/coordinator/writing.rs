//! Whether the store takes what is written to it: what a probe asks, since a coordinator that can keep nothing can run
//! nothing.

use volley_stats::SECOND_NS;

use super::{Shared, lock};
use crate::store::StoreError;

/// How long a write that failed is held against the store where none is tried after it, in nanoseconds. A run that could
/// not be kept tries again every ten seconds; where there is none, only the next run will tell, so it has to be let in.
const HELD_AGAINST_NS: u64 = 60 * SECOND_NS;

/// A write that failed.
#[derive(Debug)]
pub(super) struct Fault {
    at_ns: u64,
    reason: String,
}

impl Shared {
    /// Notes how a write to the store went.
    pub(crate) fn wrote<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let fault = match &result {
            Ok(_) => None,
            Err(StoreError::Failed(reason)) => {
                Some(Fault { at_ns: self.clock.now_ns(), reason: reason.clone() })
            }
            // It works, and says that something else is wrong.
            Err(_) => return result,
        };
        *lock(&self.write_fault) = fault;
        result
    }

    /// Why the latest write to the store failed, if it did and that is not too long ago to say anything.
    pub(crate) fn write_fault(&self) -> Option<String> {
        let now_ns = self.clock.now_ns();
        let fault = lock(&self.write_fault);
        let is_held = |fault: &&Fault| now_ns.saturating_sub(fault.at_ns) < HELD_AGAINST_NS;
        fault.as_ref().filter(is_held).map(|fault| fault.reason.clone())
    }
}
