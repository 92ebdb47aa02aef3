//! Runs that are over, as their pages and streams show them: read back from the store. A few stay in memory, so that a
//! page and its stream don't read the same thing twice.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use volley_plan::link::RunId;
use volley_stats::{MergedSecond, SECOND_NS};
use volley_web::stream::Tick;

use crate::document::RunDocument;
use crate::feed::{Feed, SharedFeed};
use crate::publish::BY_SECOND_S;
use crate::store::{Grain, Span, Store, StoreError};
use crate::view;

/// Most feeds that stay in memory, and most ticks of all of them; a tick is half a kilobyte.
const MAX_FEEDS: usize = 8;
const MAX_TICKS: usize = 50_000;

/// The feeds that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// The latest at the end.
    feeds: VecDeque<(RunId, Arc<SharedFeed>)>,
}

impl Shelf {
    /// A run's feed, if it is there.
    pub(crate) fn find(&mut self, run: &RunId) -> Option<Arc<SharedFeed>> {
        let place = self.feeds.iter().position(|(id, _)| id == run)?;
        let found = self.feeds.remove(place)?;
        let feed = found.1.clone();
        self.feeds.push_back(found);
        Some(feed)
    }

    /// Puts a feed there; others have to make room.
    pub(crate) fn put(&mut self, run: RunId, feed: Arc<SharedFeed>) {
        self.feeds.retain(|(id, _)| *id != run);
        self.feeds.push_back((run, feed));
        let ticks = |shelf: &Self| shelf.feeds.iter().map(|(_, feed)| feed.read(Feed::len)).sum::<usize>();
        while self.feeds.len() > MAX_FEEDS || self.feeds.len() > 1 && ticks(self) > MAX_TICKS {
            self.feeds.pop_front();
        }
    }
}

/// The feed of a run that is over.
pub(crate) async fn feed(store: &dyn Store, document: RunDocument) -> Result<Arc<SharedFeed>, StoreError> {
    let ticks = ticks(store, &document).await?;
    let mut feed = Feed::beginning_after(first_id());
    for tick in ticks {
        feed.tick(tick);
    }
    for line in document.log {
        feed.log(line);
    }
    feed.state(view::snapshot(document.progress));
    feed.end();
    Ok(Arc::new(SharedFeed::new(feed)))
}

/// A number that no earlier feed has reached, in this process or one before it: the milliseconds of the wall clock, with
/// room for a million events in each.
fn first_id() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0) << 20
}

/// The ticks of a run that is over: by the second, or by the minute where it is long. What nothing is known of is zero.
pub(crate) async fn ticks(store: &dyn Store, document: &RunDocument) -> Result<Vec<Tick>, StoreError> {
    let elapsed_s = document.progress.elapsed_s;
    let length_s = whole_seconds(elapsed_s);
    let grain = if length_s > BY_SECOND_S { Grain::Minute } else { Grain::Second };
    let spans = store.spans(&document.id, grain, 0, u32::MAX).await?;
    let run = document.id.clone();
    blocking(move || of_spans(&run, grain, spans, length_s, elapsed_s)).await
}

/// The tick of one minute, which begins with this second.
pub(crate) async fn minute(
    store: &dyn Store,
    run: &RunId,
    from_s: u32,
    elapsed_s: f64,
) -> Result<Tick, StoreError> {
    let to_s = from_s + Grain::Minute.seconds();
    let spans = store.spans(run, Grain::Minute, from_s, to_s).await?;
    let run = run.clone();
    let ticks = blocking(move || of_spans(&run, Grain::Minute, spans, to_s, elapsed_s)).await?;
    let found = ticks.into_iter().find(|tick| tick.second == u64::from(from_s));
    Ok(found.unwrap_or_else(|| view::tick((from_s, to_s), &MergedSecond::default(), elapsed_s, true)))
}

/// Opening histograms takes a while where there are thousands.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Failed(format!("reading broke off: {error}"))))
}

fn of_spans(
    run: &RunId,
    grain: Grain,
    spans: Vec<Span>,
    length_s: u32,
    elapsed_s: f64,
) -> Result<Vec<Tick>, StoreError> {
    // Where the seconds are gone, there are minutes.
    let is_minutes = spans.iter().any(|span| span.to_s - span.from_s == Grain::Minute.seconds());
    let grain = if is_minutes { Grain::Minute } else { grain };
    let mut ticks = Vec::new();
    let mut next_s = 0;
    // The last minute of a run is hardly ever a whole one.
    let end = |from_s: u32| {
        let to_s = from_s + grain.seconds();
        if from_s < length_s { to_s.min(length_s) } else { to_s }
    };
    let mut fill = |ticks: &mut Vec<Tick>, up_to_s: u32| {
        while next_s < up_to_s {
            let nothing = MergedSecond::default();
            ticks.push(view::tick((next_s, end(next_s)), &nothing, elapsed_s, true));
            next_s += grain.seconds();
        }
        next_s = up_to_s.max(next_s) + grain.seconds();
    };
    for span in spans {
        fill(&mut ticks, span.from_s);
        let row = span.row.open();
        let row = row.map_err(|error| StoreError::Damaged { run: run.clone(), source: error.into() })?;
        let merged = MergedSecond { scalars: span.scalars, row };
        ticks.push(view::tick((span.from_s, end(span.from_s)), &merged, elapsed_s, true));
    }
    fill(&mut ticks, length_s);
    Ok(ticks)
}

/// Seconds of run time, rounded up as the decider does it, whose times are whole nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
fn whole_seconds(seconds: f64) -> u32 {
    let ns = (seconds * SECOND_NS as f64).round() as u64;
    u32::try_from(ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
