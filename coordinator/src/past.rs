//! Runs that are over, as their pages and streams show them: read back from the store. A few stay in memory, so that a
//! page and its stream don't read the same thing twice. And what was shown of runs that go on where another process began
//! them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use volley_lifecycle::Gap;
use volley_plan::Load;
use volley_plan::link::RunId;
use volley_stats::{MergedSecond, SECOND_NS};
use volley_web::stream::Tick;

use crate::document::{RunDocument, SecondGap, s_to_ns};
use crate::feed::{Feed, SharedFeed};
use crate::live::Recalled;
use crate::publish::{self, BY_SECOND_S};
use crate::store::{Grain, Span, Store, StoreError, errors_seen};
use crate::timeline::{Gaps, Timeline};
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

    /// Forgets a run's feed.
    pub(crate) fn remove(&mut self, run: &RunId) {
        self.feeds.retain(|(id, _)| id != run);
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
    feed.recall(document.log, document.log_lines_dropped);
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
    blocking(move || run.ticks(grain, spans, 0..length_s)).await
}

/// What was shown of a run that goes on, whose seconds before `published_s` are complete: `document` is the one that was
/// kept last, `load` the load as it was adjusted.
pub(crate) async fn recalled(
    store: &dyn Store,
    document: &RunDocument,
    load: Load,
    published_s: u32,
) -> Result<Recalled, StoreError> {
    let run = Past::so_far(document.id.clone(), load, gaps_told(document), document.progress.run_s());
    let thresholds = document.progress.thresholds.clone();
    let (log, dropped) = (document.log.clone(), document.log_lines_dropped);
    let by_second_s = publish::by_minute_s(published_s);
    let minutes = store.spans(&run.id, Grain::Minute, 0, by_second_s).await?;
    let seconds = store.spans(&run.id, Grain::Second, by_second_s, u32::MAX).await?;
    blocking(move || {
        let is_measured = |span: &&Span| !run.timeline().is_warmup(span.to_s);
        let seen = errors_seen(minutes.iter().chain(&seconds).filter(is_measured));
        let strains = seconds.iter().map(|span| (span.from_s, span.strain)).collect();
        let complete = seconds.into_iter().filter(|span| span.from_s < published_s).collect();
        let mut feed = Feed::beginning_after(first_id());
        let mut ticks = run.ticks(Grain::Minute, minutes, 0..by_second_s)?;
        ticks.extend(run.ticks(Grain::Second, complete, by_second_s..published_s)?);
        ticks.into_iter().for_each(|tick| feed.tick(tick));
        feed.recall(log, dropped);
        Ok(Recalled { feed, seen, strains, thresholds, complete_s: published_s })
    })
    .await
}

/// What ticks of a run are made with, beside its spans.
pub(crate) struct Past {
    id: RunId,
    /// `None` where the plan cannot be read, which costs what it says of the seconds.
    load: Option<Load>,
    stop_ns: Option<u64>,
    gaps: Gaps,
    /// Run time at which the ticks are told.
    run_s: f64,
}

impl Past {
    /// Of a run that is over.
    pub(crate) fn of(document: &RunDocument) -> Self {
        let progress = &document.progress;
        let stop_ns = progress.stop_s.map(s_to_ns);
        let (load, gaps) = (document.load(), gaps_told(document));
        Self { id: document.id.clone(), load, stop_ns, gaps, run_s: progress.run_s() }
    }

    /// Of one that goes on.
    pub(crate) fn so_far(id: RunId, load: Load, gaps: Gaps, run_s: f64) -> Self {
        Self { id, load: Some(load), stop_ns: None, gaps, run_s }
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
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Failed(format!("reading broke off: {error}"))))
}

impl Past {
    /// The ticks of these seconds of a run. Where the seconds are gone, there are minutes.
    fn ticks(&self, grain: Grain, spans: Vec<Span>, of: Range<u32>) -> Result<Vec<Tick>, StoreError> {
        let is_minutes = spans.iter().any(|span| span.to_s - span.from_s == Grain::Minute.seconds());
        let grain = if is_minutes { Grain::Minute } else { grain };
        // The last minute of a run is hardly ever a whole one.
        let end = |from_s: u32| {
            let to_s = from_s + grain.seconds();
            if from_s < of.end { to_s.min(of.end) } else { to_s }
        };
        let mut ticks = Vec::new();
        let mut next_s = of.start;
        for span in spans {
            self.fill(&mut ticks, next_s..span.from_s, grain, end)?;
            next_s = span.from_s + grain.seconds();
            let to_s = end(span.from_s);
            ticks.push(self.tick(&span, to_s)?);
        }
        self.fill(&mut ticks, next_s..of.end, grain, end)?;
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

    /// What the plan says of its seconds.
    pub(crate) fn timeline(&self) -> Timeline<'_> {
        self.load.as_ref().map(|load| Timeline::of(load, self.stop_ns, self.gaps.clone())).unwrap_or_default()
    }

    /// The tick of a span that ends with the second before `to_s`.
    fn tick(&self, span: &Span, to_s: u32) -> Result<Tick, StoreError> {
        let row = span.row.open();
        let row = row.map_err(|error| StoreError::Damaged { run: self.id.clone(), source: error.into() })?;
        let merged = MergedSecond { scalars: span.scalars, row };
        let tick = view::tick((span.from_s, to_s), &merged, span.strain, &self.timeline());
        Ok(Tick { elapsed_s: self.run_s, ..tick })
    }
}

/// What lost agents left open, as a run's document tells it.
fn gaps_told(document: &RunDocument) -> Gaps {
    let gaps = document.progress.agents.iter().flat_map(|agent| &agent.gaps);
    let gap = |told: &SecondGap| (told.second, Gap { missed: told.missed, unknown: told.unknown });
    gaps.map(gap).collect()
}

/// Seconds of run time, rounded up as the decider does it, whose times are whole nanoseconds.
fn whole_seconds(seconds: f64) -> u32 {
    u32::try_from(s_to_ns(seconds).div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
