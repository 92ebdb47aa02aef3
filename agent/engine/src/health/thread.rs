//! What one thread did with its time: it ran, or it could have run and waited for a processor.

use std::path::Path;

use rustix::param::clock_ticks_per_second;
use volley_stats::SECOND_NS;

use super::source::{Counter, Source};

/// Two times of one thread, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    /// It was running, in user or system mode.
    pub(super) ran_ns: u64,
    /// It could have run and had no processor; 0 where the kernel doesn't say.
    pub(super) waited_ns: u64,
}

/// A thread that is watched.
#[derive(Debug)]
pub(super) struct Thread {
    source: Source,
    parse: fn(&str) -> Option<ThreadTime>,
    ran: Counter,
    waited: Counter,
    /// What it said of itself when it ended.
    left: Option<ThreadTime>,
}

impl ThreadTime {
    /// Those of the calling thread, from its beginning; `None` where the kernel doesn't say.
    pub(crate) fn of_this_thread() -> Option<Self> {
        of_schedstat(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }
}

impl Thread {
    /// Watches the thread of this directory in /proc from now on.
    pub(super) fn watch(directory: &Path) -> Self {
        let mut source = Source::open(&directory.join("schedstat"));
        let mut parse: fn(&str) -> Option<ThreadTime> = of_schedstat;
        if source.read().and_then(parse).is_none() {
            source = Source::open(&directory.join("stat"));
            parse = of_stat;
        }
        let mut thread =
            Self { source, parse, ran: Counter::default(), waited: Counter::default(), left: None };
        thread.passed();
        thread
    }

    /// The thread has ended, and had these times then.
    pub(super) fn left(&mut self, time: Option<ThreadTime>) {
        self.left = time;
    }

    /// Its times since the last call.
    pub(super) fn passed(&mut self) -> ThreadTime {
        let now = self.left.or_else(|| self.source.read().and_then(self.parse));
        ThreadTime {
            ran_ns: self.ran.passed(now.map(|time| time.ran_ns)),
            waited_ns: self.waited.passed(now.map(|time| time.waited_ns)),
        }
    }
}

/// Of /proc/PID/task/TID/schedstat: nanoseconds run, nanoseconds waited, turns on a processor (the kernel's
/// Documentation/scheduler/sched-stats.rst). A kernel that doesn't keep these writes zeros; a thread that told its id
/// has had a turn, though the time of its first one may not have been booked yet.
fn of_schedstat(text: &str) -> Option<ThreadTime> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse::<u64>().ok());
    let (ran_ns, waited_ns, turns) = (fields.next()??, fields.next()??, fields.next()??);
    (turns > 0).then_some(ThreadTime { ran_ns, waited_ns })
}

/// Of /proc/PID/task/TID/stat: the 14th and 15th field, user and system time in ticks (`man 5 proc_pid_stat`). The
/// second one, a name, may hold blanks and brackets; so it is the last bracket that counts.
fn of_stat(text: &str) -> Option<ThreadTime> {
    let (_, from_third) = text.rsplit_once(')')?;
    let mut fields = from_third.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = fields.next()?.ok()?.saturating_add(fields.next()?.ok()?);
    let tick_ns = SECOND_NS / clock_ticks_per_second().max(1);
    Some(ThreadTime { ran_ns: ticks.saturating_mul(tick_ns), waited_ns: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_thread_are_read() {
        let time = |ran_ns, waited_ns| Some(ThreadTime { ran_ns, waited_ns });
        for (text, expected) in [
            ("218508457 743763464 46\n", time(218_508_457, 743_763_464)),
            ("871485 0 1\n", time(871_485, 0)),
            ("0 0 1\n", time(0, 0)),
            ("0 0 0\n", None),
            ("5 x 1\n", None),
            ("5\n", None),
            ("", None),
        ] {
            assert_eq!(of_schedstat(text), expected, "{text:?}");
        }
    }

    #[test]
    fn ticks_of_a_thread_are_read() {
        let after_name = "R 31679 31679 28249 0 -1 4194304 104 0 0 0 7 5 0 0 20 0 1 0 1198913 3133440 390 \
                          18446744073709551615 94415953604608 94415953624489 140730371264608 0 0 0 0 0 0 0 0 0 17 1 \
                          0 0 0 0 0 94415953640496 94415953642112 94416356200448 140730371271372 140730371271413 \
                          140730371271413 140730371272683 0\n";
        let ticks_12 = Some(ThreadTime { ran_ns: 12 * SECOND_NS / clock_ticks_per_second(), waited_ns: 0 });
        for (text, expected) in [
            (format!("31684 (cat) {after_name}"), ticks_12),
            (format!("31684 (a ) 1 (b) 2) {after_name}"), ticks_12),
            ("31684 (cat) R 1 2 3".to_owned(), None),
            ("31684 cat".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(of_stat(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_thread_that_is_not_there_did_nothing() {
        let mut thread = Thread::watch(Path::new("/proc/self/task/0"));
        assert_eq!(thread.passed(), ThreadTime::default());
    }
}
