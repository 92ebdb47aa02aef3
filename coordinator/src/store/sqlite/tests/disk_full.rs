//! A disk without room: what can't be kept is said, and what was kept is there.

use std::fs;
use std::process::Command;

use super::*;
use crate::store::Delivery;

/// A file system of some megabytes, unmounted at the end; `None` where this process may not mount one.
struct Small(TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=6m", "volley-test"]).arg(folder.path());
        match mount.output() {
            Ok(output) if output.status.success() => Some(Self(folder)),
            refused => {
                eprintln!("SKIPPED: no small file system can be mounted here: {refused:?}");
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} stays mounted", self.0.path().display());
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_costs_nothing_that_was_acknowledged() {
    let Some(small) = Small::mount() else { return };
    let path = small.0.path().join("volley.db");
    let ballast = small.0.path().join("ballast");
    fs::write(&ballast, vec![0; 2 << 20]).unwrap();
    let run = suite::document("r");
    let store = SqliteStore::open(&path, Retention::default()).unwrap();
    store.create(&run).await.unwrap();
    let (mut acknowledged, mut said) = (0, None);
    for second in 0..2_000 {
        let (agent, sequence, arrival) = (Incarnation(1), u64::from(second) + 1, Arrival::InTime);
        let window = rich_window(second, 4, 200);
        let facts = suite::facts(sequence, &window);
        let window = &suite::sealed(&window);
        let delivery = Delivery { run: &run.id, agent, sequence, window, facts: &facts, arrival };
        match store.keep_window(delivery).await {
            Ok(kept) => {
                assert_eq!(kept, Kept::New);
                acknowledged += 1;
            }
            Err(error) => {
                said = Some(error);
                break;
            }
        }
        // What it says is on the next window's acknowledgement as well.
        let _ = store.complete(&run.id, second).await;
    }
    assert!(matches!(&said, Some(StoreError::Failed(reason)) if reason.contains("full")), "{said:?}");
    assert!(acknowledged > 10, "{acknowledged}");
    let ok = |series: SharedSeries| series.lock().whole().latency.count();
    assert_eq!(ok(store.series(&run.id).await.unwrap()), acknowledged * 800);
    // Room again: the store goes on, and takes what it had refused.
    fs::remove_file(&ballast).unwrap();
    let window = rich_window(5_000, 4, 200);
    assert_eq!(keep(&store, &run.id, 1, acknowledged + 1, &window).await, Kept::New);
    drop(store);
    let store = SqliteStore::open(&path, Retention::default()).unwrap();
    assert_eq!(ok(store.series(&run.id).await.unwrap()), (acknowledged + 1) * 800);
    drop(store);
}
