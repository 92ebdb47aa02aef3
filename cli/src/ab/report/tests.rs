//! Reports against lines worked out by hand.

use super::*;
use crate::ab::record::tests::answered;

fn setup() -> Setup {
    Setup {
        software: "srv/1".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: 8080,
        tls: None,
        path: "/a?b".to_owned(),
        concurrency: 2,
        taken_s: 0.5,
        keeps_alive: false,
        sends_body: false,
        lengths_may_differ: false,
        shows_deviations: true,
        shows_percentiles: true,
    }
}

#[test]
fn a_report_has_abs_lines() {
    let record = |connect_us, wait_us, total_us| Record { connect_us, wait_us, ..answered(total_us) };
    let records = [record(400, 9_000, 10_000), record(0, 29_700, 30_000), record(1_600, 18_000, 20_000)];
    let expected = "

Server Software:        srv/1
Server Hostname:        127.0.0.1
Server Port:            8080

Document Path:          /a?b
Document Length:        5 bytes

Concurrency Level:      2
Time taken for tests:   0.500 seconds
Complete requests:      3
Failed requests:        0
Total transferred:      231 bytes
HTML transferred:       15 bytes
Requests per second:    6.00 [#/sec] (mean)
Time per request:       333.333 [ms] (mean)
Time per request:       166.667 [ms] (mean, across all concurrent requests)
Transfer rate:          0.45 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   0.8      1       2
Processing:    10   19  10.2     24      30
Waiting:        9   19  10.4     24      30
Total:         10   20  10.0     25      30

Percentage of the requests served within a certain time (ms)
  50%     20
  66%     20
  75%     30
  80%     30
  90%     30
  95%     30
  98%     30
  99%     30
 100%     30 (longest request)
";
    assert_eq!(report(&records, &setup()), expected);
}

/// The report of these records without what the others check; lines that are wanted stand in it, lines that aren't don't.
fn check(records: &[Record], setup: &Setup, wanted: &[&str], unwanted: &[&str]) {
    let text = report(records, setup);
    let has = |line: &&&str| text.contains(&format!("\n{line}\n"));
    let missing: Vec<_> = wanted.iter().filter(|line| !has(line)).collect();
    assert!(missing.is_empty(), "{missing:?} in {text}");
    let there: Vec<_> = unwanted.iter().filter(|part| text.contains(**part)).collect();
    assert!(there.is_empty(), "{there:?} in {text}");
}

#[test]
fn failures_are_told_apart_and_each_counts_once() {
    let end = |end| Record { end, status: 0, body_bytes: 2, received_bytes: 10, ..answered(1) };
    let odd = Record { body_bytes: 6, status: 404, ended_ns: 9, ..answered(1) };
    let records = [
        answered(1),
        odd,
        end(End::CutOff),
        end(End::Connect),
        end(End::Receive),
        end(End::Receive),
        end(End::Exception),
        end(End::Write),
    ];
    check(
        &records,
        &setup(),
        &[
            "Complete requests:      8",
            "Failed requests:        6",
            "   (Connect: 1, Receive: 2, Length: 2, Exceptions: 1)",
            "Write errors:           1",
            "Non-2xx responses:      1",
            "Total transferred:      214 bytes",
            "HTML transferred:       23 bytes",
        ],
        &["Keep-Alive", "body sent", "kb/s"],
    );
    check(
        &records,
        &Setup { lengths_may_differ: true, ..setup() },
        &["Document Length:        Variable", "   (Connect: 1, Receive: 3, Length: 0, Exceptions: 1)"],
        &[],
    );
}

#[test]
fn the_document_is_the_first_whole_one() {
    let at = |ended_ns, body_bytes| Record { ended_ns, body_bytes, ..answered(1) };
    let cut = Record { end: End::CutOff, ..at(1, 1) };
    let lines = ["Document Length:        7 bytes", "   (Connect: 0, Receive: 0, Length: 2, Exceptions: 0)"];
    check(&[at(30, 5), cut, at(20, 7), at(40, 7)], &setup(), &lines, &[]);
    check(&[cut], &setup(), &["Document Length:        0 bytes"], &[]);
}

#[test]
fn keep_alive_and_bodies_have_lines_of_their_own() {
    let kept = Record { is_kept: true, ..answered(1) };
    check(
        &[kept, kept, answered(1), answered(1)],
        &Setup { keeps_alive: true, sends_body: true, ..setup() },
        &[
            "Keep-Alive requests:    2",
            "Total transferred:      308 bytes",
            "Total body sent:        320",
            "HTML transferred:       20 bytes",
            "Transfer rate:          0.60 [Kbytes/sec] received",
            "                        0.62 kb/s sent",
            "                        1.23 kb/s total",
        ],
        &["Failed requests:        1", "Non-2xx"],
    );
}

#[test]
fn a_published_keep_alive_report_adds_up() {
    // A report of ab's has 11,088 bytes for these.
    let records = vec![Record { body_bytes: 11, ..answered(1) }; 1_000];
    check(&records, &setup(), &["HTML transferred:       11000 bytes", "Complete requests:      1000"], &[]);
}

#[test]
fn tls_is_told_of() {
    let tls = |temp_key: Option<&str>, server_name: Option<&str>| {
        let protocol = "TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256".to_owned();
        let (temp_key, server_name) = (temp_key.map(str::to_owned), server_name.map(str::to_owned));
        Setup { tls: Some(TlsLines { protocol, temp_key, server_name }), ..setup() }
    };
    let protocol = "SSL/TLS Protocol:       TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256";
    let (key, name) = ("Server Temp Key:        X25519 253 bits", "TLS Server Name:        h.test");
    check(&[answered(1)], &tls(Some("X25519 253 bits"), Some("h.test")), &[protocol, key, name], &[]);
    check(&[answered(1)], &tls(None, None), &[protocol], &["Temp Key", "TLS Server"]);
}

#[test]
fn nothing_done_is_told_without_rates_and_tables() {
    let lines =
        ["Complete requests:      0", "Document Length:        0 bytes", "HTML transferred:       0 bytes"];
    check(&[], &setup(), &lines, &["Requests per second", "Connection Times", "Percentage"]);
    assert!(report(&[], &setup()).ends_with("HTML transferred:       0 bytes\n"));
}

#[test]
fn tables_are_left_out_as_asked() {
    let records = [answered(1_234_400); 3];
    let short = Setup { shows_deviations: false, shows_percentiles: false, ..setup() };
    let row = "Total:       1234  1234 1234";
    check(&records, &short, &["              min   avg   max", row], &["median", "Percentage"]);
    // One request has no percentiles.
    check(&records[..1], &setup(), &["Total:       1234 1234   0.0   1234    1234"], &["Percentage"]);
    let long = Record { connect_us: 0, ..answered(11_200_500) };
    check(&[long], &setup(), &["Total:      11201 11201   0.0  11201   11201"], &[]);
}

#[test]
fn means_far_from_their_medians_are_warned_of() {
    let error = "ERROR: The median and mean for the total time are more than twice the standard\n       deviation apart. \
                 These results are NOT reliable.";
    let warning = "WARNING: The median and mean for the total time are not within a normal deviation\n        These \
                   results are probably not that reliable.";
    // Shown as a mean of 0 and a median of 1 beside a deviation of 0.148.
    check(&[answered(300), answered(510)], &setup(), &[error], &["WARNING"]);
    // The same beside one of 0.601.
    check(&[answered(0), answered(850)], &setup(), &[warning], &["ERROR", "initial connection time"]);
    check(&[answered(1_000), answered(9_000), answered(11_000)], &setup(), &[], &["WARNING", "ERROR"]);
    let plain = Setup { shows_deviations: false, ..setup() };
    check(&[answered(300), answered(510)], &plain, &[], &["ERROR"]);
}
