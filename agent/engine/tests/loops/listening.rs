//! Somebody in the process is told of each request: what is told is held against what the engine reports.

use std::sync::{Arc, Mutex};

use volley_engine::{HEARD_BYTES, Heard, HeardAnswer, HeardEnd, HeardTls, Listener, Listening};
use volley_plan::{Plan, Target as PlanTarget};
use volley_stats::ErrorKind;

use crate::run::{Report, Run, plan};
use crate::target::{Target, closed_address};
use crate::tls_target::{TlsTarget, config, self_signed};

/// An answer, as it was told of.
struct Told {
    request: String,
    answer: Vec<u8>,
    head_bytes: u64,
    tls: Option<HeardTls>,
}

/// Keeps all that it is told.
#[derive(Default)]
struct Keeping {
    wants_all: bool,
    requests: Mutex<Vec<Heard>>,
    answers: Mutex<Vec<Told>>,
}

impl Listener for Keeping {
    fn ended(&self, _worker: usize, request: &Heard) {
        self.requests.lock().unwrap().push(*request);
    }

    fn answered(&self, _worker: usize, answer: &HeardAnswer<'_>) {
        self.answers.lock().unwrap().push(Told {
            request: String::from_utf8(answer.request_head.to_vec()).unwrap(),
            answer: answer.answer.to_vec(),
            head_bytes: answer.head_bytes,
            tls: answer.tls.cloned(),
        });
    }

    fn wants_all(&self) -> bool {
        self.wants_all
    }
}

/// The whole run of a plan, and what was told of it.
async fn heard(plan: Plan, workers: usize, wants_all: bool) -> (Report, Arc<Keeping>) {
    let keeping = Arc::new(Keeping { wants_all, ..Keeping::default() });
    let mut run = Run::launch_heard(plan, workers, Listening::new(Arc::clone(&keeping) as Arc<_>));
    run.starts().await;
    (run.finish().await, keeping)
}

/// What was told adds up to what was reported, and its times are in their order.
fn check_sums(report: &Report, keeping: &Keeping) {
    let requests = keeping.requests.lock().unwrap();
    let counters = report.counters();
    let count = |is: fn(&HeardEnd) -> bool| requests.iter().filter(|heard| is(&heard.end)).count() as u64;
    let answered = count(|end| matches!(end, HeardEnd::Answered { fault: None, .. }));
    let cancelled = count(|end| *end == HeardEnd::Cancelled);
    assert_eq!(
        (requests.len() as u64, answered, cancelled),
        (counters.started, counters.ok, counters.cancelled)
    );
    let sum = |of: fn(&Heard) -> u64| requests.iter().map(of).sum::<u64>();
    assert_eq!(sum(|heard| heard.bytes_sent), counters.bytes_sent);
    assert_eq!(sum(|heard| heard.bytes_received), counters.bytes_received);
    for heard in requests.iter() {
        let times = [Some(heard.started_ns), heard.connected_ns, heard.sent_ns, heard.first_byte_ns];
        let times: Vec<u64> = times.into_iter().flatten().chain([heard.ended_ns]).collect();
        assert!(times.is_sorted(), "{heard:?}");
    }
}

#[tokio::test]
async fn each_request_is_told_of_once() {
    for (rest, kept) in
        [("users: 4, requests: 400", true), ("users: 4, requests: 400, keep_alive: false", false)]
    {
        let target = Target::hello();
        let (report, keeping) = heard(plan(target.address, rest), 2, false).await;
        check_sums(&report, &keeping);
        let requests = keeping.requests.lock().unwrap();
        assert_eq!((requests.len(), target.seen().requests()), (400, 400));
        for heard in requests.iter() {
            assert_eq!((heard.body_bytes, heard.is_kept), (5, kept));
            assert_eq!(heard.end, HeardEnd::Answered { status: 200, fault: None });
            assert!(heard.connected_ns.is_some() && heard.sent_ns.is_some() && heard.first_byte_ns.is_some());
        }
        // One connection for each user, or for each request, has to be waited for.
        let waited = requests.iter().filter(|heard| heard.connected_ns > Some(heard.started_ns)).count();
        assert_eq!(waited, if kept { 4 } else { 400 });
    }
}

#[tokio::test]
async fn the_first_answer_of_each_user_is_shown_or_all_are() {
    for (wants_all, expected) in [(false, 3), (true, 30)] {
        let target = Target::hello();
        let (_, keeping) = heard(plan(target.address, "users: 3, requests: 30"), 1, wants_all).await;
        let answers = keeping.answers.lock().unwrap();
        assert_eq!(answers.len(), expected);
        for told in answers.iter() {
            assert_eq!(told.answer, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            assert_eq!(told.head_bytes, 38);
            assert!(told.request.starts_with("GET / HTTP/1.1\r\n") && told.request.ends_with("\r\n\r\n"));
            assert!(told.tls.is_none());
        }
    }
}

#[tokio::test]
async fn of_a_large_answer_the_beginning_is_shown() {
    const BYTES: usize = 300_000;
    let target = Target::new(|peer| {
        while peer.request().is_some() {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
            if peer.say(&(head + &"x".repeat(BYTES))).is_none() {
                return;
            }
        }
    });
    let (report, keeping) = heard(plan(target.address, "users: 1, requests: 3"), 1, true).await;
    assert_eq!(report.counters().ok, 3);
    let lengths: Vec<_> = keeping.answers.lock().unwrap().iter().map(|told| told.answer.len()).collect();
    assert_eq!(lengths, [HEARD_BYTES; 3]);
    let bodies: Vec<_> = keeping.requests.lock().unwrap().iter().map(|heard| heard.body_bytes).collect();
    assert_eq!(bodies, [BYTES as u64; 3]);
}

#[tokio::test]
async fn failures_are_told_with_how_far_they_came() {
    let refused = plan(closed_address(), "users: 1, requests: 2");
    let (report, keeping) = heard(refused, 1, false).await;
    check_sums(&report, &keeping);
    for heard in keeping.requests.lock().unwrap().iter() {
        assert_eq!(heard.end, HeardEnd::Failed(ErrorKind::ConnectRefused));
        assert_eq!(
            (heard.connected_ns, heard.sent_ns, heard.first_byte_ns, heard.body_bytes),
            (None, None, None, 0)
        );
    }
    // The second of each three is cut off within its body, the third before its head.
    let target = Target::new(|peer| {
        peer.request();
        peer.hello();
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    });
    let (report, keeping) = heard(plan(target.address, "users: 1, requests: 4"), 1, false).await;
    check_sums(&report, &keeping);
    let ends: Vec<_> =
        keeping.requests.lock().unwrap().iter().map(|heard| (heard.end, heard.body_bytes)).collect();
    let whole = (HeardEnd::Answered { status: 200, fault: None }, 5);
    let cut = (HeardEnd::Failed(ErrorKind::Truncated), 2);
    assert_eq!(ends, [whole, cut, whole, cut]);
    assert!(keeping.requests.lock().unwrap().iter().all(|heard| heard.connected_ns.is_some()));
}

#[tokio::test]
async fn what_the_end_cuts_off_is_told_as_cancelled() {
    let target = Target::silent();
    let (report, keeping) =
        heard(plan(target.address, "users: 3, duration: 300ms, drain: 0s"), 1, false).await;
    check_sums(&report, &keeping);
    let requests = keeping.requests.lock().unwrap();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|heard| heard.end == HeardEnd::Cancelled && heard.first_byte_ns.is_none()));
}

#[tokio::test]
async fn what_a_handshake_settled_is_told() {
    let pair = self_signed(&["shop.test"], |_| ());
    let target = TlsTarget::hello(config(&pair), None);
    let mut plan = plan(target.address, "users: 1, requests: 2");
    plan.target = PlanTarget::parse(&format!("https://{}/", target.address)).unwrap();
    plan.http.tls.insecure = true;
    let (report, keeping) = heard(plan, 1, false).await;
    check_sums(&report, &keeping);
    let answers = keeping.answers.lock().unwrap();
    let tls = answers[0].tls.as_ref().unwrap();
    assert_eq!((tls.version.as_str(), answers.len()), ("TLSv1_3", 1));
    assert!(tls.suite.starts_with("TLS13_"), "{tls:?}");
    assert!(tls.group.is_some() && tls.certificate.as_ref().is_some_and(|der| der.starts_with(&[0x30])));
}
