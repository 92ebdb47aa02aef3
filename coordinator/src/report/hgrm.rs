//! HdrHistogram's percentile distribution as text, in milliseconds: what its plotter and many others read. The format is
//! that of `outputPercentileDistribution` of its Java library.

use std::fmt::Write as _;

use volley_stats::{DIGITS, Histogram};

use super::distribution::{Point, distribution};
use crate::document::ns_to_ms;

/// The text.
pub(super) fn text(histogram: &Histogram<u64>) -> String {
    let mut text =
        format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for point in distribution(histogram) {
        text += &line(point);
    }
    // Writing to a String can't fail.
    let _ = write!(text, "{}", foot(histogram));
    text
}

/// One percentile. The last has no number of nines.
fn line(Point { share, value_ns, count }: Point) -> String {
    let value_ms = ns_to_ms(value_ns);
    let nines = if share < 1.0 { format!(" {:>14.2}", 1.0 / (1.0 - share)) } else { String::new() };
    format!("{value_ms:>12.3} {share:>14.12} {count:>10}{nines}\n")
}

fn foot(histogram: &Histogram<u64>) -> String {
    let mean_ms = histogram.mean_ns().unwrap_or(0.0) / 1e6;
    let deviation_ms = histogram.hdr().map_or(0.0, |hdr| hdr.stdev() / 1e6);
    let max_ms = histogram.max_ns().map_or(0.0, ns_to_ms);
    let buckets = histogram.hdr().map_or(0, hdrhistogram::Histogram::buckets);
    let series = (2 * 10_u64.pow(DIGITS.into())).next_power_of_two();
    format!(
        "#[Mean    = {mean_ms:>12.3}, StdDeviation   = {deviation_ms:>12.3}]\n\
         #[Max     = {max_ms:>12.3}, Total count    = {:>12}]\n\
         #[Buckets = {buckets:>12}, SubBuckets     = {series:>12}]\n",
        histogram.count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_hdrhistogram_writes_it() {
        let mut histogram = Histogram::<u64>::default();
        for ms in [1, 1, 2, 4] {
            histogram.record(ms * 1_000_000);
        }
        let text = text(&histogram);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[2], "       1.000 0.000000000000          2           1.00");
        assert!(lines.contains(&"       1.000 0.500000000000          2           2.00"), "{text}");
        assert_eq!(lines[lines.len() - 4], "       4.000 1.000000000000          4");
        assert_eq!(lines[lines.len() - 3], "#[Mean    =        2.000, StdDeviation   =        1.225]");
        assert_eq!(lines[lines.len() - 2], "#[Max     =        4.000, Total count    =            4]");
        assert_eq!(lines[lines.len() - 1], "#[Buckets =           28, SubBuckets     =         2048]");
    }

    #[test]
    fn of_nothing_there_is_a_head_and_a_foot() {
        let text = text(&Histogram::default());
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("Total count    =            0]") && !text.contains("NaN"), "{text}");
    }
}
