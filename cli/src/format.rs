//! Numbers as people read them.

pub(crate) use volley_plan::words::count;

/// What stands where there is no number.
pub(crate) const NOTHING: &str = "–";

/// Three significant digits, whole from 100 up.
fn significant(x: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` clamps to what fits, as wanted"
    )]
    let whole = |x: f64| count(x.round() as u64);
    match x {
        0.0 => "0".to_owned(),
        x if x >= 99.95 => whole(x),
        x if x >= 9.995 => format!("{x:.1}"),
        x if x >= 0.9995 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A latency that may be absent: `1.20 ms`, `–`.
pub(crate) fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or_else(|| NOTHING.to_owned(), |ms| format!("{} ms", significant(ms)))
}

/// A rate: `5,012/s`.
pub(crate) fn rate(per_second: f64) -> String {
    format!("{}/s", significant(per_second))
}

/// A share that may be absent: `0.5 %`, `–`. What is not nothing never reads 0 %, what is not all never 100 %.
pub(crate) fn percent(share: Option<f64>) -> String {
    match share {
        None => NOTHING.to_owned(),
        Some(share) if share > 0.0 && share < 0.0001 => "<0.01 %".to_owned(),
        Some(share) if share < 1.0 && share > 0.9999 => ">99.99 %".to_owned(),
        Some(share) => format!("{} %", significant(share * 100.0)),
    }
}

/// A size: `512 B`, `1.46 KiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut size = n as f64;
    if size < 1024.0 {
        return format!("{n} B");
    }
    let mut unit = "B";
    for larger in UNITS {
        // What would be written as 1,024 of a unit is written as 1.00 of the next.
        if size < 1023.5 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", significant(size))
}

/// Seconds of a run: `12.0 s`, `0.034 s`; cut, not rounded, so that no moment is told before it has come.
pub(crate) fn seconds(s: f64) -> String {
    let cut = |places: f64| (s * places + 1e-6).floor() / places;
    if s < 1.0 { format!("{:.3} s", cut(1000.0)) } else { format!("{:.1} s", cut(10.0)) }
}

/// What a rate is over, with as many digits as the rate: `2.45 s`.
pub(crate) fn span(s: f64) -> String {
    format!("{} s", significant(s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let said = [
            (count(0), "0"),
            (count(1_234_567), "1,234,567"),
            (milliseconds(None), "–"),
            (milliseconds(Some(1.2)), "1.20 ms"),
            (milliseconds(Some(0.0421)), "0.042 ms"),
            (milliseconds(Some(1000.4)), "1,000 ms"),
            (rate(0.0), "0/s"),
            (rate(5012.4), "5,012/s"),
            (percent(None), "–"),
            (percent(Some(0.0)), "0 %"),
            (percent(Some(0.000_001)), "<0.01 %"),
            (percent(Some(0.005)), "0.500 %"),
            (percent(Some(0.999_99)), ">99.99 %"),
            (percent(Some(1.0)), "100 %"),
            (bytes(0), "0 B"),
            (bytes(1023), "1023 B"),
            (bytes(1500), "1.46 KiB"),
            (bytes(1_048_575), "1.00 MiB"),
            (bytes(u64::MAX), "16,777,216 TiB"),
            (seconds(9.99), "9.9 s"),
            (seconds(10.0), "10.0 s"),
            (seconds(0.0346), "0.034 s"),
            (span(0.0), "0 s"),
            (span(2.4512), "2.45 s"),
            (span(3600.2), "3,600 s"),
        ];
        for (is, should) in said {
            assert_eq!(is, should);
        }
    }
}
