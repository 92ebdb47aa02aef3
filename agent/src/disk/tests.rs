//! Results outlive their process, once; a disk that fails says so and harms nothing.

use std::fs::{self, File};
use std::time::SystemTime;

use super::*;
use crate::testing::{State, numbered, run_id};

fn source(name: &str, of: Option<u64>) -> Source {
    Source { run: run_id(name), of: of.map(Incarnation) }
}

/// A disk there, and what it found.
async fn started(state: &State, incarnation: u64) -> (Disk, Vec<Source>) {
    let mut disk = Disk::start(state.path(), Incarnation(incarnation)).expect("a thread");
    match disk.answer().await {
        Some(Answer::Found(sources)) => (disk, sources),
        other => panic!("{other:?} is not what was found"),
    }
}

async fn done(disk: &mut Disk, job: Job) -> Answer {
    disk.take(job);
    disk.answer().await.expect("the thread works")
}

async fn keep(disk: &mut Disk, run: &str, sequence: u64) -> Answer {
    done(disk, Job::Keep(numbered(&source(run, None), sequence, false))).await
}

/// All windows that are left of a source.
async fn read(disk: &mut Disk, source: &Source) -> Vec<u64> {
    let mut sequences = vec![];
    loop {
        match done(disk, Job::Read(source.clone())).await {
            Answer::Left { window: Some(window), .. } => {
                assert_eq!(window, numbered(source, window.sequence, false));
                sequences.push(window.sequence);
            }
            Answer::Left { window: None, .. } => return sequences,
            other => panic!("{other:?} is nothing that was left"),
        }
    }
}

#[tokio::test]
async fn what_one_process_kept_the_next_one_finds_and_removes() {
    let state = State::new();
    let (mut first, found) = started(&state, 1).await;
    assert_eq!(found, []);
    for sequence in 1..=3 {
        let kept = Answer::Kept { run: run_id("r"), sequence };
        assert_eq!(keep(&mut first, "r", sequence).await, kept);
    }
    keep(&mut first, "released", 1).await;
    assert_eq!(done(&mut first, Job::Remove(source("released", None))).await, Answer::Done);
    assert_eq!(done(&mut first, Job::Clear { run: run_id("r"), up_to: 1 }).await, Answer::Done);
    drop(first);

    let (mut second, found) = started(&state, 2).await;
    let left = source("r", Some(1));
    assert_eq!(found, std::slice::from_ref(&left));
    assert_eq!(read(&mut second, &left).await, [1, 2, 3]);
    done(&mut second, Job::Remove(left)).await;
    assert_eq!(state.names(), [""; 0]);
    drop(second);
    assert_eq!(started(&state, 3).await.1, []);
}

#[tokio::test]
async fn a_process_leaves_no_file_whose_windows_are_all_acknowledged() {
    let state = State::new();
    let (mut disk, _) = started(&state, 1).await;
    for (run, up_to) in [("whole", 2), ("part", 1), ("none", 0)] {
        keep(&mut disk, run, 1).await;
        keep(&mut disk, run, 2).await;
        done(&mut disk, Job::Clear { run: run_id(run), up_to }).await;
    }
    assert_eq!(state.names().len(), 3, "more may come");
    drop(disk);
    let (_next, mut found) = started(&state, 2).await;
    found.sort_by_key(|source| source.run.to_string());
    assert_eq!(found, [source("none", Some(1)), source("part", Some(1))]);
}

#[tokio::test]
async fn two_processes_in_one_directory_leave_each_other_alone() {
    let state = State::new();
    let (mut one, _) = started(&state, 1).await;
    keep(&mut one, "r", 1).await;
    let (mut two, found) = started(&state, 2).await;
    assert_eq!(found, [], "its writer lives");
    keep(&mut two, "r", 1).await;
    drop(one);
    let (three, found) = started(&state, 3).await;
    assert_eq!(found, [source("r", Some(1))]);
    let (_four, found) = started(&state, 4).await;
    assert_eq!(found, [], "one is being delivered, one written");
    drop((two, three));
    let (mut five, mut found) = started(&state, 5).await;
    found.sort_by_key(|source| source.of);
    assert_eq!(found, [source("r", Some(1)), source("r", Some(2))]);
    for source in found {
        assert_eq!(read(&mut five, &source).await, [1]);
    }
}

#[tokio::test]
async fn what_is_too_old_or_too_much_is_given_up() {
    let state = State::new();
    let (mut disk, _) = started(&state, 1).await;
    for run in 0..70 {
        keep(&mut disk, &format!("r{run}"), 1).await;
    }
    drop(disk);
    for run in 0..70 {
        let file =
            File::open(state.path().join(format!("r{run}.0000000000000001.windows"))).expect("it was kept");
        let age = Duration::from_secs(if run == 69 { 8 * 24 * 3600 } else { 3600 - run });
        file.set_modified(SystemTime::now() - age).expect("it is ours");
    }
    fs::write(state.path().join("r.2.windows-new"), b"begun").expect("there is room");
    fs::write(state.path().join("notes.txt"), b"not ours").expect("there is room");
    let (_disk, found) = started(&state, 3).await;
    let expected: Vec<Source> = (5..69).map(|run| source(&format!("r{run}"), Some(1))).collect();
    assert_eq!(found, expected);
    assert_eq!(state.names().len(), 64 + 1);
}

#[tokio::test]
async fn a_directory_that_is_a_file_fails_in_words_and_again() {
    let state = State::new();
    fs::write(state.path(), b"in the way").expect("there is room");
    let (mut disk, found) = started(&state, 1).await;
    assert_eq!(found, []);
    for sequence in 1..=2 {
        let Answer::Failed { run, reason } = keep(&mut disk, "r", sequence).await else {
            panic!("nothing can be kept in a file")
        };
        assert_eq!(run, run_id("r"));
        assert!(reason.contains("File exists") || reason.contains("Not a directory"), "{reason}");
    }
    done(&mut disk, Job::Remove(source("r", None))).await;
    fs::remove_file(state.path()).expect("it is there");
    assert!(matches!(keep(&mut disk, "next", 1).await, Answer::Kept { .. }), "the next run tries again");
    fs::remove_dir_all(state.path()).expect("it was made");
}

#[tokio::test]
async fn what_was_taken_is_written_before_the_end() {
    let state = State::new();
    let (mut disk, _) = started(&state, 1).await;
    (1..=8).for_each(|sequence| disk.take(Job::Keep(numbered(&source("r", None), sequence, false))));
    assert!(!disk.has_room());
    drop(disk);
    let (mut next, found) = started(&state, 2).await;
    assert_eq!(read(&mut next, &found[0]).await, (1..=8).collect::<Vec<u64>>());
}

/// The process in which [`a_full_disk_fails_in_words_and_keeps_what_it_has`] fills its disk: it may write 20 KB a file.
const FULL: &str = "VOLLEY_TEST_FULL_DISK";

#[tokio::test]
async fn a_full_disk_fails_in_words_and_keeps_what_it_has() {
    if let Some(directory) = std::env::var_os(FULL) {
        fill(PathBuf::from(directory)).await;
        return;
    }
    let state = State::new();
    let test = std::env::current_exe().expect("this test is a program");
    let script = "ulimit -f 20; trap '' XFSZ; exec \"$0\" --exact disk::tests::a_full_disk_fails_in_words_and_keeps_what_it_has";
    let child =
        std::process::Command::new("bash").args(["-c", script]).arg(test).env(FULL, state.path()).output();
    let child = child.expect("bash runs");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let (mut disk, found) = started(&state, 2).await;
    assert_eq!(found, [source("r", Some(1))]);
    let left = read(&mut disk, &found[0]).await;
    assert!(left.len() > 2 && left == (1..=left.len() as u64).collect::<Vec<u64>>(), "{left:?}");
}

async fn fill(directory: PathBuf) {
    let mut disk = Disk::start(directory, Incarnation(1)).expect("a thread");
    disk.answer().await;
    let mut kept = 0;
    for sequence in 1..=1_000 {
        match keep(&mut disk, "r", sequence).await {
            Answer::Kept { .. } => kept += 1,
            Answer::Failed { reason, .. } => {
                assert!(reason.contains("File too large"), "{reason}");
                assert!(kept > 2 && matches!(keep(&mut disk, "r", 1_001).await, Answer::Failed { .. }));
                return;
            }
            other => panic!("{other:?} is no answer to keeping"),
        }
    }
    panic!("the disk is never full");
}
