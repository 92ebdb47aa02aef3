//! The run: in this process, by the same coordinator and agent as any other, until it is over, broken or interrupted.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use volley_agent::Listening;
use volley_coordinator::RunDocument;
use volley_plan::{AllowList, Plan};

use super::ears::Ears;
use super::milestones::Milestones;
use super::refusal::Refusal;
use crate::exit::Failure;
use crate::output;
use crate::quick::files;
use crate::run::EngineOptions;
use crate::session::{Local, Session};
use crate::signals::Signals;

/// How often it is looked at how many requests are done.
const TICK: Duration = Duration::from_millis(20);
/// How long one look at the run may take.
const LOOK: Duration = Duration::from_secs(60);

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It did what it was to do.
    Done,
    /// Something broke.
    Broken,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// Runs the plan with so many workers.
pub(super) async fn play(
    plan: Plan,
    workers: usize,
    ears: &Arc<Ears>,
    milestones: &mut Milestones,
) -> Result<(RunDocument, How), Refusal> {
    let listener = Listening::new(Arc::clone(ears) as Arc<_>);
    let engine = EngineOptions {
        workers: workers.try_into().ok(),
        files: Some(files::FOLDER.into()),
        listener: Some(listener),
        ..EngineOptions::default()
    };
    let mut signals = Signals::catch().map_err(Failure::from)?;
    let mut session = Local::new(plan, engine, Arc::new(AllowList::anything()));
    session.start().await?;
    let how = follow(&mut session, &mut signals, ears, milestones).await?;
    let document = session.wait(LOOK).await?;
    Ok((document, how))
}

/// Follows it to its end, and brings that about where something breaks.
async fn follow(
    session: &mut Local,
    signals: &mut Signals,
    ears: &Ears,
    milestones: &mut Milestones,
) -> Result<How, Refusal> {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut how = How::Done;
    loop {
        tokio::select! {
            document = session.wait(LOOK) => if document?.progress.over {
                return Ok(how);
            },
            _ = tick.tick() => milestones.pass(ears.done(), output::say),
            () = ears.breaks() => {
                how = How::Broken;
                session.stop().await?;
            }
            _ = signals.next() => {
                if how == How::Interrupted {
                    return Err(Refusal::plain("interrupted twice"));
                }
                how = How::Interrupted;
                session.stop().await?;
            }
        }
    }
}
