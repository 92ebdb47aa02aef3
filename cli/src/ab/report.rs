//! The report: from the records of single requests to ab's lines. Pure.

use std::fmt::Write as _;

use super::record::{End, Record};
use super::times::{PERCENTS, Spread, float, milliseconds, percentile};

/// What the report says besides the records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    /// The first word of the first answer's `Server`.
    pub(super) software: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<TlsLines>,
    /// Path and query.
    pub(super) path: String,
    pub(super) concurrency: u64,
    /// How long it took.
    pub(super) taken_s: f64,
    /// `-k`.
    pub(super) keeps_alive: bool,
    /// `-p` or `-u`.
    pub(super) sends_body: bool,
    /// `-l`.
    pub(super) lengths_may_differ: bool,
    /// Not `-S`.
    pub(super) shows_deviations: bool,
    /// Not `-d`.
    pub(super) shows_percentiles: bool,
}

/// What was settled for the first connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsLines {
    /// Version, cipher suite, bits of the certificate's key and of the cipher's.
    pub(super) protocol: String,
    /// The temporary key of the exchange, and its bits.
    pub(super) temp_key: Option<String>,
    /// The name that was asked for.
    pub(super) server_name: Option<String>,
}

/// What the records add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    document_bytes: u64,
    connect: u64,
    receive: u64,
    length: u64,
    exceptions: u64,
    write: u64,
    non_2xx: u64,
    kept: u64,
    received_bytes: u64,
    sent_bytes: u64,
    body_bytes: u64,
}

impl Sums {
    fn of(records: &[Record], lengths_may_differ: bool) -> Self {
        let whole = records.iter().filter(|record| record.end == End::Whole);
        let first = whole.min_by_key(|record| record.ended_ns);
        let document_bytes = first.map_or(0, |record| record.body_bytes);
        let mut sums = Self { document_bytes, ..Self::default() };
        for record in records {
            sums.add(record, lengths_may_differ);
        }
        sums
    }

    fn add(&mut self, record: &Record, lengths_may_differ: bool) {
        let failure = match record.end {
            End::Whole if lengths_may_differ || record.body_bytes == self.document_bytes => None,
            End::CutOff if lengths_may_differ => Some(&mut self.receive),
            End::Whole | End::CutOff => Some(&mut self.length),
            End::Connect => Some(&mut self.connect),
            End::Receive => Some(&mut self.receive),
            End::Write => Some(&mut self.write),
            End::Exception => Some(&mut self.exceptions),
        };
        if let Some(failure) = failure {
            *failure += 1;
        }
        self.non_2xx += u64::from(record.end == End::Whole && !record.is_2xx());
        self.kept += u64::from(record.is_kept);
        self.received_bytes += record.received_bytes;
        self.sent_bytes += record.sent_bytes;
        self.body_bytes += record.body_bytes;
    }

    /// Failed requests. Those that could not be written have a line of their own, as in ab.
    fn failed(&self) -> u64 {
        self.connect + self.receive + self.length + self.exceptions
    }
}

/// The whole report, from its two empty lines on.
pub(super) fn report(records: &[Record], setup: &Setup) -> String {
    let sums = Sums::of(records, setup.lengths_may_differ);
    let mut text = String::from("\n\n");
    server(&mut text, setup);
    document(&mut text, &sums, setup);
    counts(&mut text, records.len() as u64, &sums, setup);
    if !records.is_empty() {
        rates(&mut text, records.len() as u64, &sums, setup);
        connection_times(&mut text, records, setup.shows_deviations);
        if setup.shows_percentiles && records.len() > 1 {
            percentiles(&mut text, records);
        }
    }
    text
}

/// A label, and a value in the column of values.
fn line(text: &mut String, label: &str, value: impl std::fmt::Display) {
    // Writing to a String can't fail.
    let _ = writeln!(text, "{label:<24}{value}");
}

fn server(text: &mut String, setup: &Setup) {
    line(text, "Server Software:", &setup.software);
    line(text, "Server Hostname:", &setup.host);
    line(text, "Server Port:", setup.port);
    if let Some(tls) = &setup.tls {
        line(text, "SSL/TLS Protocol:", &tls.protocol);
        if let Some(key) = &tls.temp_key {
            line(text, "Server Temp Key:", key);
        }
        if let Some(name) = &tls.server_name {
            line(text, "TLS Server Name:", name);
        }
    }
    text.push('\n');
}

fn document(text: &mut String, sums: &Sums, setup: &Setup) {
    line(text, "Document Path:", &setup.path);
    if setup.lengths_may_differ {
        line(text, "Document Length:", "Variable");
    } else {
        line(text, "Document Length:", format_args!("{} bytes", sums.document_bytes));
    }
    text.push('\n');
}

fn counts(text: &mut String, done: u64, sums: &Sums, setup: &Setup) {
    line(text, "Concurrency Level:", setup.concurrency);
    line(text, "Time taken for tests:", format_args!("{:.3} seconds", setup.taken_s));
    line(text, "Complete requests:", done);
    line(text, "Failed requests:", sums.failed());
    if sums.failed() > 0 {
        let Sums { connect, receive, length, exceptions, .. } = sums;
        let _ = writeln!(
            text,
            "   (Connect: {connect}, Receive: {receive}, Length: {length}, Exceptions: {exceptions})"
        );
    }
    if sums.write > 0 {
        line(text, "Write errors:", sums.write);
    }
    if sums.non_2xx > 0 {
        line(text, "Non-2xx responses:", sums.non_2xx);
    }
    if setup.keeps_alive {
        line(text, "Keep-Alive requests:", sums.kept);
    }
    line(text, "Total transferred:", format_args!("{} bytes", sums.received_bytes));
    if setup.sends_body {
        line(text, "Total body sent:", sums.sent_bytes);
    }
    line(text, "HTML transferred:", format_args!("{} bytes", sums.body_bytes));
}

fn rates(text: &mut String, done: u64, sums: &Sums, setup: &Setup) {
    // No run is over in less than ab's clock would show.
    let taken_s = setup.taken_s.max(1e-6);
    let each_ms = taken_s * 1_000.0 / float(done);
    let kib_per_s = |bytes: u64| float(bytes) / 1_024.0 / taken_s;
    line(text, "Requests per second:", format_args!("{:.2} [#/sec] (mean)", float(done) / taken_s));
    let of_one_ms = each_ms * float(setup.concurrency);
    line(text, "Time per request:", format_args!("{of_one_ms:.3} [ms] (mean)"));
    let across = "(mean, across all concurrent requests)";
    line(text, "Time per request:", format_args!("{each_ms:.3} [ms] {across}"));
    let received = kib_per_s(sums.received_bytes);
    line(text, "Transfer rate:", format_args!("{received:.2} [Kbytes/sec] received"));
    if setup.sends_body {
        line(text, "", format_args!("{:.2} kb/s sent", kib_per_s(sums.sent_bytes)));
        let total = kib_per_s(sums.received_bytes + sums.sent_bytes);
        line(text, "", format_args!("{total:.2} kb/s total"));
    }
}

/// A row's label, what its warning calls it, and its value.
type Row = (&'static str, &'static str, fn(&Record) -> u32);

const ROWS: [Row; 4] = [
    ("Connect:", "initial connection time", |record| record.connect_us),
    ("Processing:", "processing time", Record::processing_us),
    ("Waiting:", "waiting time", |record| record.wait_us),
    ("Total:", "total time", |record| record.total_us),
];

fn connection_times(text: &mut String, records: &[Record], shows_deviations: bool) {
    text.push_str("\nConnection Times (ms)\n");
    text.push_str(if shows_deviations {
        "              min  mean[+/-sd] median   max\n"
    } else {
        "              min   avg   max\n"
    });
    let mut warnings = String::new();
    for (label, name, value) in ROWS {
        let mut values: Vec<u32> = records.iter().map(value).collect();
        let Some(spread) = Spread::of(&mut values) else { return };
        let (min, mean, max) = (milliseconds(spread.min_us), spread.mean_ms(), milliseconds(spread.max_us));
        if shows_deviations {
            let (deviation, median) = (spread.deviation_ms(), milliseconds(spread.median_us));
            let _ = writeln!(text, "{label:<12}{min:5} {mean:4} {deviation:5.1} {median:6} {max:7}");
            warn(&mut warnings, name, &spread);
        } else {
            let _ = writeln!(text, "{label:<12}{min:5} {mean:5}{max:5}");
        }
    }
    text.push_str(&warnings);
}

/// ab's words about a mean that lies far from its median.
fn warn(text: &mut String, name: &str, spread: &Spread) {
    let (skew, deviation) = (float(spread.skew_ms()), spread.deviation_ms());
    if skew > 2.0 * deviation {
        let _ = writeln!(
            text,
            "ERROR: The median and mean for the {name} are more than twice the standard\n       deviation apart. These \
             results are NOT reliable."
        );
    } else if skew > deviation {
        let _ = writeln!(
            text,
            "WARNING: The median and mean for the {name} are not within a normal deviation\n        These results are \
             probably not that reliable."
        );
    }
}

fn percentiles(text: &mut String, records: &[Record]) {
    let mut totals: Vec<u32> = records.iter().map(|record| record.total_us).collect();
    totals.sort_unstable();
    text.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in PERCENTS {
        let Some(value) = percentile(&totals, percent) else { return };
        let remark = if percent == 100 { " (longest request)" } else { "" };
        let _ = writeln!(text, "{percent:4}%  {:5}{remark}", milliseconds(value));
    }
}

#[cfg(test)]
mod tests;
