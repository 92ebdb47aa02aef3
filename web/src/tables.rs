//! The tables of the run page below its charts.

use serde_json::Value;

use crate::format::Format;
use crate::table::{Column, Kind, Table};

pub(crate) struct Tables {
    pub(crate) distribution: Table,
    pub(crate) thresholds: Table,
    pub(crate) steps: Table,
    pub(crate) errors: Table,
    pub(crate) addresses: Table,
    pub(crate) statuses: Table,
    pub(crate) agents: Table,
    pub(crate) health: Table,
    pub(crate) log: Table,
}

impl Tables {
    pub(crate) fn new(view: &Value) -> Self {
        Self {
            distribution: Table::new(view, distribution()),
            thresholds: Table::new(view, thresholds()),
            steps: Table::new(view, steps()),
            errors: Table::new(view, errors()),
            addresses: Table::new(view, addresses()),
            statuses: Table::new(view, statuses()),
            agents: Table::new(view, agents()),
            health: Table::new(view, health()),
            log: Table::new(view, log()),
        }
    }
}

fn distribution() -> Kind {
    let columns = vec![
        Column::number("percentile", "", "percentile", Format::Percentile),
        Column::number("latency", "ms", "latency_ms", Format::Ms),
    ];
    Kind {
        source: "distribution",
        label: "Latency by percentile",
        empty: "No request has succeeded.",
        mark: "",
        columns,
    }
}

fn thresholds() -> Kind {
    let columns = vec![
        Column::words("threshold", "expect"),
        Column::words("over", "scope"),
        Column::words("measured", "value_words"),
        Column::words("now", "latest_words"),
        Column::number("left", "of the limit", "margin", Format::Percent).optional(),
        Column::words("state", "standing_words"),
    ];
    Kind {
        source: "thresholds",
        label: "Thresholds",
        empty: "The plan demands nothing.",
        mark: "standing",
        columns,
    }
}

fn steps() -> Kind {
    let mut columns = vec![
        Column::words("step", "label"),
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
        Column::words("error", "label"),
        Column::words("phase", "within"),
        Column::count("count", "count"),
        Column::number("first seen", "s", "first_s", Format::Count),
        Column::number("last seen", "s", "last_s", Format::Count),
        Column::words("kind", "kind"),
    ];
    Kind { source: "errors", label: "Errors by kind", empty: "No request failed.", mark: "", columns }
}

fn addresses() -> Kind {
    let columns = vec![
        Column::words("address", "address"),
        Column::count("requests", "requests"),
        Column::count("connections", "connections"),
        Column::count("failed", "failures"),
    ];
    Kind {
        source: "addresses",
        label: "Addresses",
        empty: "Nothing has been connected to yet.",
        mark: "",
        columns,
    }
}

fn statuses() -> Kind {
    let columns = vec![Column::words("status", "status"), Column::count("answers", "count")];
    Kind { source: "statuses", label: "Statuses", empty: "No answer has come.", mark: "", columns }
}

fn agents() -> Kind {
    let columns = vec![
        Column::words("agent", "name"),
        Column::words("state", "standing"),
        Column::number("part", "", "part", Format::Percent).optional(),
        Column::words("share", "share").optional(),
        Column::count("granted", "granted").optional(),
        Column::count("started", "started"),
        Column::count("unknown", "unknown").optional(),
        Column::words("version", "version"),
        Column::count("cores", "cores"),
        Column::number("last seen", "", "last_seen_s", Format::Ago).optional(),
        Column::number("round trip", "ms", "round_trip_ms", Format::Ms).optional(),
        Column::number("clock drift", "ms", "drift_ms", Format::Signed).optional(),
        Column::words("differs from its peers", "outlier").optional(),
    ];
    Kind { source: "agents", label: "Agents", empty: "No agent takes part yet.", mark: "ok", columns }
}

/// How the agents themselves were.
fn health() -> Kind {
    let columns = vec![
        Column::words("agent", "name"),
        Column::number("CPU", "cores", "cpu", Format::Ms).optional(),
        Column::number("busiest core", "", "busiest_cpu", Format::Percent).optional(),
        Column::number("lag p99", "ms", "lag_p99_ms", Format::Ms).optional(),
        Column::number("lag max", "ms", "lag_max_ms", Format::Ms).optional(),
        Column::number("late", "s", "late", Format::Text).optional(),
        Column::number("stall max", "ms", "stall_max_ms", Format::Ms).optional(),
        Column::number("stolen", "", "stolen", Format::Percent).optional(),
        Column::number("throttled", "", "throttled", Format::Percent).optional(),
        Column::number("memory", "", "resident_bytes", Format::Bytes).optional(),
        Column::number("descriptors", "", "files", Format::Text).optional(),
        Column::count("local ports", "local_ports").optional(),
    ];
    Kind {
        source: "agents",
        label: "The agents' health",
        empty: "Nothing has been measured yet.",
        mark: "",
        columns,
    }
}

fn log() -> Kind {
    let columns = vec![
        Column::number("at", "", "at_s", Format::Seconds),
        Column::words("", "level"),
        Column::words("what", "text"),
    ];
    Kind { source: "log", label: "Event log", empty: "Nothing has happened yet.", mark: "level", columns }
}

/// One row of the table of phases, which has a row for each; those that no request had are hidden.
pub(crate) struct Phase {
    /// Its name in the stream.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// What it is, in a line.
    pub(crate) meaning: &'static str,
}

/// In the order in which a request goes through them.
pub(crate) const PHASES: [Phase; 8] = [
    Phase { name: "lag", label: "lag", meaning: "due until taken up: what the generator itself was late" },
    Phase { name: "wait", label: "wait", meaning: "taken up until there was a connection for it" },
    Phase { name: "resolve", label: "resolve", meaning: "the target's name into addresses" },
    Phase { name: "connect", label: "connect", meaning: "opening a connection" },
    Phase { name: "tls", label: "TLS", meaning: "the TLS handshake" },
    Phase { name: "send", label: "send", meaning: "writing the request" },
    Phase { name: "first_byte", label: "first byte", meaning: "request sent until the answer began" },
    Phase { name: "receive", label: "receive", meaning: "the answer's first byte to its last" },
];
