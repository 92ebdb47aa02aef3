//! A target that keeps the number of each request that reached it: what was sent twice, and what never came.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::report::Report;
use crate::server::{Reply, Server};

/// The header line in which plans of these tests tell a request's number.
pub const NUMBER_HEADER: &str = "x-number";

/// The numbers that a target saw, with the times at which they came, by the test's own clock.
#[derive(Clone, Default)]
pub struct Numbers {
    seen: Arc<Mutex<BTreeMap<u64, Vec<Instant>>>>,
}

impl Numbers {
    /// A target on this address (without a port) that answers after a while and keeps the numbers.
    #[must_use]
    pub fn target(ip: &str, delay: Duration) -> (Server, Self) {
        let numbers = Self::default();
        let kept = numbers.clone();
        let server = Server::start_on(ip, move |request| {
            let number = request.header(NUMBER_HEADER).and_then(|text| text.parse().ok());
            let number = number.unwrap_or_else(|| panic!("a request without a number: {request:?}"));
            kept.seen().entry(number).or_default().push(Instant::now());
            Reply::ok("hello").after(delay)
        });
        (server, numbers)
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<Instant>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that came more than once.
    #[must_use]
    pub fn doubled(&self) -> Vec<u64> {
        let seen = self.seen();
        seen.iter().filter(|(_, times)| times.len() > 1).map(|(&number, _)| number).collect()
    }

    /// Those below `planned` that never came.
    #[must_use]
    pub fn absent(&self, planned: u64) -> Vec<u64> {
        let seen = self.seen();
        (0..planned).filter(|number| !seen.contains_key(number)).collect()
    }

    /// How many came from a moment on, for so long.
    #[must_use]
    pub fn came_within(&self, from: Instant, span: Duration) -> usize {
        let seen = self.seen();
        let times = seen.values().flatten();
        times.filter(|&&at| at >= from && at < from + span).count()
    }

    /// How many came, those that came twice counted twice.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.seen().values().map(|times| times.len() as u64).sum()
    }

    /// Holds a report of a run at an even rate, and its seconds, to what came: nothing twice, and of each second so many
    /// absent as it says were missed, or may have been.
    ///
    /// # Panics
    /// If it says otherwise.
    pub fn check(&self, report: &Report, ticks: &[serde_json::Value], rate: u64) {
        assert_eq!(self.doubled(), Vec::<u64>::new(), "sent twice: {report:?}");
        let planned = report.document()["accounts"]["planned"].as_u64().expect("an open run plans a number");
        let mut absent_by_second = BTreeMap::<u64, u64>::new();
        for number in self.absent(planned) {
            *absent_by_second.entry(number / rate).or_default() += 1;
        }
        let absent: u64 = absent_by_second.values().sum();
        let (missed, unknown) = (report.count("missed"), report.count("unknown"));
        // What failed may have reached the target or not: nobody can know.
        let unseen = report.count("failed") + report.count("cancelled") + report.count("unresolved");
        assert!(
            (missed..=missed + unknown + unseen).contains(&absent),
            "{absent} never came, {missed} missed and {unknown} unknown are said: {report:?}"
        );
        for tick in ticks {
            let count = |name: &str| tick[name].as_u64().unwrap_or(0);
            let second = count("second");
            let absent = absent_by_second.remove(&second).unwrap_or(0);
            let (missed, unknown) = (count("missed"), count("unknown"));
            assert!(
                (missed..=missed + unknown + unseen).contains(&absent),
                "second {second}: {absent} never came, {missed} missed and {unknown} unknown are said"
            );
        }
        assert!(absent_by_second.is_empty(), "no second tells of {absent_by_second:?}");
    }
}
