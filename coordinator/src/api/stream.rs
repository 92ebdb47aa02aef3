//! A run's event stream (server-sent events, HTML standard section 9.2): `tick`, `state`, `log`, `end`, numbered,
//! so that a reader who comes again with `Last-Event-ID` misses nothing and one who comes first gets all.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{AppState, Problem, RunPath};
use crate::feed::{FeedEvent, SharedFeed};

/// How often a silent stream says that it is there.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Events that are taken from the feed at a time; they are shared, so this bounds little memory.
const BATCH: usize = 256;

/// Follow a run
///
/// Server-sent events: `tick` (a second), `state` (the whole), `threshold` (one whose standing changed), `log` (a line of the
/// event log), `end`. 204 tells a reader who has everything of a run that is over not to come again.
#[utoipa::path(
    get, path = "/runs/{id}/stream", tag = "runs",
    params(("id" = String, Path, description = "The run"), ("Last-Event-ID" = Option<String>, Header, description = "What the reader has seen")),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 204), (status = 404, response = Problem), (status = 503, response = Problem))
)]
pub(super) async fn stream(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let feed = state.shared().feed(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    // Whoever names what is no number has seen nothing of ours.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok()).unwrap_or(0);
    if feed.read(|feed| feed.is_all(last)) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let permit = state.streams.clone().try_acquire_owned();
    let permit =
        permit.map_err(|_| Problem::new(503, "Too many streams", "too many streams are being read"))?;
    let reader = Reader {
        changes: feed.changes(),
        feed,
        closing: state.closing.clone(),
        last,
        batch: VecDeque::new(),
        _permit: permit,
    };
    Ok(respond(reader))
}

fn respond(reader: Reader) -> Response {
    Sse::new(reader.events()).keep_alive(KeepAlive::new().interval(COMMENT_EVERY)).into_response()
}

/// One reader's place in the feed.
struct Reader {
    feed: Arc<SharedFeed>,
    changes: watch::Receiver<u64>,
    closing: watch::Receiver<bool>,
    last: u64,
    batch: VecDeque<(u64, FeedEvent)>,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    fn events(self) -> impl Stream<Item = Result<Event, axum::Error>> {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            let (id, event) = reader.next().await?;
            let is_end = event == FeedEvent::End;
            Some((to_sse(id, &event), (!is_end).then_some(reader)))
        })
    }

    /// The next event; `None` when the connection is to end.
    async fn next(&mut self) -> Option<(u64, FeedEvent)> {
        loop {
            if let Some((id, event)) = self.batch.pop_front() {
                self.last = id;
                return Some((id, event));
            }
            self.changes.mark_unchanged();
            self.batch = self.feed.read(|feed| feed.after(self.last, BATCH)).into();
            if self.batch.is_empty() {
                tokio::select! {
                    changed = self.changes.changed() => changed.ok()?,
                    _ = self.closing.wait_for(|closing| *closing) => return None,
                }
            }
        }
    }
}

fn to_sse(id: u64, event: &FeedEvent) -> Result<Event, axum::Error> {
    let base = Event::default().id(id.to_string());
    match event {
        FeedEvent::Tick(tick) => base.event("tick").json_data(&**tick),
        FeedEvent::State(state) => base.event("state").json_data(&**state),
        FeedEvent::Threshold(threshold) => base.event("threshold").json_data(&**threshold),
        FeedEvent::Log(line) => base.event("log").json_data(&**line),
        FeedEvent::End => Ok(base.event("end").data("{}")),
    }
}

#[cfg(test)]
mod tests;
