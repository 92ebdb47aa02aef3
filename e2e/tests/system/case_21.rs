//! Case 21: a request that takes too long fails at its time-out, once, and its connection is not used again.

use std::io;
use std::time::Duration;

use volley_e2e::zoo::{Cage, Talk, animal};
use volley_e2e::{Report, volley};

fn check(requests: u64, script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static) {
    let folder = tempfile::tempdir().expect("a folder");
    let cage = Cage::open(&animal("case 21", script), folder.path());
    let (url, n) = (format!("http://127.0.0.1:{}/", cage.port()), requests.to_string());
    let outcome = volley(&[&url, "-n", &n, "-c", "10", "-t", "1s", "--json"]).exited(1);
    let rounds = u32::try_from(requests / 10).expect("a few");
    assert!(outcome.took < Duration::from_millis(1_300) * rounds, "{:?}", outcome.took);
    let report = Report::new(outcome.json()).checked();
    let counted = (report.count("started"), report.count("ok"), report.errors("total_timeout"));
    assert_eq!(counted, (requests, 0, requests), "{report:?}");
    for percent in ["50", "100"] {
        let failed_ms = report.document()["whole"]["failed_latency_ms"][percent].as_f64();
        assert!(failed_ms.is_some_and(|ms| (1_000.0..1_050.0).contains(&ms)), "p{percent}: {report:?}");
    }
    assert_eq!((cage.counts().connections(), cage.counts().requests()), (requests, requests));
}

#[test]
fn case_21_timeout_within_the_body() {
    check(10, |talk| {
        talk.request()?;
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n")?;
        for _ in 0..50 {
            talk.send("x")?;
            talk.pause_ms(200);
        }
        Ok(())
    });
}

#[test]
fn case_21_timeout_before_the_first_byte() {
    check(20, |talk| {
        talk.request()?;
        talk.drain()
    });
}
