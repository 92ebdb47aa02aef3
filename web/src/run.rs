//! The page of one run: live while it goes on, the report when it is over.

use askama::Template;
use serde_json::{Value, json};

use crate::chart::{Chart, charts};
use crate::format::Format;
use crate::parts::{Badge, Bound, PERCENTILES, Percentile, readable_time};
use crate::stream::{LogLine, Snapshot, Tick};
use crate::table::{Column, Kind, Table};
use crate::view::view;

/// `/runs/{id}`. Binds itself to `/api/v1/runs/{id}/stream` while the run goes on.
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
    /// The plan as it was given; empty hides it.
    pub plan: String,
    /// The whole-run snapshot.
    pub run: Snapshot,
    /// Every second so far, ascending.
    pub ticks: Vec<Tick>,
    /// The event log, oldest first.
    pub log: Vec<LogLine>,
}

impl RunPage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        let view = view(&self.name, &self.run, &self.ticks, &self.log).map_err(askama::Error::custom)?;
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

    /// What the script starts from, safe to stand in a `<script>`: no `<` can end it.
    fn data(&self) -> Result<String, askama::Error> {
        let data = json!({ "run": self.run, "ticks": self.ticks, "log": self.log });
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
        self.ms(&format!("{span}/latency_ms/{key}"))
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

    fn started(&self) -> String {
        readable_time(&self.page.started_at)
    }
}

struct Tables {
    steps: Table,
    errors: Table,
    statuses: Table,
    agents: Table,
    log: Table,
}

impl Tables {
    fn new(view: &Value) -> Self {
        Self {
            steps: Table::new(view, steps()),
            errors: Table::new(view, errors()),
            statuses: Table::new(view, statuses()),
            agents: Table::new(view, agents()),
            log: Table::new(view, log()),
        }
    }
}

fn steps() -> Kind {
    let mut columns = vec![
        Column::words("step", "name"),
        Column::count("started", "started"),
        Column::count("ok", "ok"),
        Column::count("failed", "failed"),
        Column::number("rate", "/s", "rate", Format::Rate),
    ];
    columns.extend(Column::percentiles());
    Kind { source: "steps", label: "Steps", empty: "No step has begun yet.", mark: "", columns }
}

fn errors() -> Kind {
    let columns = vec![
        Column::words("kind", "kind"),
        Column::words("phase", "phase"),
        Column::count("count", "count"),
        Column::number("first seen", "s", "first_s", Format::Count),
        Column::number("last seen", "s", "last_s", Format::Count),
    ];
    Kind { source: "errors", label: "Errors by kind", empty: "No request failed.", mark: "", columns }
}

fn statuses() -> Kind {
    let columns = vec![Column::words("status", "status"), Column::count("answers", "count")];
    Kind { source: "statuses", label: "Statuses", empty: "No answer has come yet.", mark: "", columns }
}

fn agents() -> Kind {
    let columns = vec![
        Column::words("agent", "name"),
        Column::words("state", "state"),
        Column::words("version", "version"),
        Column::count("cores", "cores"),
        Column::count("users", "users"),
        Column::count("granted", "granted"),
        Column::count("started", "started"),
        Column::count("unknown", "unknown"),
        Column::number("last seen", "", "last_seen_s", Format::Ago),
        Column::number("clock offset", "ms", "offset_ms", Format::Offset),
        Column::number("round trip", "ms", "round_trip_ms", Format::Ms),
    ];
    Kind { source: "agents", label: "Agents", empty: "No agent takes part yet.", mark: "ok", columns }
}

fn log() -> Kind {
    let columns = vec![
        Column::number("at", "", "at_s", Format::Seconds),
        Column::words("", "level"),
        Column::words("what", "text"),
    ];
    Kind { source: "log", label: "Event log", empty: "Nothing has happened yet.", mark: "level", columns }
}
