//! The charts of the run page: what each draws, its legend, and the table that says the same.

use askama::Template;
use serde_json::Value;

use crate::format::Format;
use crate::parts::{Bound, PERCENTILES, is_nothing};
use crate::table::{Column, Kind, Table};

/// One line of a chart.
struct Key {
    /// What it draws, of a tick.
    field: &'static str,
    label: &'static str,
    /// The CSS class that gives colour and dash.
    class: &'static str,
    /// It is drawn from the start; else a press on it draws it.
    pressed: bool,
    /// It is left out while no tick has it.
    optional: bool,
}

impl Key {
    fn new(field: &'static str, label: &'static str, class: &'static str) -> Self {
        Self { field, label, class, pressed: true, optional: false }
    }

    fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// One chart; the script finds by `id` how its values are drawn.
#[derive(Template)]
#[template(path = "parts/chart.html")]
pub(crate) struct Chart {
    id: &'static str,
    title: &'static str,
    unit: Bound,
    keys: Vec<Key>,
    said: Bound,
    table: Table,
    cut: Bound,
    /// Path of what it is shown for; empty where it always is.
    show: &'static str,
    is_hidden: bool,
}

impl Chart {
    fn new(view: &Value, id: &'static str, title: &'static str, keys: Vec<Key>, kind: Kind) -> Self {
        Self {
            id,
            title,
            unit: Bound::new(view, &format!("units/{id}"), Format::Text),
            keys,
            said: Bound::new(view, &format!("said/{id}"), Format::Text),
            table: Table::new(view, kind),
            cut: Bound::new(view, "cut", Format::Text),
            show: "",
            is_hidden: false,
        }
    }

    fn shown_for(self, view: &Value, show: &'static str) -> Self {
        Self { show, is_hidden: is_nothing(view, show), ..self }
    }
}

/// All charts, in the page's order.
pub(crate) fn charts(view: &Value) -> Vec<Chart> {
    vec![rate(view), latency(view), generator(view), open(view), errors(view)]
}

fn by_second(label: &'static str, columns: impl IntoIterator<Item = Column>) -> Kind {
    let first = [Column::count("second", "second"), Column::words("part", "part").optional()];
    let columns = first.into_iter().chain(columns).collect();
    Kind { source: "ticks", label, empty: "No second has been measured yet.", mark: "", columns }
}

fn rate(view: &Value) -> Chart {
    let keys = vec![
        Key::new("ok", "ok", "s-ok"),
        Key::new("iterations", "started", "s-started").optional(),
        Key::new("planned", "target", "s-target").optional(),
        Key::new("failed", "failed", "s-failed"),
        Key::new("missed", "missed", "s-missed").optional(),
        Key::new("unknown", "unknown", "s-unknown").optional(),
    ];
    let columns = [
        Column::number("target", "", "planned", Format::Rate).optional(),
        Column::count("iterations", "iterations").optional(),
        Column::count("started", "started"),
        Column::count("ok", "ok"),
        Column::count("failed", "failed"),
        Column::count("missed", "missed").optional(),
        Column::count("unknown", "unknown").optional(),
    ];
    Chart::new(view, "rate", "Requests", keys, by_second("Requests by second", columns))
}

fn latency(view: &Value) -> Chart {
    let percentile = |p: &crate::parts::Percentile| Key {
        pressed: !matches!(p.key, "90" | "99.9"),
        ..Key::new(p.key, p.label, p.class)
    };
    let mut keys: Vec<Key> = PERCENTILES.iter().map(percentile).collect();
    keys.push(Key::new("service", "service p99", "s-service").optional());
    let service = Column::number("service p99", "ms", "service_ms/99", Format::Ms).optional();
    let kind = by_second("Latency by second", Column::percentiles().chain([service]));
    Chart::new(view, "latency", "Latency", keys, kind)
}

fn generator(view: &Value) -> Chart {
    let keys = vec![
        Key::new("lag_p99_ms", "lag p99", "s-p99").optional(),
        Key::new("lag_max_ms", "lag max", "s-max").optional(),
        Key::new("busiest_cpu", "busiest core", "s-cpu").optional(),
    ];
    let columns = [
        Column::number("lag p99", "ms", "lag_p99_ms", Format::Ms).optional(),
        Column::number("lag max", "ms", "lag_max_ms", Format::Ms).optional(),
        Column::number("busiest core", "", "busiest_cpu", Format::Percent).optional(),
        Column::number("stolen", "", "stolen", Format::Percent).optional(),
    ];
    let kind = by_second("The generator by second", columns);
    Chart::new(view, "generator", "Generator", keys, kind).shown_for(view, "has/generator")
}

fn open(view: &Value) -> Chart {
    let keys = vec![
        Key::new("in_flight", "in flight", "s-flight"),
        Key::new("connections", "connections", "s-conn"),
    ];
    let columns = [Column::count("in flight", "in_flight"), Column::count("connections", "connections")];
    Chart::new(view, "open", "In flight", keys, by_second("In flight and connections by second", columns))
}

fn errors(view: &Value) -> Chart {
    let kind = Kind {
        source: "error_seconds",
        label: "Errors by second and kind",
        empty: "No request failed.",
        mark: "",
        columns: vec![
            Column::count("second", "second"),
            Column::words("kind", "kind"),
            Column::count("count", "count"),
        ],
    };
    // Its lines are the kinds that occur, so the script makes the legend.
    Chart::new(view, "errors", "Errors by kind", Vec::new(), kind)
}
