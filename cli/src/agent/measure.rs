//! What this host is capable of: the requests a second that the engine gets out of an echo target beside it. The target
//! takes its part of the same processors, so it is no promise of what another target will see; it compares hosts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Builder;
use tracing::subscriber::NoSubscriber;
use volley_plan::{AllowList, QuickPlan};

use crate::exit::{Exit, Failure, OrExit as _};
use crate::run::EngineOptions;
use crate::session::{Local, Session as _};

/// How long it is measured: some ten thousand requests.
const MEASURED: &str = "500ms";
/// Users, so many that none of them is waited for.
const USERS: u64 = 64;
/// How long all of it may take.
const WITHIN: Duration = Duration::from_secs(10);

/// Requests a second, at least 1.
pub(super) fn capacity(engine: EngineOptions) -> Result<u32, Failure> {
    // It is a run like any other, of which nobody wants to read in the agent's log.
    tracing::subscriber::with_default(NoSubscriber::default(), || measured(engine))
}

fn measured(engine: EngineOptions) -> Result<u32, Failure> {
    let target =
        Builder::new_current_thread().enable_all().build().context("no runtime for the measurement")?;
    let options = volley_echo::Options::new(([127, 0, 0, 1], 0).into());
    let server = target.block_on(volley_echo::Server::bind(options)).context("no target to measure with")?;
    let url = format!("http://{}/", server.local_addr());
    // A thread of its own, as a target elsewhere would have.
    std::thread::spawn(move || target.block_on(server.serve(std::future::pending())));
    let runtime =
        Builder::new_current_thread().enable_all().build().context("no runtime for the measurement")?;
    let measured = runtime.block_on(async { tokio::time::timeout(WITHIN, measure(url, engine)).await });
    measured.context("the measurement took too long").or_exit(Exit::CouldNot)?
}

async fn measure(url: String, engine: EngineOptions) -> Result<u32, Failure> {
    let quick =
        QuickPlan { url, users: Some(USERS), duration: Some(MEASURED.to_owned()), ..QuickPlan::default() };
    let plan = quick.into_plan().map_err(|faults| Failure::new(Exit::CouldNot, faults.to_string()))?;
    let mut session = Local::new(plan, engine, Arc::new(AllowList::anything()));
    session.start().await?;
    let progress = session.wait(WITHIN).await?.progress;
    if progress.whole.ok == 0 {
        return Err(Failure::new(Exit::CouldNot, format!("--measure: {}", progress.sentence)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` clamps to what fits, as wanted"
    )]
    let capacity = progress.whole.rate as u32;
    Ok(capacity.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_measured_in_a_moment() {
        let begun = std::time::Instant::now();
        let capacity =
            capacity(EngineOptions::default()).map_err(|failure| failure.error.to_string()).unwrap();
        assert!(capacity > 100, "{capacity}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
