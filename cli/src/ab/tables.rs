//! The files of `-g` and `-e`: single requests for gnuplot, and percentiles. Pure.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::record::Record;
use super::times::{milliseconds, rounded_percentile};

/// A line for each request, the quickest first: when it began, to the second and in this machine's time; and how long it took
/// in milliseconds, to its connection, from there, in all, and from its last byte to the first of its answer.
pub(super) fn gnuplot(records: &[Record], run_began: Timestamp, zone: &TimeZone) -> String {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record| record.total_us);
    let mut text = String::from("starttime\tseconds\tctime\tdtime\tttime\twait\n");
    for record in sorted {
        let began = began(record, run_began);
        let (connect, wait) = (milliseconds(record.connect_us), milliseconds(record.wait_us));
        let (processing, total) = (milliseconds(record.processing_us()), milliseconds(record.total_us));
        let date = began.to_zoned_datetime(zone.clone()).strftime("%a %b %d %H:%M:%S %Y");
        // Writing to a String can't fail.
        let _ = writeln!(text, "{date}\t{}\t{connect}\t{processing}\t{total}\t{wait}", began.as_second());
    }
    text
}

fn began(record: &Record, run_began: Timestamp) -> Timestamp {
    let began_ns = i64::try_from(record.ended_ns).unwrap_or(i64::MAX) - i64::from(record.total_us) * 1_000;
    // Far beyond what calendars know there is no better time than the run's beginning.
    run_began.checked_add(began_ns.nanoseconds()).unwrap_or(run_began)
}

/// A line for each percentile from 0 to 100, in milliseconds.
pub(super) fn csv(records: &[Record]) -> String {
    let mut totals: Vec<u32> = records.iter().map(|record| record.total_us).collect();
    totals.sort_unstable();
    let mut text = String::from("Percentage served,Time in ms\n");
    for percent in 0..=100 {
        let Some(value) = rounded_percentile(&totals, percent) else { break };
        let _ = writeln!(text, "{percent},{:.3}", f64::from(value) / 1_000.0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::record::tests::answered;

    #[test]
    fn a_line_tells_each_request_the_quickest_first() {
        let slow =
            Record { ended_ns: 5_000_000_000, connect_us: 400, wait_us: 900_000, ..answered(1_000_600) };
        let quick = Record { ended_ns: 31_000_000, connect_us: 100, wait_us: 400, ..answered(31_000) };
        let began = Timestamp::from_second(1_796_102_485).unwrap();
        let text = gnuplot(&[slow, quick], began, &TimeZone::UTC);
        let expected = "starttime\tseconds\tctime\tdtime\tttime\twait\n\
                        Tue Dec 01 05:21:25 2026\t1796102485\t0\t31\t31\t0\n\
                        Tue Dec 01 05:21:28 2026\t1796102488\t0\t1000\t1001\t900\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn percentiles_are_told_to_the_microsecond() {
        let records = [answered(30_861), answered(31_242)];
        let text = csv(&records);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 102);
        assert_eq!((lines[0], lines[1]), ("Percentage served,Time in ms", "0,30.861"));
        // From a quarter of two on, the second one is the nearest.
        assert_eq!((lines[25], lines[26], lines[101]), ("24,30.861", "25,31.242", "100,31.242"));
        assert_eq!(csv(&[]), "Percentage served,Time in ms\n");
    }
}
