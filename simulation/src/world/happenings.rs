//! What each thing that happens does to the world.

use super::{ASKED_NS, Ends, Happening, MS, S, World};
use crate::books::Wrong;
use crate::coordinator::Process;
use crate::link::Connection;
use crate::scenario::Happens;

/// A coordinator gives up a connection on which nothing came for so long.
const SILENT_NS: u64 = 10 * S;

impl World<'_> {
    pub(super) fn happen(&mut self, happening: Happening) -> Result<(), Wrong> {
        if happening.is_expected() {
            self.expected -= 1;
        }
        match happening {
            Happening::Boot { host } => self.boot(host),
            Happening::Beat { host, process } => self.beat(host, process),
            Happening::Dial { host, process } => self.dial(host, process),
            Happening::Engine { host, process } if self.is_process(host, process) => self.turn(host),
            Happening::Disk { host, process } if self.is_process(host, process) => {
                self.hosts[host].work_disk();
                self.turn(host)
            }
            Happening::Engine { .. } | Happening::Disk { .. } => Ok(()),
            Happening::Up { connection, message } => {
                if !self.is_open(connection) {
                    return Ok(());
                }
                self.trace.say(self.now_ns, || format!("{connection:?} up: {}", brief(&message)));
                self.at_desk(|process, desk| process.hear(desk, connection, *message)).map(drop)
            }
            Happening::Down { connection, message } => self.down(connection, *message),
            Happening::HangUp { connection } => {
                self.hung_up(connection);
                Ok(())
            }
            Happening::Closed { connection } => {
                self.closed(connection);
                Ok(())
            }
            Happening::GoOn { host, process } => self.go_on(host, process),
            Happening::Deadline { process } if process == self.coordinators => {
                self.at_desk(Process::meet_deadlines).map(drop)
            }
            Happening::Deadline { .. } => Ok(()),
            Happening::Asked => self.asked(),
            Happening::Started => self.coordinator_starts(),
            Happening::Reborn { coordinator } => self.reborn(coordinator),
            Happening::Event { index } => self.event(index),
        }
    }

    fn hung_up(&mut self, connection: Connection) {
        if self.is_open(connection)
            && let Some(process) = &mut self.coordinator
        {
            process.closed(connection);
        }
    }

    fn closed(&mut self, connection: Connection) {
        let Some(ends) = self.connections.get(&connection).copied() else { return };
        let agent = self.hosts[ends.host].agent.as_ref();
        if agent.is_some_and(|agent| agent.connection == Some(connection)) {
            self.disconnected(ends.host);
        }
    }

    fn is_process(&self, host: usize, process: u32) -> bool {
        self.hosts[host].processes == process && self.hosts[host].agent.is_some()
    }

    /// Whether what comes on a connection reaches the present coordinator.
    fn is_open(&self, connection: Connection) -> bool {
        let Some(ends) = self.connections.get(&connection) else { return false };
        ends.coordinator == self.coordinators
            && self.coordinator.is_some()
            && !self.hosts[ends.host].way.is_dead(connection)
    }

    fn coordinator_starts(&mut self) -> Result<(), Wrong> {
        self.coordinators += 1;
        let drift_ppb = self.random.within(0..200_001) as i64 - 100_000;
        let clock = self.clock(drift_ppb);
        let (job, start_ns) = (self.job.clone(), self.start_ns.unwrap_or(self.now_ns));
        // The wall clock may be off a little.
        let run_ns = (self.now_ns.saturating_sub(start_ns)).saturating_add(self.random.within(0..50) * MS);
        let lease_ns = u64::try_from(self.job.plan.agents.lease.as_nanos()).unwrap_or(u64::MAX);
        // As nearly as clocks agree on the run time.
        self.books.resumed(self.now_ns.saturating_sub(start_ns).saturating_add(lease_ns).saturating_add(S));
        self.forgot |= self.store.is_closed;
        self.tally.resumed += u64::from(self.store.run.is_some() && !self.store.is_closed);
        let mut out = Vec::new();
        let mut desk = crate::coordinator::Desk {
            now_ns: self.now_ns,
            store: &mut self.store,
            books: &mut self.books,
            trace: &self.trace,
            out: &mut out,
        };
        self.coordinator = Some(Process::new(job, clock, run_ns, &mut desk));
        Ok(())
    }

    /// Whoever asks for the run tries again until it is kept.
    fn asked(&mut self) -> Result<(), Wrong> {
        if self.store.run.is_some() || self.last_run.is_some() {
            return Ok(());
        }
        self.at_desk(Process::begin)?;
        if self.store.run.is_none() && !self.store.is_broken {
            self.expect(self.now_ns + S, Happening::Asked);
        }
        Ok(())
    }

    fn boot(&mut self, host: usize) -> Result<(), Wrong> {
        if self.hosts[host].agent.is_some() {
            return Ok(());
        }
        let clock = self.clock(self.hosts[host].is.drift_ppb);
        let mut random = self.random.split();
        self.hosts[host].start(host, clock, &mut random);
        let process = self.hosts[host].processes;
        self.queue.push(self.now_ns, Happening::Dial { host, process });
        if self.hosts[host].has_disk() {
            self.queue.push(self.now_ns + MS, Happening::Disk { host, process });
        }
        self.beat_later(host);
        Ok(())
    }

    fn beat(&mut self, host: usize, process: u32) -> Result<(), Wrong> {
        if !self.is_process(host, process) {
            return Ok(());
        }
        self.beat_later(host);
        let now_ns = self.now_ns;
        let Some(agent) = &mut self.hosts[host].agent else { return Ok(()) };
        if agent.hung_until_ns.is_some() {
            return Ok(());
        }
        if !agent.beat(now_ns) {
            let connection = agent.connection;
            self.disconnected(host);
            if let Some(connection) = connection {
                self.hang_up(connection);
            }
        }
        self.turn(host)
    }

    fn dial(&mut self, host: usize, process: u32) -> Result<(), Wrong> {
        if !self.is_process(host, process) {
            return Ok(());
        }
        let now_ns = self.now_ns;
        let is_cut = self.hosts[host].way.is_cut(now_ns);
        let can = self.coordinator.is_some() && !is_cut;
        let Some(agent) = &mut self.hosts[host].agent else { return Ok(()) };
        if agent.connection.is_some() {
            return Ok(());
        }
        if !can || agent.hung_until_ns.is_some() {
            let at_ns = now_ns + self.random.within(100..1_000) * MS;
            self.queue.push(at_ns, Happening::Dial { host, process });
            return Ok(());
        }
        self.connected += 1;
        let connection = Connection(self.connected);
        agent.connected(now_ns, connection);
        self.hosts[host].way.opened();
        self.connections.insert(connection, Ends { host, process, coordinator: self.coordinators });
        self.turn(host)
    }

    fn down(&mut self, connection: Connection, message: volley_plan::link::ToAgent) -> Result<(), Wrong> {
        let Some(Ends { host, process, .. }) = self.connections.get(&connection).copied() else {
            return Ok(());
        };
        if self.hosts[host].way.is_dead(connection) || !self.is_process(host, process) {
            return Ok(());
        }
        let now_ns = self.now_ns;
        if let Some(agent) = &mut self.hosts[host].agent {
            agent.hear(now_ns, connection, message);
        }
        self.turn(host)
    }

    fn go_on(&mut self, host: usize, process: u32) -> Result<(), Wrong> {
        let now_ns = self.now_ns;
        if !self.is_process(host, process) {
            return Ok(());
        }
        let Some(agent) = &mut self.hosts[host].agent else { return Ok(()) };
        if agent.hung_until_ns.is_none_or(|until_ns| now_ns < until_ns) {
            return Ok(());
        }
        let waiting = agent.go_on();
        // Which of its threads is first is a matter of chance.
        if self.random.percent(50) {
            self.turn(host)?;
        }
        for (connection, message) in waiting {
            if let Some(agent) = &mut self.hosts[host].agent {
                agent.hear(now_ns, connection, message);
            }
        }
        self.turn(host)
    }

    fn event(&mut self, index: usize) -> Result<(), Wrong> {
        let what = self.scenario.events[index].what.clone();
        let now_ns = self.now_ns;
        self.trace.say(now_ns, || format!("--- {what:?}"));
        self.count(&what);
        match what {
            Happens::Break { host, loses } => self.break_connection(host, loses),
            Happens::Cut { host, for_ms } => self.hosts[host].way.cut(now_ns + for_ms * MS),
            Happens::Slow { host, for_ms, by_ms } => {
                self.hosts[host].way.slow(now_ns + for_ms * MS, by_ms);
            }
            Happens::Hang { host, for_ms } => self.hang(host, for_ms * MS),
            Happens::Die { host, back_ms } => {
                self.agent_ends(host, false);
                if let Some(back_ms) = back_ms {
                    self.expect(now_ns + back_ms * MS, Happening::Boot { host });
                }
            }
            Happens::Leave { host } => return self.leave(host),
            Happens::Drain { host } => return self.drain(host),
            Happens::Kill { steps, for_ms } => self.kill(steps, for_ms * MS),
            Happens::Adjust { to } => {
                let level = self.level(to);
                let adjusted = self.at_desk(|process, desk| process.adjust_asked(desk, level))?;
                self.tally.adjusted += u64::from(adjusted == Some(true));
            }
            Happens::Stop => return self.at_desk(Process::stop_asked).map(drop),
            Happens::BreakStore => self.store.is_broken = true,
        }
        Ok(())
    }

    fn break_connection(&mut self, host: usize, loses: bool) {
        let Some(agent) = &self.hosts[host].agent else { return };
        let (Some(connection), false) = (agent.connection, agent.hung_until_ns.is_some()) else { return };
        self.disconnected(host);
        self.hang_up(connection);
        if loses {
            self.hosts[host].way.kill(connection);
            if let Some(process) = &mut self.coordinator {
                process.closed(connection);
            }
        }
    }

    fn hang(&mut self, host: usize, for_ns: u64) {
        let until_ns = self.now_ns + for_ns;
        let process = self.hosts[host].processes;
        let Some(agent) = &mut self.hosts[host].agent else { return };
        agent.hung_until_ns = Some(agent.hung_until_ns.map_or(until_ns, |earlier| earlier.max(until_ns)));
        let connection = agent.connection;
        self.expect(until_ns, Happening::GoOn { host, process });
        if let Some(connection) = connection.filter(|_| for_ns > SILENT_NS) {
            self.queue.push(self.now_ns + SILENT_NS, Happening::HangUp { connection });
            self.queue.push(until_ns, Happening::Closed { connection });
        }
    }

    fn leave(&mut self, host: usize) -> Result<(), Wrong> {
        let load = &self.job.plan.load;
        let patience_ns = (load.drain + self.job.plan.agents.lease).as_nanos();
        let patience_ns = u64::try_from(patience_ns).unwrap_or(u64::MAX);
        let now_ns = self.now_ns;
        let Some(agent) = self.hosts[host].agent.as_mut().filter(|it| it.hung_until_ns.is_none()) else {
            return Ok(());
        };
        agent.leave(now_ns, patience_ns);
        self.turn(host)
    }

    fn drain(&mut self, host: usize) -> Result<(), Wrong> {
        let Some(agent) = &self.hosts[host].agent else { return Ok(()) };
        let incarnation = agent.incarnation;
        self.at_desk(|process, desk| process.drain(desk, incarnation)).map(drop)
    }

    /// The coordinator dies within its next steps, and comes back.
    fn kill(&mut self, steps: u32, for_ns: u64) {
        let Some(process) = &mut self.coordinator else { return };
        if steps == 0 {
            self.coordinator_dies();
        } else {
            process.doom(steps);
        }
        self.expect(self.now_ns.max(ASKED_NS) + for_ns, Happening::Reborn { coordinator: self.coordinators });
    }

    /// A coordinator that was doomed is dead by now at the latest, and another one is started.
    pub(super) fn reborn(&mut self, coordinator: u32) -> Result<(), Wrong> {
        if coordinator != self.coordinators {
            return Ok(());
        }
        if self.coordinator.is_some() {
            self.coordinator_dies();
        }
        self.coordinator_starts()
    }
}

impl Happening {
    /// Whether it changes the world from outside.
    fn is_expected(&self) -> bool {
        matches!(
            self,
            Self::Boot { .. } | Self::Asked | Self::Event { .. } | Self::GoOn { .. } | Self::Reborn { .. }
        )
    }
}

fn brief(message: &volley_plan::link::FromAgent) -> String {
    use volley_plan::link::{FromAgent, Report};
    match message {
        FromAgent::Join(hello) => format!("join {}", hello.name),
        FromAgent::Ping { progress, leaving, .. } => format!("ping {progress:?}, leaving: {leaving}"),
        FromAgent::Report { of, report: Report::Window { sequence, last, .. }, .. } => {
            format!("window {sequence} of {of:?}, last: {last}")
        }
        FromAgent::Report { report, .. } => format!("{report:?}"),
    }
}
