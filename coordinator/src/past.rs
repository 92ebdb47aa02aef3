//! Runs that are over, as their pages and streams show them: read back from the store. A few stay in memory, so that a
//! page and its stream don't read the same thing twice.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use volley_plan::Plan;
use volley_plan::link::RunId;
use volley_stats::{MergedSecond, SECOND_NS};
use volley_web::stream::Tick;

use crate::document::RunDocument;
use crate::feed::{Feed, SharedFeed};
use crate::publish::BY_SECOND_S;
use crate::store::{Grain, Span, Store, StoreError};
use crate::timeline::Timeline;
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
    let length_s = whole_seconds(document.progress.run_s());
    let grain = if length_s > BY_SECOND_S { Grain::Minute } else { Grain::Second };
    let spans = store.spans(&document.id, grain, 0, u32::MAX).await?;
    let run = Past::of(document);
    blocking(move || run.ticks(grain, spans, length_s)).await
}

/// What ticks of a run are made with, beside its spans.
pub(crate) struct Past {
    id: RunId,
    /// `None` where the plan cannot be read, which costs what it says of the seconds.
    plan: Option<Arc<Plan>>,
    stop_ns: Option<u64>,
    /// Run time at which the ticks are told.
    run_s: f64,
}

impl Past {
    /// Of a run that is over.
    fn of(document: &RunDocument) -> Self {
        let progress = &document.progress;
        let stop_ns = progress.stop_s.map(whole_nanoseconds);
        let plan = volley_plan::parse(&document.plan).ok().map(Arc::new);
        Self { id: document.id.clone(), plan, stop_ns, run_s: progress.run_s() }
    }

    /// Of one that goes on.
    pub(crate) fn so_far(id: RunId, plan: Arc<Plan>, run_s: f64) -> Self {
        Self { id, plan: Some(plan), stop_ns: None, run_s }
    }
}

/// The tick of one minute, which begins with this second.
pub(crate) async fn minute(store: &dyn Store, run: Past, from_s: u32) -> Result<Tick, StoreError> {
    let to_s = from_s + Grain::Minute.seconds();
    let spans = store.spans(&run.id, Grain::Minute, from_s, to_s).await?;
    blocking(move || {
        let span = spans.into_iter().find(|span| span.from_s == from_s);
        let nothing = || Span { from_s, to_s, ..Span::default() };
        run.tick(&span.unwrap_or_else(nothing), to_s)
    })
    .await
}

/// Opening histograms takes a while where there are thousands.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Failed(format!("reading broke off: {error}"))))
}

impl Past {
    /// All ticks of a run of this length. Where the seconds are gone, there are minutes.
    fn ticks(&self, grain: Grain, spans: Vec<Span>, length_s: u32) -> Result<Vec<Tick>, StoreError> {
        let is_minutes = spans.iter().any(|span| span.to_s - span.from_s == Grain::Minute.seconds());
        let grain = if is_minutes { Grain::Minute } else { grain };
        // The last minute of a run is hardly ever a whole one.
        let end = |from_s: u32| {
            let to_s = from_s + grain.seconds();
            if from_s < length_s { to_s.min(length_s) } else { to_s }
        };
        let mut ticks = Vec::new();
        let mut next_s = 0;
        for span in spans {
            self.fill(&mut ticks, next_s..span.from_s, grain, end)?;
            next_s = span.from_s + grain.seconds();
            let to_s = end(span.from_s);
            ticks.push(self.tick(&span, to_s)?);
        }
        self.fill(&mut ticks, next_s..length_s, grain, end)?;
        Ok(ticks)
    }

    /// Adds ticks of spans in which nothing is known.
    fn fill(
        &self,
        ticks: &mut Vec<Tick>,
        gap: Range<u32>,
        grain: Grain,
        end: impl Fn(u32) -> u32,
    ) -> Result<(), StoreError> {
        for from_s in gap.step_by(grain.seconds() as usize) {
            ticks.push(self.tick(&Span { from_s, ..Span::default() }, end(from_s))?);
        }
        Ok(())
    }

    /// The tick of a span that ends with the second before `to_s`.
    fn tick(&self, span: &Span, to_s: u32) -> Result<Tick, StoreError> {
        let row = span.row.open();
        let row = row.map_err(|error| StoreError::Damaged { run: self.id.clone(), source: error.into() })?;
        let merged = MergedSecond { scalars: span.scalars, row };
        let plan = self.plan.as_deref();
        let timeline = plan.map(|plan| Timeline::of(plan, self.stop_ns)).unwrap_or_default();
        let tick = view::tick((span.from_s, to_s), &merged, span.strain, &timeline);
        Ok(Tick { elapsed_s: self.run_s, ..tick })
    }
}

/// A document's seconds as the whole nanoseconds that they were.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
fn whole_nanoseconds(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64).round() as u64
}

/// Seconds of run time, rounded up as the decider does it, whose times are whole nanoseconds.
fn whole_seconds(seconds: f64) -> u32 {
    u32::try_from(whole_nanoseconds(seconds).div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
