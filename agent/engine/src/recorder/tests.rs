//! What a worker writes down, and under which second.

use std::sync::mpsc;

use volley_stats::Iterations;

use super::*;

const MS: u64 = 1_000_000;
const START_NS: u64 = 500 * MS;

fn recorder(has_due_times: bool) -> (Recorder, Receiver<ToReporter>, Sender<Box<WorkerWindow>>) {
    let (to_reporter, reported) = mpsc::channel();
    let (to_worker, cleared) = mpsc::channel();
    let outbox = Outbox { worker: 0, to_reporter, cleared };
    let mut recorder = Recorder::new(Rc::default(), outbox, 2, has_due_times);
    recorder.begin(START_NS, 0);
    (recorder, reported, to_worker)
}

/// The windows that were handed over, with their seconds.
fn windows(reported: &Receiver<ToReporter>) -> Vec<(u32, Option<u32>, Box<WorkerWindow>)> {
    let windows = reported.try_iter().map(|message| match message {
        ToReporter::Window { second, next, window, .. } => (second, next, window),
        other => panic!("{other:?}"),
    });
    windows.collect()
}

/// An end by an answer with this status, or another one.
fn ended(at_ms: u64, end: Result<u16, Ending>) -> Ended {
    let at_ns = START_NS + at_ms * MS;
    let (due_ns, taken_ns) = (at_ns - 10 * MS, at_ns - 7 * MS);
    Ended {
        asked: Asked { step: 1, part: Part::Measured, due_ns, taken_ns },
        at_ns,
        waited_ns: Some(2 * MS),
        opened: None,
        marks: Marks { sending_ns: at_ns - 5 * MS, sent_ns: Some(at_ns - 4 * MS), first_byte_ns: at_ns - MS },
        traffic: Traffic { bytes_sent: 30, bytes_received: 50, ..Traffic::default() },
        ending: match end {
            Ok(status) => Ending::Answered { fault: (status >= 400).then_some(ErrorKind::Status) },
            Err(ending) => ending,
        },
        outcome: Outcome { status: end.unwrap_or(0), body_bytes: 5, head_bytes: 40, reusable: true },
    }
}

#[test]
fn a_request_is_timed_from_when_it_was_due_and_from_when_it_was_taken_up() {
    for (has_due_times, service_times) in [(true, Some(7 * MS)), (false, None)] {
        let (mut recorder, reported, _to_worker) = recorder(has_due_times);
        for end in [Ok(200), Ok(500), Err(Ending::Failed(ErrorKind::Reset)), Err(Ending::Cancelled)] {
            recorder.request_started(1, Part::Measured);
            recorder.request_ended(&ended(20, end));
        }
        recorder.finish();
        let (_, _, mut window) = windows(&reported).pop().unwrap();
        let row = window.row(Part::Measured, 1);
        assert_eq!((row.latency.count(), row.latency.max_ns()), (1, Some(10 * MS)));
        assert_eq!(row.service_time.max_ns(), service_times);
        assert_eq!((row.failed_latency.count(), row.cancelled_age.max_ns()), (2, Some(10 * MS)));
        assert_eq!((row.counters.started, row.counters.fault()), (4, None));
        let timing = window.timing(Part::Measured);
        let phases: Vec<_> = timing
            .iter()
            .map(|(timed, phase)| (timed, phase.count(), phase.max_ns().unwrap() / MS))
            .collect();
        let expected =
            [(Timed::Wait, 2, 2), (Timed::Send, 2, 1), (Timed::FirstByte, 2, 3), (Timed::Receive, 2, 1)];
        assert_eq!(phases, expected);
    }
}

#[test]
fn iterations_are_filed_by_the_second_in_which_they_were_due() {
    let (mut recorder, reported, _to_worker) = recorder(true);
    let at = |ms: u64| START_NS + ms * MS;
    recorder.iteration_started(at(999), Part::Warmup, Some(0));
    recorder.roll(at(2100));
    for due_ms in [1500, 1600, 2000] {
        recorder.iteration_started(at(due_ms), Part::Measured, Some(0));
        recorder.iteration_missed(at(due_ms), Part::Measured);
    }
    recorder.iteration_finished(Part::Measured);
    recorder.finish();
    let mut windows = windows(&reported);
    let (second, next, window) = &mut windows[1];
    assert_eq!((*second, *next, window.row(Part::Measured, 0).counters.started), (2, None, 1));
    assert_eq!(window.scalars.iterations, Iterations { started: 1, finished: 1, missed: 1 });
    let earlier: Vec<_> = window
        .earlier
        .iter()
        .map(|earlier| (earlier.second, earlier.step, earlier.started, earlier.missed))
        .collect();
    assert_eq!(earlier, [(1, Some(0), 1, 0), (1, None, 0, 1), (1, Some(0), 1, 0), (1, None, 0, 1)]);
    let (second, next, window) = &windows[0];
    assert_eq!((*second, *next, window.scalars.warmup.started), (0, Some(2), 1));
}

#[test]
fn a_cleared_window_is_taken_and_nothing_of_it_stays() {
    let (mut recorder, reported, to_worker) = recorder(true);
    recorder.request_started(1, Part::Measured);
    recorder.request_ended(&ended(20, Ok(200)));
    recorder.stalled(7 * MS);
    recorder.roll(START_NS + 1000 * MS);
    let (_, _, mut window) = windows(&reported).pop().unwrap();
    assert_eq!((window.stall_max_ns, window.latest_ns), (7 * MS, 20 * MS));
    window.clear();
    to_worker.send(window).unwrap();
    recorder.roll(START_NS + 2000 * MS);
    recorder.finish();
    for (_, _, window) in windows(&reported) {
        assert_eq!((window.stall_max_ns, window.latest_ns, window.earlier.len()), (0, 0, 0));
        assert!(
            window
                .parts()
                .iter()
                .all(|(_, results)| results.used_rows().count() == 0 && results.timing.is_empty())
        );
    }
}

#[test]
fn who_begins_later_begins_in_that_second() {
    let (mut recorder, reported, _to_worker) = recorder(true);
    recorder.gauges.users.up();
    recorder.begin(START_NS, 12_300 * MS);
    recorder.user_came(START_NS + 12_500 * MS);
    recorder.roll(START_NS + 13_000 * MS);
    recorder.finish();
    let seconds: Vec<_> = windows(&reported)
        .iter()
        .map(|(second, next, window)| (*second, *next, window.scalars.users))
        .collect();
    assert_eq!(seconds, [(12, Some(13), 0)]);
    recorder.begin(START_NS, 13_000 * MS);
    recorder.finish();
    let seconds: Vec<_> = windows(&reported)
        .iter()
        .map(|(second, next, window)| (*second, *next, window.scalars.users))
        .collect();
    assert_eq!(seconds, [(13, None, 1)]);
}
