//! Case 22: nothing succeeded, and every report can be read.

use volley_e2e::{Fleet, Report, closed_port, volley};

use crate::play;

fn check(report: &Report) {
    let counted = (report.count("started"), report.count("failed"), report.errors("connect_refused"));
    assert_eq!(counted, (10, 10, 10), "{report:?}");
    assert_eq!(report.count("never_sent"), 10);
    assert_eq!(report.document()["whole"]["rate"].as_f64(), Some(0.0), "{report:?}");
    assert_eq!(report.document()["whole"]["error_rate"].as_f64(), Some(1.0));
    for percent in ["50", "90", "95", "99", "99.9", "100"] {
        assert_eq!(report.percentile_ms(percent), None, "p{percent}");
    }
    assert_eq!(report.text("verdict"), "invalid");
    assert!(report.text("sentence").contains("nothing succeeded"), "{report:?}");
}

#[test]
fn case_22_nothing_succeeded_in_one_process() {
    let url = format!("http://127.0.0.1:{}/", closed_port());
    let json = volley(&[&url, "-n", "10", "-c", "2", "--json"]).exited(1);
    check(&Report::new(json.json()).checked());
    let text = volley(&[&url, "-n", "10", "-c", "2"]).exited(1).stdout;
    for part in ["nothing succeeded", "10 × connection refused", "p50            –", "rate         0/s"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.to_lowercase().contains("nan"), "{text}");
}

#[test]
fn case_22_nothing_succeeded_on_an_agent() {
    let fleet = Fleet::start(1);
    let plan = format!("target: http://127.0.0.1:{}/\nusers: 2\nrequests: 10\n", closed_port());
    let report = play(&fleet.api(), 1, &plan);
    check(&report);
    for (page, part) in [("/", "invalid"), (&format!("/runs/{}", report.text("id")), "nothing succeeded")] {
        let (status, html) = fleet.api().ask(page);
        assert_eq!(status, 200, "{page}");
        assert!(html.contains(part) && !html.contains("NaN"), "{html}");
    }
}
