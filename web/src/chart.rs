//! The charts of the run page: what each draws, its legend, and the table that says the same.

use askama::Template;
use serde_json::Value;

use crate::format::Format;
use crate::parts::{Bound, PERCENTILES};
use crate::table::{Column, Kind, Table};

/// One line of a chart: the field it draws, its name, the CSS class that gives colour and dash.
struct Key {
    field: &'static str,
    label: &'static str,
    class: &'static str,
}

/// One chart; the script finds by `id` how its values are drawn.
#[derive(Template)]
#[template(path = "parts/chart.html")]
pub(crate) struct Chart {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    keys: Vec<Key>,
    said: Bound,
    table: Table,
    cut: Bound,
}

impl Chart {
    fn new(
        view: &Value,
        id: &'static str,
        title: &'static str,
        unit: &'static str,
        keys: Vec<Key>,
        kind: Kind,
    ) -> Self {
        let said = Bound::new(view, &format!("said/{id}"), Format::Text);
        let cut = Bound::new(view, "cut", Format::Text);
        Self { id, title, unit, keys, said, table: Table::new(view, kind), cut }
    }
}

/// All charts, in the page's order.
pub(crate) fn charts(view: &Value) -> Vec<Chart> {
    vec![rate(view), latency(view), open(view), errors(view)]
}

fn by_second(label: &'static str, columns: impl IntoIterator<Item = Column>) -> Kind {
    let columns = [Column::count("second", "second")].into_iter().chain(columns).collect();
    Kind { source: "ticks", label, empty: "No second has been measured yet.", mark: "", columns }
}

fn rate(view: &Value) -> Chart {
    let keys = vec![
        Key { field: "ok", label: "ok", class: "s-ok" },
        Key { field: "failed", label: "failed", class: "s-failed" },
    ];
    let columns = [Column::count("ok", "ok"), Column::count("failed", "failed")];
    Chart::new(view, "rate", "Requests", "per second", keys, by_second("Requests by second", columns))
}

fn latency(view: &Value) -> Chart {
    let keys = PERCENTILES.iter().map(|p| Key { field: p.key, label: p.label, class: p.class }).collect();
    let kind = by_second("Latency by second", Column::percentiles());
    Chart::new(view, "latency", "Latency", "ms, logarithmic", keys, kind)
}

fn open(view: &Value) -> Chart {
    let keys = vec![
        Key { field: "in_flight", label: "in flight", class: "s-flight" },
        Key { field: "connections", label: "connections", class: "s-conn" },
    ];
    let columns = [Column::count("in flight", "in_flight"), Column::count("connections", "connections")];
    let kind = by_second("In flight and connections by second", columns);
    Chart::new(view, "open", "In flight", "at the second's end", keys, kind)
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
    Chart::new(view, "errors", "Errors by kind", "per second", Vec::new(), kind)
}
