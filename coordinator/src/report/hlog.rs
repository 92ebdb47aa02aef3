//! HdrHistogram's interval log, version 1.3: a histogram for each second or minute of the measured part and each measure,
//! which is told by its tag. Values are nanoseconds, the third number of a line (the greatest value) is milliseconds, and
//! times are seconds of run time from `BaseTime` on.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag};
use hdrhistogram::{Counter, Histogram as Hdr};
use jiff::Timestamp;
use volley_stats::{DIGITS, HIGHEST_NS, LOWEST_NS, Timed, TotalRow};

use super::{Interval, Recording, RenderError};
use crate::fleet::VERSION;

type Writer<'a, 'b> = IntervalLogWriter<'a, 'b, Vec<u8>, V2DeflateSerializer>;

/// The log.
pub(super) fn text(recording: &Recording) -> Result<String, RenderError> {
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let begun = begun(recording);
    let mut head = IntervalLogWriterBuilder::new();
    head.add_comment("[Histogram log format version 1.3]");
    head.add_comment(&format!(
        "[Logged by volley {VERSION}, run {}; values in nanoseconds, maxima in milliseconds]",
        recording.document.id
    ));
    head.with_start_time(begun).with_base_time(begun).with_max_value_divisor(1e6);
    let mut writer = head.begin_log_with(&mut bytes, &mut serializer).map_err(failed)?;
    for interval in &recording.intervals {
        write_interval(&mut writer, interval)?;
    }
    String::from_utf8(bytes).map_err(failed)
}

/// Run time 0.
fn begun(recording: &Recording) -> SystemTime {
    let document = &recording.document;
    let told = document.started_at.as_ref().unwrap_or(&document.created_at);
    let since_epoch =
        told.parse::<Timestamp>().map_or(0, |at| u64::try_from(at.as_millisecond()).unwrap_or(0));
    SystemTime::UNIX_EPOCH + Duration::from_millis(since_epoch)
}

/// A line for the latency, even where nothing ended in this time, and for whatever else was measured.
fn write_interval(writer: &mut Writer<'_, '_>, interval: &Interval) -> Result<(), RenderError> {
    let row: TotalRow = interval.row.open()?;
    match row.latency.hdr() {
        Some(hdr) => write(writer, interval, "latency", hdr)?,
        None => write(writer, interval, "latency", &nothing()?)?,
    }
    let others = [
        ("service_time", row.service_time.hdr()),
        ("failed_latency", row.failed_latency.hdr()),
        ("cancelled_age", row.cancelled_age.hdr()),
        ("lag", row.timing.of(Timed::Lag).hdr()),
    ];
    for (name, hdr) in others {
        hdr.map_or(Ok(()), |hdr| write(writer, interval, name, hdr))?;
    }
    Ok(())
}

fn write<C: Counter>(
    writer: &mut Writer<'_, '_>,
    interval: &Interval,
    tag: &'static str,
    histogram: &Hdr<C>,
) -> Result<(), RenderError> {
    let seconds = |s: u32| Duration::from_secs(s.into());
    let Range { start, end } = interval.seconds;
    let (from, length) = (seconds(start), seconds(end - start));
    writer.write_histogram(histogram, from, length, Tag::new(tag)).map_err(failed)
}

fn nothing() -> Result<Hdr<u64>, RenderError> {
    Hdr::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "so that `map_err` takes it")]
fn failed(error: impl ToString) -> RenderError {
    RenderError::Histogram(error.to_string())
}
