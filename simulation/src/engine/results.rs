//! What an engine measures, second by second: counts without histograms, since only counts can be lost or doubled.

use volley_stats::{ErrorKind, Iterations, Part, Row, RowKey, SECOND_NS, Second, Window};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Ok,
    Failed,
    Cancelled,
}

/// What was measured and not told.
#[derive(Debug, Default)]
pub(crate) struct Results {
    window: Window,
    second: u32,
    has_begun: bool,
}

impl Results {
    pub(crate) fn begin(&mut self, from_ns: u64) {
        (self.second, self.has_begun) = (second_of(from_ns), true);
    }

    /// When the second at hand is over.
    pub(crate) fn end_ns(&self) -> u64 {
        (u64::from(self.second) + 1) * SECOND_NS
    }

    fn iterations(&mut self, at_ns: u64, part: Part) -> &mut Iterations {
        let second = self.window.seconds.entry(second_of(at_ns)).or_default();
        match part {
            Part::Warmup => &mut second.warmup,
            Part::Measured => &mut second.iterations,
        }
    }

    fn row(&mut self, at_ns: u64, part: Part) -> &mut Row {
        let key = RowKey { part, ..RowKey::second(second_of(at_ns), 0) };
        self.window.rows.entry(key).or_default()
    }

    pub(crate) fn started(&mut self, due_ns: u64, part: Part) {
        self.iterations(due_ns, part).started += 1;
        self.row(due_ns, part).counters.started += 1;
    }

    pub(crate) fn missed(&mut self, due_ns: u64, part: Part) {
        self.iterations(due_ns, part).missed += 1;
    }

    pub(crate) fn ended(&mut self, at_ns: u64, part: Part, ending: Ending) {
        let counters = &mut self.row(at_ns, part).counters;
        match ending {
            Ending::Ok => counters.ok += 1,
            Ending::Failed => {
                counters.failed += 1;
                counters.errors.add(ErrorKind::Status, 1);
            }
            Ending::Cancelled => {
                counters.cancelled += 1;
                return;
            }
        }
        self.iterations(at_ns, part).finished += 1;
        self.window.latest_ns = at_ns;
    }

    /// The second at hand is over, and those up to `run_ns`.
    pub(crate) fn roll(&mut self, run_ns: u64, users: u32, in_flight: u32) -> Window {
        let at_hand = self.window.seconds.entry(self.second).or_default();
        *at_hand = Second { users, in_flight, connections: in_flight, ..*at_hand };
        self.second = second_of(run_ns);
        self.take(self.second)
    }

    /// All that is left.
    pub(crate) fn last(&mut self, run_ns: u64) -> Window {
        let watermark_s = if self.has_begun { second_of(run_ns) + 1 } else { 0 };
        self.take(watermark_s)
    }

    fn take(&mut self, watermark_s: u32) -> Window {
        let window = std::mem::take(&mut self.window);
        Window { watermark_s, ..window }
    }
}

pub(crate) fn second_of(run_ns: u64) -> u32 {
    u32::try_from(run_ns / SECOND_NS).unwrap_or(u32::MAX)
}
