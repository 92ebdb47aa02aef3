//! The link's thread is put before the load's, where the system permits it: a ping that is late for a busy core costs the
//! agent its lease.

use rustix::process::{getpriority_process, setpriority_process};

/// How much nicer to itself the link's thread is than the rest of the process.
const RAISE: i32 = 10;

/// The priority of the thread that it was made on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Priority {
    /// The nice value that the thread began with.
    normal: i32,
    raised: bool,
}

impl Priority {
    /// Raises the calling thread, as far as that is permitted. On Linux a nice value is a thread's own.
    pub(crate) fn raise() -> Self {
        let normal = getpriority_process(None).unwrap_or(0);
        let raised = set(normal - RAISE);
        Self { normal, raised }
    }

    /// Does something at the normal priority, on the thread that was raised. Threads inherit from who starts them, and
    /// the load's must not be raised as well.
    pub(crate) fn normally<T>(self, act: impl FnOnce() -> T) -> T {
        if !self.raised {
            return act();
        }
        set(self.normal);
        let done = act();
        set(self.normal - RAISE);
        done
    }
}

fn set(nice: i32) -> bool {
    match setpriority_process(None, nice) {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(nice, %error, "the priority of the link's thread stays as it is");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_started_normally_are_not_raised() {
        let nice = || getpriority_process(None).expect("a thread may ask for its own priority");
        let link = std::thread::spawn(move || {
            let before = nice();
            let priority = Priority::raise();
            let worker = priority.normally(|| std::thread::spawn(nice)).join().expect("the worker ends");
            assert_eq!(worker, before);
            assert_eq!(nice(), if priority.raised { before - RAISE } else { before });
        });
        link.join().expect("the link's thread ends well");
    }
}
