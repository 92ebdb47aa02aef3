//! Numbers as text. `assets/format.js` is the same in script, and a test holds the two together.

use serde_json::Value;

/// What stands where there is no number.
pub(crate) const NOTHING: &str = "–";

/// How a value is written; its name is what `data-format` says to the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As it is.
    Text,
    /// A whole number, thousands apart.
    Count,
    /// Per second, three significant digits; from 100 up whole.
    Rate,
    /// Milliseconds, likewise.
    Ms,
    /// Milliseconds with their sign.
    Signed,
    /// A fraction of one, in percent; what is not nothing never reads 0 %, what is not all never 100 %.
    Percent,
    /// A duration in seconds.
    Seconds,
    /// How long ago, in seconds.
    Ago,
    /// Bytes, in the binary unit that leaves one digit at least.
    Bytes,
    /// Which percentile, with the decimals that it needs.
    Percentile,
}

impl Format {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 10] = [
        Self::Text,
        Self::Count,
        Self::Rate,
        Self::Ms,
        Self::Signed,
        Self::Percent,
        Self::Seconds,
        Self::Ago,
        Self::Bytes,
        Self::Percentile,
    ];

    /// The name in `data-format`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Count => "count",
            Self::Rate => "rate",
            Self::Ms => "ms",
            Self::Signed => "signed",
            Self::Percent => "percent",
            Self::Seconds => "seconds",
            Self::Ago => "ago",
            Self::Bytes => "bytes",
            Self::Percentile => "percentile",
        }
    }

    /// Writes a JSON value: text as it is, a number in this format, anything else as a dash.
    pub(crate) fn write(self, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.as_f64().map_or_else(|| NOTHING.to_owned(), |x| self.number(x)),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => NOTHING.to_owned(),
        }
    }

    fn number(self, x: f64) -> String {
        match self {
            Self::Text | Self::Count => fixed(x, 0),
            Self::Rate | Self::Ms => significant(x),
            Self::Signed => signed(x),
            Self::Percent => percent(x),
            Self::Seconds => seconds(x),
            Self::Ago => format!("{} ago", seconds(x)),
            Self::Bytes => bytes(x),
            Self::Percentile => percentile(x),
        }
    }
}

/// A whole number, thousands apart.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number that may be absent, in a format.
pub(crate) fn maybe(format: Format, x: Option<f64>) -> String {
    x.filter(|x| x.is_finite()).map_or_else(|| NOTHING.to_owned(), |x| format.number(x))
}

/// Rounds half away from zero, as the script does; `format!` would round half to even.
fn fixed(x: f64, decimals: u32) -> String {
    let scale = 10_u64.pow(decimals);
    let scaled = (x.abs() * scale as f64).round() as u64;
    let sign = if x < 0.0 && scaled > 0 { "−" } else { "" };
    let whole = count(scaled / scale);
    match decimals {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{:0width$}", scaled % scale, width = decimals as usize),
    }
}

fn significant(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        size if size >= 99.95 => fixed(x, 0),
        size if size >= 9.995 => fixed(x, 1),
        size if size >= 0.9995 => fixed(x, 2),
        _ => fixed(x, 3),
    }
}

fn signed(x: f64) -> String {
    let text = significant(x);
    if x > 0.0 { format!("+{text}") } else { text }
}

fn percent(fraction: f64) -> String {
    let x = fraction * 100.0;
    if x > 0.0 && x < 0.001 {
        "<0.001 %".to_owned()
    } else if (99.5..100.0).contains(&x) {
        // Cut, not rounded: 100 % is kept for all.
        format!("{} %", fixed((x * 100.0).floor() / 100.0, 2))
    } else {
        format!("{} %", significant(x))
    }
}

fn seconds(x: f64) -> String {
    let whole = x.max(0.0).floor() as u64;
    match whole {
        0..60 if x == x.floor() => format!("{whole} s"),
        // Cut, not rounded, so that 59.96 s doesn't read 60.0 s.
        0..60 => format!("{} s", fixed((x.max(0.0) * 10.0).floor() / 10.0, 1)),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

fn bytes(x: f64) -> String {
    let (mut size, mut unit) = (x, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    format!("{} {unit}", significant(size))
}

fn percentile(x: f64) -> String {
    fixed(x, 5).trim_end_matches('0').trim_end_matches('.').to_owned()
}
