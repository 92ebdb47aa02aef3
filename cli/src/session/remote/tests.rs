//! Runs on a coordinator that goes away and comes back.

use super::*;
use crate::testing::Coordinator;

const SOON: Duration = Duration::from_secs(20);

fn remote(coordinator: &Coordinator) -> Remote {
    Remote::new(coordinator.rest(), "plan.yaml".into(), b"users: 1".to_vec())
}

/// A failure in words, for tests that expect none.
fn well<T>(result: Result<T, Failure>) -> T {
    result.map_err(|failure| format!("{:#}", failure.error)).unwrap()
}

#[tokio::test]
async fn a_run_is_followed_over_a_restart_of_its_coordinator() {
    let coordinator = Coordinator::start().await;
    let mut run = remote(&coordinator);
    well(run.start().await);
    let address = coordinator.end().await;
    let followed = async {
        tokio::time::timeout(SOON, run.wait(Duration::from_secs(1))).await.expect("it comes to an end")
    };
    let back = async {
        tokio::time::sleep(ASK_AGAIN * 3).await;
        Coordinator::at(address).await
    };
    let (document, coordinator) = tokio::join!(followed, back);
    assert!(well(document).progress.over);
    assert!(run.away.is_none());
    let address = coordinator.end().await;
    let stopped = async { tokio::time::timeout(SOON, run.stop()).await.expect("it comes to an end") };
    let (stopped, _coordinator) = tokio::join!(stopped, Coordinator::at(address));
    well(stopped);
}

#[tokio::test]
async fn patience_ends() {
    let coordinator = Coordinator::start().await;
    let mut run = remote(&coordinator);
    well(run.start().await);
    coordinator.end().await;
    run.away = Instant::now().checked_sub(PATIENCE);
    let failed = run.wait(Duration::from_secs(1)).await.map(|_| ()).unwrap_err();
    assert_eq!(failed.exit, Exit::Unreachable);
}

#[tokio::test]
async fn what_is_refused_is_not_asked_again() {
    let coordinator = Coordinator::start().await;
    let mut run = remote(&coordinator);
    run.id = Some("r2".to_owned());
    let failed = run.wait(Duration::from_secs(1)).await.map(|_| ()).unwrap_err();
    assert!(
        failed.exit == Exit::Refused && failed.error.to_string().contains("no run"),
        "{:#}",
        failed.error
    );
}
