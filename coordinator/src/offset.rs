//! How far an agent's clock is from the coordinator's, read off the latest pings.

use std::collections::VecDeque;

use volley_plan::link::RoundTrip;

/// Round trips that are remembered: about four seconds of pings, so that drift doesn't matter.
const REMEMBERED: usize = 8;
/// Pings that are remembered, to tell whether a round trip is one of ours: enough for those that agents send at once when
/// they take orders.
const REMEMBERED_PINGS: usize = 64;

/// The offset of one agent's clock.
///
/// A round trip shows it to within half of its time on the way, so the quickest of the latest ones is believed.
/// Before the first round trip is whole there is only the ping's way here, which reads the offset too large by that
/// way's time: the smallest reading is the best, and it is good enough to start a run within this process or
/// network at once.
///
/// Only round trips of pings that came here count: an agent that was at work for the coordinator before this one may still
/// tell of a round trip to that one, whose clock was another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// When the latest pings left (agent's clock) and came (coordinator's).
    pings: VecDeque<(u64, u64)>,
    round_trips: VecDeque<RoundTrip>,
    one_way_ns: Option<i128>,
    /// What the first round trip said.
    first_ns: Option<i128>,
}

impl ClockOffset {
    /// Takes in a ping that left at `sent_ns` of the agent's clock and came at `received_ns` of the coordinator's.
    pub(crate) fn ping(&mut self, sent_ns: u64, received_ns: u64) {
        let reading = i128::from(received_ns) - i128::from(sent_ns);
        self.one_way_ns = Some(self.one_way_ns.map_or(reading, |best| best.min(reading)));
        if self.pings.len() == REMEMBERED_PINGS {
            self.pings.pop_front();
        }
        self.pings.push_back((sent_ns, received_ns));
    }

    /// Takes in a round trip. One whose times run backwards, or whose ping did not come here, says nothing.
    pub(crate) fn round_trip(&mut self, trip: RoundTrip) {
        let is_ours = self.pings.contains(&(trip.sent_ns, trip.received_ns));
        if !is_ours || trip.returned_ns < trip.sent_ns || trip.answered_ns < trip.received_ns {
            return;
        }
        // The same one comes again when a ping is sent before the next answer is there.
        if self.round_trips.back() == Some(&trip) {
            return;
        }
        if self.round_trips.len() == REMEMBERED {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back(trip);
        self.first_ns.get_or_insert(i128::from(trip.offset_ns()));
    }

    fn best(&self) -> Option<&RoundTrip> {
        self.round_trips.iter().min_by_key(|trip| trip.way_ns())
    }

    /// The coordinator's clock minus the agent's, in nanoseconds; `None` before the first ping.
    pub(crate) fn offset_ns(&self) -> Option<i128> {
        self.best().map(|trip| i128::from(trip.offset_ns())).or(self.one_way_ns)
    }

    /// Time on the way of the best round trip, in nanoseconds; twice the offset's error at most.
    pub(crate) fn way_ns(&self) -> Option<u64> {
        self.best().map(RoundTrip::way_ns)
    }

    /// A time of the coordinator's clock on the agent's; `None` before the first ping. What lies before the agent's
    /// epoch becomes its epoch.
    pub(crate) fn to_agent_ns(&self, coordinator_ns: u64) -> Option<u64> {
        let agent_ns = i128::from(coordinator_ns) - self.offset_ns()?;
        Some(u64::try_from(agent_ns.max(0)).unwrap_or(u64::MAX))
    }

    /// A time of the agent's clock on the coordinator's; `None` before the first ping. What lies before the coordinator's
    /// epoch becomes its epoch.
    pub(crate) fn to_coordinator_ns(&self, agent_ns: u64) -> Option<u64> {
        let coordinator_ns = i128::from(agent_ns) + self.offset_ns()?;
        Some(u64::try_from(coordinator_ns.max(0)).unwrap_or(u64::MAX))
    }

    /// By how much the agent's clock has run fast since its first round trip, in nanoseconds; `None` before that.
    pub(crate) fn drift_ns(&self) -> Option<i128> {
        // The offset is the coordinator's clock minus the agent's, so a clock that runs fast makes it smaller.
        Some(self.first_ns? - i128::from(self.best()?.offset_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of an agent whose clock is `behind` behind, with `there` and `back` on the way.
    fn trip(sent_ns: u64, behind: u64, there: u64, back: u64) -> RoundTrip {
        let received_ns = sent_ns + behind + there;
        RoundTrip {
            sent_ns,
            received_ns,
            answered_ns: received_ns + 5,
            returned_ns: sent_ns + there + 5 + back,
        }
    }

    fn check(pings: &[(u64, u64)], trips: &[RoundTrip], expected_offset_ns: Option<i128>) {
        let mut offset = ClockOffset::default();
        for &(sent_ns, received_ns) in pings {
            offset.ping(sent_ns, received_ns);
        }
        for &trip in trips {
            offset.whole(trip);
        }
        assert_eq!(offset.offset_ns(), expected_offset_ns);
    }

    impl ClockOffset {
        /// A ping with all of its way. What it reads on its way here doesn't matter beside that.
        fn whole(&mut self, trip: RoundTrip) {
            self.ping(trip.sent_ns, trip.received_ns);
            self.round_trip(trip);
        }
    }

    #[test]
    fn the_quickest_round_trip_is_believed() {
        check(&[], &[], None);
        check(&[(100, 1200), (300, 1350)], &[], Some(1050));
        check(&[(100, 1200)], &[trip(0, 1000, 10, 10)], Some(1000));
        check(&[], &[trip(0, 1000, 500, 10), trip(50, 1000, 10, 12), trip(90, 1000, 10, 900)], Some(999));
    }

    #[test]
    fn old_round_trips_are_forgotten() {
        let quick_but_old = trip(0, 1000, 1, 1);
        let later = |n: u64| trip(n * 100, 2000, 20, 20);
        let trips: Vec<_> = [quick_but_old].into_iter().chain((1..=8).map(later)).collect();
        check(&[], &trips, Some(2000));
        check(&[], trips.get(..8).unwrap(), Some(1000));
    }

    #[test]
    fn nonsense_is_left_out() {
        let backwards = RoundTrip { sent_ns: 100, received_ns: 5, answered_ns: 6, returned_ns: 50 };
        check(&[(0, 7)], &[backwards], Some(-95));
        check(&[(u64::MAX, 0)], &[], Some(-i128::from(u64::MAX)));
    }

    #[test]
    fn a_round_trip_to_another_coordinator_is_left_out() {
        let mut offset = ClockOffset::default();
        offset.ping(500, 1600);
        offset.round_trip(trip(400, 9_000_000, 1, 1));
        assert_eq!((offset.offset_ns(), offset.way_ns()), (Some(1100), None));
        // Neither is a ping of ours with another's time of coming.
        offset.round_trip(trip(500, 9_000_000, 1, 1));
        assert_eq!(offset.way_ns(), None);
    }

    #[test]
    fn times_are_told_on_either_clock() {
        let mut offset = ClockOffset::default();
        assert_eq!((offset.to_agent_ns(5000), offset.to_coordinator_ns(4000)), (None, None));
        offset.whole(trip(0, 1000, 10, 10));
        assert_eq!((offset.to_agent_ns(5000), offset.to_agent_ns(999)), (Some(4000), Some(0)));
        assert_eq!(offset.to_coordinator_ns(4000), Some(5000));
        assert_eq!(offset.way_ns(), Some(20));
        offset.whole(trip(9000, 500, 3, 3));
        assert_eq!(offset.drift_ns(), Some(500), "the agent's clock has gained on ours");
        let ahead = ClockOffset { one_way_ns: Some(-700), ..ClockOffset::default() };
        assert_eq!((ahead.to_coordinator_ns(600), ahead.to_coordinator_ns(900)), (Some(0), Some(200)));
    }
}
