//! What is kept on disk: windows of this process before they are told, those of earlier ones until they are.

use super::*;

/// Runs on a disk with one that was started and has given a window of each of these seconds.
fn measured(seconds: std::ops::Range<u32>) -> (Runs, RunId) {
    let engines = Engines::default();
    let mut runs = engines.runs_on_disk();
    let run = run_id("one");
    runs.order(&run, 1, prepare());
    runs.order(&run, 2, START);
    for second in seconds {
        runs.hear(Some(Event::Window { window: window(second, &[1]), last: false }));
    }
    (runs, run)
}

#[test]
fn with_a_disk_a_window_is_told_only_once_it_is_kept() {
    let (mut runs, run) = measured(0..2);
    assert!(!runs.has_report());
    let jobs: Vec<u64> = std::iter::from_fn(|| runs.next_job())
        .map(|job| match job {
            Job::Keep(numbered) => numbered.sequence,
            other => panic!("{other:?} is no window to keep"),
        })
        .collect();
    assert_eq!(jobs, [1, 2]);
    runs.answer(Some(Answer::Kept { run: run.clone(), sequence: 1 }));
    assert!(matches!(reports(&mut runs).as_slice(), [Report::Window { sequence: 1, .. }]));
    runs.acknowledge(run.clone(), None, 1);
    assert_eq!(runs.next_job(), None, "what is not acknowledged is still needed");
    runs.answer(Some(Answer::Kept { run: run.clone(), sequence: 2 }));
    assert!(matches!(reports(&mut runs).as_slice(), [Report::Window { sequence: 2, .. }]));
    runs.acknowledge(run.clone(), None, 2);
    assert_eq!(runs.next_job(), Some(Job::Clear { run: run.clone(), up_to: 2 }));
    runs.order(&run, 3, Order::Release);
    assert_eq!(runs.next_job(), Some(Job::Remove(Source { run, of: None })));
    assert_eq!(runs.next_job(), None);
}

#[test]
fn without_its_disk_a_run_goes_on_in_memory() {
    let failed = |run: &RunId| Answer::Failed { run: run.clone(), reason: "no space".to_owned() };
    let check = |fail: &dyn Fn(&mut Runs, &RunId)| {
        let (mut runs, run) = measured(0..3);
        fail(&mut runs, &run);
        let sequences = reports(&mut runs).len();
        assert_eq!((sequences, runs.next_job()), (3, None));
        runs.hear(Some(Event::Window { window: window(3, &[1]), last: false }));
        assert_eq!((reports(&mut runs).len(), runs.next_job()), (1, None));
    };
    check(&|runs, run| runs.answer(Some(failed(run))));
    check(&|runs, run| {
        while runs.next_job().is_some() {}
        runs.answer(Some(Answer::Kept { run: run.clone(), sequence: 1 }));
        (0..2).for_each(|_| runs.answer(Some(failed(run))));
    });
    check(&|runs, _| runs.answer(None));
}

#[test]
fn what_earlier_processes_left_is_told_in_their_name() {
    let mut runs = Engines::default().runs_on_disk();
    let source = Source { run: run_id("old"), of: Some(Incarnation(9)) };
    runs.answer(Some(Answer::Found(vec![source.clone()])));
    assert_eq!((runs.leftovers(), runs.next_job()), (1, Some(Job::Read(source.clone()))));
    let left = crate::testing::numbered(&source, 5, true);
    runs.answer(Some(Answer::Left { source: source.clone(), window: Some(left) }));
    let Some(FromAgent::Report { run, of, report: Report::Window { sequence, last, .. } }) =
        runs.next_report()
    else {
        panic!("there is a window to be told")
    };
    assert_eq!((run, of, sequence, last), (source.run.clone(), source.of, 5, true));
    assert_eq!(runs.next_job(), Some(Job::Read(source.clone())));
    runs.answer(Some(Answer::Left { source: source.clone(), window: None }));
    runs.acknowledge(source.run.clone(), source.of, 5);
    assert_eq!((runs.leftovers(), runs.next_job()), (0, Some(Job::Remove(source))));
}
