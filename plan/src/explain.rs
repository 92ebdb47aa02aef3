//! What a plan will do, in plain words, before it does it: what `volley plan explain` prints.

mod judging;
mod load;
mod rows;
mod scenarios;
mod way;

use crate::Plan;
use rows::Rows;

impl Plan {
    /// What it will do: the target and the way to it, the load and what it means for latency, what an iteration does, what
    /// is demanded, when it ends and what would make it invalid. Lines of 80 columns at most, but for single words that are
    /// longer.
    #[must_use]
    pub fn explained(&self) -> String {
        let mut rows = Rows::titled(&self.name);
        way::tell(self, &mut rows);
        load::tell(self, &mut rows);
        scenarios::tell(self, &mut rows);
        judging::tell(self, &mut rows);
        rows.text()
    }
}
