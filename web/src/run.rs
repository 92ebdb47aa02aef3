//! The page of one run: live while it goes on, the report when it is over.

use askama::Template;
use serde_json::{Value, json};

use crate::chart::{Chart, charts};
use crate::format::Format;
use crate::parts::{Badge, Bound, PERCENTILES, Percentile, is_nothing, readable_time};
use crate::stream::{LogLine, Snapshot, Tick};
use crate::tables::{PHASES, Phase, Tables};
use crate::told::SpanView;
use crate::view::view;

/// `/runs/{id}`. Its forms post (urlencoded) `note` and `labels` (`key=value, key=value`) to `/runs/{id}/note`, and nothing
/// to `/runs/{id}/again`, `/runs/{id}/delete` and `/runs/{id}/stop`. Binds itself to `/api/v1/runs/{id}/stream` while the run goes on.
#[derive(Clone, Debug, Default)]
pub struct RunPage {
    /// The run's id, as in its address.
    pub id: String,
    /// The plan's name, literal.
    pub name: String,
    /// Where the load goes, literal.
    pub target: String,
    /// The load in words ("50 users closed").
    pub load: String,
    /// Start, RFC 3339 in UTC; empty where it hasn't started.
    pub started_at: String,
    /// The run's note, or nothing.
    pub note: String,
    /// The run's labels, each `key=value`, literal.
    pub labels: Vec<String>,
    /// Which plan of the library it is of, if it is of one.
    pub library: Option<PlanLink>,
    /// How it was sent: what the plan says of connections, TLS and time-outs.
    pub environment: Vec<Fact>,
    /// The plan as it was given; empty hides it.
    pub plan: String,
    /// How its load can be adjusted while it goes on.
    pub adjust: AdjustForm,
    /// Without script the page is not to load itself again: somebody types into it.
    pub still: bool,
    /// The whole-run snapshot.
    pub run: Snapshot,
    /// Every second so far, ascending.
    pub ticks: Vec<Tick>,
    /// The event log, oldest first.
    pub log: Vec<LogLine>,
    /// The seconds that the numbers are to be told of; the whole run where it isn't said.
    pub span: Option<SpanView>,
}

/// What a run that is over can be downloaded as, and the ends of the files' names.
const DOWNLOADS: [(&str, &str); 9] = [
    ("HTML", "html"),
    ("JSON", "json"),
    ("CSV", "csv"),
    ("series CSV", "series.csv"),
    ("JUnit", "junit.xml"),
    ("HGRM", "hgrm"),
    ("HLOG", "hlog"),
    ("OpenMetrics", "om"),
    ("Markdown", "md"),
];

/// One thing to know of how a run was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// What it is of (`Time-outs`).
    pub name: String,
    /// What is so, literal.
    pub words: String,
    /// Whoever reads the results must know it, so it stands at the head of the page too.
    pub is_doubt: bool,
}

/// A version of a plan of the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanLink {
    /// The plan's name, as in its address.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
}

/// The form that adjusts a run's load. It posts (urlencoded) `rate` or `users` to `/runs/{id}/adjust`.
#[derive(Clone, Debug, Default)]
pub struct AdjustForm {
    /// The load is a rate; else it is users.
    pub is_rate: bool,
    /// Why this run's load can never be adjusted; empty where it can.
    pub why_not: String,
}

impl RunPage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        let view = self.view().map_err(askama::Error::custom)?;
        let page = RunTemplate {
            page: self,
            badge: Badge::new(&self.run.state, self.run.verdict.as_deref()),
            charts: charts(&view),
            tables: Tables::new(&view),
            data: self.data()?,
            view,
        };
        page.render()
    }

    fn view(&self) -> Result<Value, serde_json::Error> {
        view(&self.name, &self.run, &self.ticks, &self.log, self.span.as_ref())
    }

    /// What the script starts from, safe to stand in a `<script>`: no `<` can end it.
    fn data(&self) -> Result<String, askama::Error> {
        let data = json!({ "run": self.run, "ticks": self.ticks, "log": self.log, "span": self.span });
        let text = serde_json::to_string(&data).map_err(askama::Error::custom)?;
        Ok(text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"))
    }
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunTemplate<'a> {
    page: &'a RunPage,
    view: Value,
    badge: Badge<'a>,
    charts: Vec<Chart>,
    tables: Tables,
    data: String,
}

impl RunTemplate<'_> {
    fn text(&self, path: &str) -> Bound {
        Bound::new(&self.view, path, Format::Text)
    }

    fn count(&self, path: &str) -> Bound {
        Bound::new(&self.view, path, Format::Count)
    }

    fn rate(&self, path: &str) -> Bound {
        Bound::new(&self.view, path, Format::Rate)
    }

    fn ms(&self, path: &str) -> Bound {
        Bound::new(&self.view, path, Format::Ms)
    }

    fn percentile(&self, span: &str, key: &str) -> Bound {
        self.ms(&format!("{span}/{key}"))
    }

    fn phase(&self, name: &str, key: &str) -> Bound {
        self.ms(&format!("phase/{name}/latency_ms/{key}"))
    }

    fn phase_count(&self, name: &str) -> Bound {
        self.count(&format!("phase/{name}/count"))
    }

    /// ` hidden` where the view has nothing to show, as the script decides it.
    fn unless(&self, path: &str) -> &'static str {
        if is_nothing(&self.view, path) { " hidden" } else { "" }
    }

    /// ` hidden` where the view has something to show.
    fn when(&self, path: &str) -> &'static str {
        if is_nothing(&self.view, path) { "" } else { " hidden" }
    }

    /// ` disabled` where the view has nothing to show.
    fn only_with(&self, path: &str) -> &'static str {
        if is_nothing(&self.view, path) { " disabled" } else { "" }
    }

    fn unless_phase(&self, name: &str) -> &'static str {
        self.unless(&format!("phase/{name}"))
    }

    fn percent(&self, path: &str) -> Bound {
        Bound::new(&self.view, path, Format::Percent)
    }

    fn seconds(&self, path: &str) -> Bound {
        Bound::new(&self.view, path, Format::Seconds)
    }

    fn progress(&self) -> Option<f64> {
        self.view.get("progress").and_then(Value::as_f64)
    }

    fn percentiles(&self) -> &'static [Percentile] {
        &PERCENTILES
    }

    fn phases(&self) -> &'static [Phase] {
        &PHASES
    }

    fn downloads(&self) -> &'static [(&'static str, &'static str)] {
        &DOWNLOADS
    }

    fn labels(&self) -> String {
        self.page.labels.join(", ")
    }

    /// What the fields of the span hold.
    fn from(&self) -> String {
        self.page.span.as_ref().map(|span| span.from_s.to_string()).unwrap_or_default()
    }

    fn to(&self) -> String {
        self.page.span.as_ref().map(|span| span.to_s.to_string()).unwrap_or_default()
    }

    fn started(&self) -> String {
        readable_time(&self.page.started_at)
    }
}
