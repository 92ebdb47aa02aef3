//! What commands do to the model.

use volley_engine::{Command, Event};

use super::{Change, Engine, NEVER, Times, Work, nanoseconds};

impl Engine {
    pub(super) fn obey(&mut self, clock_ns: u64, command: Command) {
        match command {
            Command::Start { at_ns, from_ns, lease_until_ns } => self.start(at_ns, from_ns, lease_until_ns),
            Command::Change { at_ns, share, to, over_ns } => {
                self.changes.push_back(Change { at_ns, share, to, over_ns });
                if let Some(times) = &mut self.times {
                    times.own_until_ns = times.own_until_ns.max(at_ns);
                }
            }
            Command::Grant { from, to, last } => {
                if let Work::Closed(users) = &mut self.work {
                    users.grant(from..to, last);
                }
            }
            Command::Lease { until_ns } => self.renew(clock_ns, until_ns),
            Command::Stop { at_ns, drain_ns } => self.stop(at_ns, drain_ns),
        }
    }

    fn start(&mut self, start_ns: u64, from_ns: u64, lease_until_ns: u64) {
        if self.times.is_some() || self.is_over {
            return;
        }
        let (total_ns, drain_ns) = (self.load.total_ns().unwrap_or(NEVER), nanoseconds(self.load.drain));
        let lets_finish = matches!(&self.work, Work::Open(arrivals) if arrivals.ends_by_count());
        self.times = Some(Times {
            start_ns,
            from_ns,
            lease_until_ns,
            lapsed_until_ns: 0,
            own_until_ns: 0,
            stop_ns: if lets_finish { NEVER } else { total_ns },
            cancel_ns: total_ns.saturating_add(drain_ns),
        });
        match &mut self.work {
            Work::Open(arrivals) => arrivals.begin(from_ns),
            Work::Closed(users) => users.begin(from_ns),
        }
        self.results.begin(from_ns);
    }

    /// What became due while there was no lease is missed; it is known to be this engine's own now.
    fn renew(&mut self, clock_ns: u64, until_ns: u64) {
        let Some(times) = &mut self.times else { return };
        let run_ns = clock_ns.saturating_sub(times.start_ns);
        if until_ns <= times.lease_until_ns {
            return;
        }
        if run_ns >= times.lease_until_ns {
            let own_ns = run_ns.min(until_ns);
            times.lapsed_until_ns = times.lapsed_until_ns.max(own_ns);
            times.own_until_ns = times.own_until_ns.max(own_ns);
        }
        times.lease_until_ns = until_ns;
    }

    fn stop(&mut self, at_ns: u64, drain_ns: u64) {
        let Some(times) = &mut self.times else {
            // Before the start it ends the run at once.
            if self.is_ready && !self.is_over {
                let window = self.results.last(0);
                self.tell(Event::Window { window, last: true });
            }
            self.is_over = true;
            return;
        };
        times.stop_ns = times.stop_ns.min(at_ns);
        times.cancel_ns = times.cancel_ns.min(at_ns.saturating_add(drain_ns));
        times.own_until_ns = times.own_until_ns.max(at_ns);
    }
}
