//! What is heard of a run while it goes on: a record of each request, the first answer, and the first thing that broke.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use volley_agent::{Heard, HeardAnswer, HeardEnd, HeardTls, Listener};
use volley_stats::ErrorKind;

use super::record::{End, Record};
use crate::output;

/// From this verbosity on the request and all answers are shown, and from the next one on their statuses.
const SHOWS_ANSWERS: u32 = 2;
const SHOWS_STATUSES: u32 = 3;

/// Hears a run. Each worker's records lie apart, so that none waits for another.
pub(super) struct Ears {
    by_worker: Vec<Mutex<Vec<Record>>>,
    first: Mutex<First>,
    /// Whether what breaks ends the run.
    ends_at_failure: bool,
    broken: Mutex<Option<Broken>>,
    has_broken: Notify,
    verbosity: u32,
}

/// What is known of the first answer.
#[derive(Clone, Debug, Default)]
pub(super) struct First {
    ended_ns: Option<u64>,
    /// The first word of `Server`.
    pub(super) software: String,
    pub(super) tls: Option<HeardTls>,
}

/// What broke first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) kind: ErrorKind,
    pub(super) ended_ns: u64,
}

impl Ears {
    /// For so many workers.
    pub(super) fn new(workers: usize, ends_at_failure: bool, verbosity: u32) -> Self {
        Self {
            by_worker: std::iter::repeat_with(Mutex::default).take(workers.max(1)).collect(),
            first: Mutex::default(),
            ends_at_failure,
            broken: Mutex::default(),
            has_broken: Notify::new(),
            verbosity,
        }
    }

    /// How many requests are done.
    pub(super) fn done(&self) -> usize {
        self.by_worker.iter().map(|records| locked(records).len()).sum()
    }

    /// All records; none stay.
    pub(super) fn take_records(&self) -> Vec<Record> {
        self.by_worker.iter().flat_map(|records| std::mem::take(&mut *locked(records))).collect()
    }

    /// What is known of the first answer.
    pub(super) fn first(&self) -> First {
        locked(&self.first).clone()
    }

    /// What broke first, if that ends the run.
    pub(super) fn broken(&self) -> Option<Broken> {
        *locked(&self.broken)
    }

    /// Resolves once something has broken that ends the run.
    pub(super) async fn breaks(&self) {
        self.has_broken.notified().await;
    }

    fn note_failure(&self, kind: ErrorKind, ended_ns: u64) {
        let mut broken = locked(&self.broken);
        if broken.is_none_or(|broken| ended_ns < broken.ended_ns) {
            *broken = Some(Broken { kind, ended_ns });
            self.has_broken.notify_one();
        }
    }

    fn show(&self, answer: &HeardAnswer<'_>, is_first: bool) {
        let mut text = String::new();
        if is_first {
            let head = String::from_utf8_lossy(answer.request_head).replace("\r\n", "\n");
            let method = head.split(' ').next().unwrap_or_default();
            text = format!("INFO: {method} header == \n---\n{head}\n---\n");
        }
        let answered = String::from_utf8_lossy(answer.answer);
        text.push_str(&format!("LOG: header received:\n{answered}\n"));
        if self.verbosity >= SHOWS_STATUSES {
            text.push_str(&format!("LOG: Response code = {}\n", answer.status));
        }
        // What can't be shown is in the report, which says so where that can't be printed either.
        let _ = output::print(&text);
    }
}

impl Listener for Ears {
    fn ended(&self, worker: usize, request: &Heard) {
        let Some(record) = Record::of(request) else { return };
        locked(&self.by_worker[worker % self.by_worker.len()]).push(record);
        let breaks = matches!(record.end, End::Connect | End::Receive) && self.ends_at_failure;
        if let (true, HeardEnd::Failed(kind)) = (breaks, request.end) {
            // A handshake that fails is counted, as by ab.
            if !matches!(kind, ErrorKind::Tls | ErrorKind::TlsCertificate) {
                self.note_failure(kind, request.ended_ns);
            }
        }
    }

    fn answered(&self, _worker: usize, answer: &HeardAnswer<'_>) {
        let mut first = locked(&self.first);
        let is_first = first.ended_ns.is_none();
        if first.ended_ns.is_none_or(|ended_ns| answer.ended_ns < ended_ns) {
            let head = usize::try_from(answer.head_bytes).ok().and_then(|head| answer.answer.get(..head));
            *first = First {
                ended_ns: Some(answer.ended_ns),
                software: software(head.unwrap_or(answer.answer)),
                tls: answer.tls.cloned(),
            };
        }
        if self.verbosity >= SHOWS_ANSWERS {
            self.show(answer, is_first);
        }
    }

    fn wants_all(&self) -> bool {
        self.verbosity >= SHOWS_ANSWERS
    }
}

/// The first word of a head's `Server`, which is as much as ab tells; nothing where it has none.
fn software(head: &[u8]) -> String {
    let head = String::from_utf8_lossy(head);
    let server = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("server").then_some(value)
    });
    server.and_then(|value| value.split_whitespace().next()).unwrap_or_default().to_owned()
}

/// A worker that panicked takes the run with it; what it had written down is as good as ever.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_its_first_word() {
        let check = |head: &str, expected: &str| assert_eq!(software(head.as_bytes()), expected, "{head}");
        check("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\r\n", "nginx/1.22.1");
        check("HTTP/1.1 200 OK\r\nserver:Some/1.2 (Debian) x\r\n\r\n", "Some/1.2");
        check("HTTP/1.1 200 OK\r\nX: Server: a\r\n\r\n", "");
        check("HTTP/1.1 200 OK\r\nServer: \r\n\r\n", "");
    }

    fn failed(kind: ErrorKind, ended_ns: u64) -> Heard {
        Heard {
            started_ns: 0,
            connected_ns: None,
            sent_ns: None,
            first_byte_ns: None,
            ended_ns,
            bytes_sent: 0,
            bytes_received: 0,
            body_bytes: 0,
            is_kept: false,
            end: HeardEnd::Failed(kind),
        }
    }

    #[test]
    fn the_first_thing_that_breaks_is_kept() {
        let check = |ends: bool, kinds: &[(ErrorKind, u64)], expected: Option<(ErrorKind, u64)>| {
            let ears = Ears::new(2, ends, 0);
            for (worker, (kind, ended_ns)) in kinds.iter().enumerate() {
                ears.ended(worker, &failed(*kind, *ended_ns));
            }
            let broken = ears.broken().map(|broken| (broken.kind, broken.ended_ns));
            assert_eq!((broken, ears.done()), (expected, kinds.len()));
            assert_eq!((ears.take_records().len(), ears.done()), (kinds.len(), 0));
        };
        let (refused, reset) = (ErrorKind::ConnectRefused, ErrorKind::Reset);
        check(true, &[(reset, 9), (refused, 7), (reset, 8)], Some((refused, 7)));
        check(false, &[(reset, 9)], None);
        check(true, &[(ErrorKind::Tls, 1)], None);
    }
}
