//! The report of a run that is over as one file: everything that its page says, with the charts drawn, and nothing that has
//! to be loaded.

use askama::Template;
use serde_json::Value;

use crate::assets::assets;
use crate::format::Format;
use crate::parts::{Badge, PERCENTILES, Percentile, is_nothing, readable_time, text};
use crate::plot::{Axis, Line, Plot, Scale};
use crate::run::{Fact, RunPage};
use crate::stream::Tick;
use crate::tables::{PHASES, Phase, Tables};
use crate::view::view;

/// Under which the file works wherever it is opened: styles that stand in it, and nothing else at all. Browsers take it from
/// a `<meta>` as well (CSP level 3, section 3.3).
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// What stands along the axis of percentiles.
const NINES: [(f64, &str); 6] =
    [(1.0, "0 %"), (2.0, "50 %"), (10.0, "90 %"), (100.0, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %")];

/// The report.
#[derive(Clone, Debug, Default)]
pub struct ReportPage {
    /// What the run's own page shows.
    pub page: RunPage,
    /// Latency by percentile, ascending: the share of ok requests (0 to 1) that took at most so many milliseconds.
    pub distribution: Vec<(f64, f64)>,
}

impl ReportPage {
    /// The whole file as HTML.
    ///
    /// # Errors
    /// None that are known: askama's signature has them.
    pub fn render(&self) -> Result<String, askama::Error> {
        let page = &self.page;
        let view =
            view(&page.name, &page.run, &page.ticks, &page.log, None).map_err(askama::Error::custom)?;
        let template = ReportTemplate {
            page,
            badge: Badge::new(&page.run.state, page.run.verdict.as_deref()),
            plots: plots(page, &self.distribution, &view),
            tables: Tables::new(&view),
            view,
        };
        template.render()
    }
}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportTemplate<'a> {
    page: &'a RunPage,
    view: Value,
    badge: Badge<'a>,
    plots: Vec<Plot>,
    tables: Tables,
}

impl ReportTemplate<'_> {
    #[expect(clippy::unused_self, reason = "templates call what they have")]
    fn policy(&self) -> &'static str {
        CONTENT_SECURITY_POLICY
    }

    /// The style sheets of a run's page.
    #[expect(clippy::unused_self, reason = "templates call what they have")]
    fn style(&self) -> String {
        let sheet = |name: &str| assets().iter().find(|asset| asset.path.ends_with(name));
        let sheets = ["/volley.css", "/run.css"].into_iter().filter_map(sheet);
        sheets.filter_map(|asset| str::from_utf8(asset.bytes).ok()).collect()
    }

    fn text(&self, path: &str) -> String {
        text(&self.view, path, Format::Text)
    }

    fn count(&self, path: &str) -> String {
        text(&self.view, path, Format::Count)
    }

    fn rate(&self, path: &str) -> String {
        text(&self.view, path, Format::Rate)
    }

    fn percent(&self, path: &str) -> String {
        text(&self.view, path, Format::Percent)
    }

    fn seconds(&self, path: &str) -> String {
        text(&self.view, path, Format::Seconds)
    }

    fn ms(&self, path: &str) -> String {
        text(&self.view, path, Format::Ms)
    }

    fn percentile(&self, of: &str, key: &str) -> String {
        self.ms(&format!("{of}/{key}"))
    }

    fn phase(&self, name: &str, key: &str) -> String {
        self.ms(&format!("phase/{name}/latency_ms/{key}"))
    }

    fn phase_count(&self, name: &str) -> String {
        self.count(&format!("phase/{name}/count"))
    }

    fn has(&self, path: &str) -> bool {
        !is_nothing(&self.view, path)
    }

    fn percentiles(&self) -> &'static [Percentile] {
        &PERCENTILES
    }

    /// Those that any request went through.
    fn phases(&self) -> impl Iterator<Item = &'static Phase> {
        PHASES.iter().filter(|phase| self.has(&format!("phase/{}", phase.name)))
    }

    fn doubts(&self) -> impl Iterator<Item = &Fact> {
        self.page.environment.iter().filter(|fact| fact.is_doubt)
    }

    fn started(&self) -> String {
        readable_time(&self.page.started_at)
    }
}

/// All charts.
fn plots(page: &RunPage, distribution: &[(f64, f64)], view: &Value) -> Vec<Plot> {
    if page.ticks.is_empty() {
        return Vec::new();
    }
    let said = |id: &str| text(view, &format!("said/{id}"), Format::Text);
    let across = time(page);
    let warmup_s = page.run.warmup_s;
    let over_time = |title, id: &str, scale, lines: Vec<Line>| {
        let up = Axis::of(scale, values(&lines), Format::Ms);
        Plot::new(title, said(id), (&across, &up), &lines).shaded_before(warmup_s, &across)
    };
    let mut plots = vec![
        over_time(("Requests", "per second"), "rate", Scale::Linear, rates(&page.ticks)),
        over_time(("Latency", "ms, logarithmic"), "latency", Scale::Logarithmic, latencies(&page.ticks)),
    ];
    plots.extend(by_percentile(distribution));
    plots
}

fn values(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, y)| *y))
}

/// The axis of run time in seconds.
fn time(page: &RunPage) -> Axis {
    let end_s =
        page.ticks.iter().map(|tick| (tick.second + tick.seconds()) as f64).fold(page.run.run_s, f64::max);
    Axis::of(Scale::Linear, std::iter::once(end_s), Format::Seconds).ending_at(end_s)
}

/// A line of what ticks say, at the middle of their time.
fn line(ticks: &[Tick], label: &'static str, class: &'static str, of: impl Fn(&Tick) -> Option<f64>) -> Line {
    let at = |tick: &Tick| tick.second as f64 + tick.seconds() as f64 / 2.0;
    Line { label, class, points: ticks.iter().map(|tick| (at(tick), of(tick))).collect() }
}

fn rates(ticks: &[Tick]) -> Vec<Line> {
    let per_second = |tick: &Tick, n: f64| n / tick.seconds() as f64;
    let of = |n: fn(&Tick) -> u64| move |tick: &Tick| Some(per_second(tick, n(tick) as f64));
    let is_open = ticks.iter().any(|tick| tick.planned.is_some());
    let mut lines = vec![line(ticks, "ok", "s-ok", of(|tick| tick.ok))];
    if is_open {
        lines.push(line(ticks, "started", "s-started", of(|tick| tick.iterations)));
        lines.push(line(ticks, "target", "s-target", |tick| tick.planned.map(|n| per_second(tick, n))));
    }
    for (label, class, n) in [
        ("failed", "s-failed", (|tick| tick.failed) as fn(&Tick) -> u64),
        ("missed", "s-missed", |tick| tick.missed),
        ("unknown", "s-unknown", |tick| tick.unknown),
    ] {
        if ticks.iter().any(|tick| n(tick) > 0) {
            lines.push(line(ticks, label, class, of(n)));
        }
    }
    lines
}

fn latencies(ticks: &[Tick]) -> Vec<Line> {
    let lines = PERCENTILES.iter().map(|percentile| {
        let of = |tick: &Tick| {
            let list = serde_json::to_value(tick.latency_ms).unwrap_or_default();
            list.get(percentile.key).and_then(Value::as_f64)
        };
        line(ticks, percentile.label, percentile.class, of)
    });
    lines.collect()
}

/// Latency by percentile, along an axis on which each further nine takes the same room.
fn by_percentile(distribution: &[(f64, f64)]) -> Option<Plot> {
    let (below, _) = distribution.iter().rev().find(|(share, _)| *share < 1.0)?;
    let most = (1.0 / (1.0 - below)).max(100.0);
    let marks =
        NINES.iter().filter(|(at, _)| *at <= most * 1.001).map(|(at, text)| (*at, (*text).to_owned()));
    let across = Axis::marked(Scale::Logarithmic, 1.0, most, marks.collect());
    // The last one is all of them, which lies beyond any number of nines.
    let at = |share: f64| if share < 1.0 { 1.0 / (1.0 - share) } else { most };
    let points = distribution.iter().map(|(share, ms)| (at(*share), Some(*ms))).collect();
    let lines = vec![Line { label: "latency", class: "s-p50", points }];
    let up = Axis::of(Scale::Linear, values(&lines), Format::Ms);
    let said = "So many of the ok requests took at most so long, the slowest at the right end.".to_owned();
    Some(Plot::new(("Latency by percentile", "ms"), said, (&across, &up), &lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::check;
    use crate::samples;

    fn report(page: RunPage) -> String {
        let distribution = vec![(0.5, 1.0), (0.9, 2.0), (0.999, 8.0), (1.0, 9.0)];
        ReportPage { page, distribution }.render().unwrap()
    }

    #[test]
    fn a_report_is_one_file_that_loads_nothing() {
        let html = report(samples::over());
        let says = [
            "<title>",
            "Content-Security-Policy",
            "Latency by percentile",
            "99.9 %",
            "class=\"s-ok\" d=\"M",
            ".s-ok { stroke",
        ];
        check(&html, &says, &["<script", "<link", "src=", "url(", "NaN", "data-stream", " onerror"]);
        assert!(html.find("<h1>").unwrap() < html.find("class=\"sentence\"").unwrap());
    }

    #[test]
    fn names_are_literal() {
        let html = report(samples::hostile());
        check(&html, &["&#60;"], &["<img", "<script"]);
    }

    #[test]
    fn every_kind_of_run_has_one() {
        for page in samples::all() {
            let html = report(page);
            check(&html, &["</html>"], &["NaN", "inf\"", "-nan"]);
        }
        let empty = ReportPage::default().render().unwrap();
        check(&empty, &["</html>"], &["<path class"]);
    }
}
