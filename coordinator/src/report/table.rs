//! Tables as CSV (RFC 4180): columns that are the same whatever happened, and cells that no spreadsheet takes for formulas.

use volley_web::stream::Percentiles;

use super::RenderError;

/// The columns of the one list of percentiles, in milliseconds.
pub(super) const PERCENTILES: [&str; 6] = ["p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms"];

/// The numbers for them.
pub(super) fn percentiles(of: &Percentiles) -> [Option<f64>; 6] {
    [of.p50, of.p90, of.p95, of.p99, of.p99_9, of.max]
}

/// What stands in a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Cell {
    /// Nothing is known, or nothing fits here.
    #[default]
    Empty,
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A text of whatever kind.
    Text(String),
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Self::Count(n)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Empty }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

impl Cell {
    fn write(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Count(n) => n.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => literal(text),
        }
    }
}

/// Text that a spreadsheet shows as it is: one that it would take for a formula gets a quote before it (OWASP, "CSV
/// Injection").
fn literal(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

/// The table.
pub(super) fn csv<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [Cell; N]>,
) -> Result<String, RenderError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(row.iter().map(Cell::write))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_texts_and_numbers_stay_numbers() {
        let check = |cell: Cell, expected: &str| assert_eq!(cell.write(), expected);
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"] {
            check(formula.into(), &format!("'{formula}"));
        }
        check("a=1".into(), "a=1");
        check((-1.5).into(), "-1.5");
        check(f64::NAN.into(), "");
        check(None::<u64>.into(), "");
        check(18_446_744_073_709_551_615.into(), "18446744073709551615");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let names = ["a,\"b\nc", "", "ü"];
        let text = csv(["name", "n"], names.map(|name| [name.into(), 7.into()])).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let read: Vec<_> = reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
        assert_eq!(read, names);
    }
}
