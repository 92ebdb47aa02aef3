//! One agent's connection: lets it join, answers its pings, and brings what it reports to the run it belongs to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use volley_plan::link::{FromAgent, Hello, Incarnation, Progress, Report, RoundTrip, RunId, ToAgent};

use crate::coordinator::{Ping, Shared};
use crate::driver::{Input, Pong};
use crate::fleet::Connection;

#[cfg(test)]
mod tests;

/// A connection must say who it is within this time.
const JOIN_WITHIN: Duration = Duration::from_secs(10);
/// A connection on which nothing came for this long (twenty pings) is given up: its agent, if it lives, dials again.
const SILENT_FOR: Duration = Duration::from_secs(10);

/// Most reports of one connection that runs' drivers have not taken in. An agent waits for four windows to be kept at most,
/// and may carry those of the process before it; one that has more on the way waits, and holds nobody else up.
pub(crate) const MAX_UNREAD: usize = 6;

/// Speaks with one agent until either side ends the connection.
pub(crate) async fn attach(
    shared: Arc<Shared>,
    mut from: mpsc::Receiver<FromAgent>,
    to: mpsc::Sender<ToAgent>,
) {
    let Some(hello) = greeting(&mut from, &to).await else { return };
    let agent = hello.incarnation;
    let Some(connection) = join(&shared, hello, &to) else { return };
    // The fleet has its own, and what leads to the agent ends with that.
    drop(to);
    let number = connection.number;
    converse(&shared, agent, &mut from, connection.closed).await;
    shared.fleet(|fleet, _| fleet.leave(agent, number));
    // Who waited for it as one of enough holds nobody up any more.
    shared.offer();
    tracing::info!(%agent, "agent disconnected");
}

/// The first message must say who it is.
async fn greeting(from: &mut mpsc::Receiver<FromAgent>, to: &mpsc::Sender<ToAgent>) -> Option<Hello> {
    match timeout(JOIN_WITHIN, from.recv()).await {
        Ok(Some(FromAgent::Join(hello))) => Some(hello),
        Ok(Some(FromAgent::Ping { .. } | FromAgent::Report { .. })) => {
            let reason = "the first message of a connection must be a join".to_owned();
            // Nothing was sent before, so there is room; and if the agent is gone, it needn't know.
            let _ = to.try_send(ToAgent::Refused { reason });
            None
        }
        Ok(None) | Err(_) => None,
    }
}

fn join(shared: &Shared, hello: Hello, to: &mpsc::Sender<ToAgent>) -> Option<Connection> {
    if shared.is_stopping() {
        return None;
    }
    let (agent, name, workers) = (hello.incarnation, hello.name.clone(), hello.workers);
    match shared.fleet(|fleet, now_ns| fleet.join(hello, to.clone(), now_ns)) {
        Ok(connection) => {
            tracing::info!(%agent, name, workers, "agent joined");
            shared.send(agent, ToAgent::Welcome);
            shared.offer();
            Some(connection)
        }
        Err(refusal) => {
            tracing::warn!(%agent, name, %refusal, "agent refused");
            let _ = to.try_send(ToAgent::Refused { reason: refusal.to_string() });
            None
        }
    }
}

async fn converse(
    shared: &Shared,
    agent: Incarnation,
    from: &mut mpsc::Receiver<FromAgent>,
    mut closed: oneshot::Receiver<()>,
) {
    let room = Arc::new(Semaphore::new(MAX_UNREAD));
    loop {
        let message = tokio::select! {
            biased;
            _ = &mut closed => return,
            message = timeout(SILENT_FOR, from.recv()) => message,
        };
        match message {
            Ok(Some(FromAgent::Ping { sent_ns, round_trip, progress, leaving })) => {
                heard(shared, agent);
                pinged(shared, agent, sent_ns, round_trip, progress).await;
                leaves(shared, agent, leaving).await;
            }
            Ok(Some(FromAgent::Report { run, of, report })) => {
                heard(shared, agent);
                reported(shared, agent, &run, of, report, &room).await;
            }
            Ok(Some(FromAgent::Join(_))) => {
                return shared.turn_away(agent, "a second join on one connection");
            }
            Ok(None) => return,
            Err(_) => {
                tracing::warn!(%agent, "agent silent for too long: connection given up");
                return;
            }
        }
    }
}

/// Notes a sign of life. One of an agent that had been silent is news to those that look for agents.
fn heard(shared: &Shared, agent: Incarnation) {
    if shared.fleet(|fleet, now_ns| fleet.heard(agent, now_ns)) {
        shared.offer();
    }
}

/// An agent that is about to end gets no further run, and is relieved of its share in the one at hand.
async fn leaves(shared: &Shared, agent: Incarnation, leaving: bool) {
    if shared.fleet(|fleet, _| fleet.is_leaving(agent, leaving)) {
        tracing::info!(%agent, "agent is about to leave");
        shared.relieve(agent).await;
        shared.offer();
    }
}

async fn pinged(
    shared: &Shared,
    agent: Incarnation,
    sent_ns: u64,
    round_trip: Option<RoundTrip>,
    progress: Option<Progress>,
) {
    let (received_ns, at_work) = shared.fleet(|fleet, now_ns| {
        fleet.pinged(agent, sent_ns, now_ns, round_trip);
        (now_ns, fleet.run_of(agent))
    });
    let pong = Pong { sent_ns, received_ns };
    // An agent that doesn't know of its run yet has taken no order of it.
    let unaware = |run| Progress { run, acknowledged: 0, start_ns: None };
    let Some(Progress { run, acknowledged, start_ns }) = progress.or_else(|| at_work.map(unaware)) else {
        shared.pong(agent, pong, None);
        shared.is_free(agent);
        shared.offer_again();
        return;
    };
    let on_our_clock = |ns| shared.fleet(|fleet, _| fleet.to_coordinator_ns(agent, ns));
    let start_ns = start_ns.and_then(on_our_clock);
    if !shared.answer_ping(&run, Ping { agent, acknowledged, start_ns }, pong) {
        shared.pong(agent, pong, None);
        shared.let_go(agent, &run, acknowledged).await;
    }
}

/// Brings a report to its run, once there is room for it.
async fn reported(
    shared: &Shared,
    agent: Incarnation,
    run: &RunId,
    of: Option<Incarnation>,
    report: Report,
    room: &Arc<Semaphore>,
) {
    // It is never closed.
    let Ok(place) = room.clone().acquire_owned().await else { return };
    let input = Input::Reported { agent, of, report, place };
    if let Err(Input::Reported { report, .. }) = shared.hand_over(run, input).await {
        shared.take_late(agent, run, of, report).await;
    }
}
