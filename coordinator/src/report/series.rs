//! A run by the second as a table: a row for each second, or for each minute of a long run.

use volley_plan::link::RunId;
use volley_stats::ErrorKind;
use volley_web::stream::Tick;

use super::RenderError;
use super::table::{Cell, PERCENTILES, csv, percentiles};

/// Columns before the percentiles of latency.
const COUNTS: [&str; 18] = [
    "run",
    "second",
    "span_s",
    "part",
    "planned",
    "iterations",
    "missed",
    "unknown",
    "started",
    "ok",
    "failed",
    "cancelled",
    "users",
    "in_flight",
    "connections",
    "bytes_received",
    "busiest_cpu",
    "stolen",
];
/// Columns behind them.
const REST: [&str; 4] = ["service_p50_ms", "service_p99_ms", "lag_p99_ms", "lag_max_ms"];
/// All, with one for each kind of error.
const COLUMNS: usize = COUNTS.len() + PERCENTILES.len() + REST.len() + ErrorKind::COUNT;

/// The table.
pub(super) fn csv_of(run: &RunId, ticks: &[Tick]) -> Result<String, RenderError> {
    let errors: Vec<_> = ErrorKind::ALL.iter().map(|kind| format!("error_{}", kind.name())).collect();
    let names = COUNTS.into_iter().chain(PERCENTILES).chain(REST).chain(errors.iter().map(String::as_str));
    csv(filled(names, ""), ticks.iter().map(|tick| filled(row(run, tick), Cell::Empty)))
}

/// As many as there are columns.
fn filled<T: Clone>(values: impl IntoIterator<Item = T>, nothing: T) -> [T; COLUMNS] {
    let mut values = values.into_iter();
    std::array::from_fn(|_| values.next().unwrap_or_else(|| nothing.clone()))
}

fn row(run: &RunId, tick: &Tick) -> Vec<Cell> {
    let mut row: Vec<Cell> = vec![
        run.as_str().into(),
        tick.second.into(),
        tick.seconds().into(),
        (if tick.warmup { "warmup" } else { "measured" }).into(),
        tick.planned.into(),
        tick.iterations.into(),
        tick.missed.into(),
        tick.unknown.into(),
        tick.started.into(),
        tick.ok.into(),
        tick.failed.into(),
        tick.cancelled.into(),
        tick.users.into(),
        tick.in_flight.into(),
        tick.connections.into(),
        tick.bytes_received.into(),
        tick.busiest_cpu.into(),
        tick.stolen.into(),
    ];
    row.extend(percentiles(&tick.latency_ms).map(Cell::from));
    let rest = [tick.service_ms.p50, tick.service_ms.p99, tick.lag_p99_ms, tick.lag_max_ms];
    row.extend(rest.map(Cell::from));
    row.extend(ErrorKind::ALL.iter().map(|kind| tick.errors.get(kind.name()).copied().unwrap_or(0).into()));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_is_a_row_with_every_column() {
        let mut tick = Tick { second: 7, ok: 5, planned: Some(5.0), warmup: true, ..Tick::default() };
        tick.latency_ms.max = Some(1.25);
        tick.errors.insert("check".to_owned(), 3);
        let run = RunId::new("r1").unwrap();
        let text = csv_of(&run, &[tick, Tick { second: 60, span_s: 60, ..Tick::default() }]).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers().unwrap().clone();
        assert_eq!((head.len(), head.iter().any(str::is_empty)), (COLUMNS, false), "{head:?}");
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        let cell = |row: usize, name: &str| &rows[row][head.iter().position(|known| known == name).unwrap()];
        let said = ["run", "second", "span_s", "part", "planned", "ok", "max_ms", "p50_ms", "error_check"];
        assert_eq!(said.map(|name| cell(0, name)), ["r1", "7", "1", "warmup", "5", "5", "1.25", "", "3"]);
        assert_eq!(said.map(|name| cell(1, name)), ["r1", "60", "60", "measured", "", "0", "", "", "0"]);
    }
}
