//! Numbers as words for the sentences that the server writes.

use volley_plan::words::significant;

/// Milliseconds: `1.20 ms`, `412 ms`.
pub(crate) fn milliseconds(ms: f64) -> String {
    format!("{} ms", significant(ms))
}

/// A rate: `5,012 requests/s`.
pub(crate) fn request_rate(per_second: f64) -> String {
    if per_second == 0.0 {
        return "0 requests/s".to_owned();
    }
    format!("{} requests/s", significant(per_second))
}

/// Seconds of run time: `12 s`, `10.2 s`; cut, not rounded, so that no moment is told before it has come.
pub(crate) fn seconds(s: f64) -> String {
    tenths((s.max(0.0) * 10.0 + 1e-6).floor() / 10.0)
}

/// The same of a run time from which on something is so, or up to which: rounded up, as the event log has it.
pub(crate) fn from_when(s: f64) -> String {
    tenths((s.max(0.0) * 10.0 - 1e-6).ceil() / 10.0)
}

fn tenths(tenths: f64) -> String {
    if tenths.fract() == 0.0 { format!("{tenths:.0} s") } else { format!("{tenths:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let said = [
            (milliseconds(1.2), "1.20 ms"),
            (milliseconds(0.0421), "0.042 ms"),
            (milliseconds(412.4), "412 ms"),
            (milliseconds(60_000.0), "60,000 ms"),
            (request_rate(5012.4), "5,012 requests/s"),
            (request_rate(0.0), "0 requests/s"),
            (request_rate(9.999), "10.0 requests/s"),
            (seconds(12.0), "12 s"),
            (seconds(10.29), "10.2 s"),
            (seconds(59.96), "59.9 s"),
            (seconds(-1.0), "0 s"),
            (from_when(11.81), "11.9 s"),
            (from_when(12.0), "12 s"),
            (from_when(11.9), "11.9 s"),
        ];
        for (is, should) in said {
            assert_eq!(is, should);
        }
    }
}
