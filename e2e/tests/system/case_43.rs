//! Case 43: an answer that comes before the whole request is there is the answer.

use std::io;
use std::time::Duration;

use volley_e2e::zoo::{Cage, Talk, animal};
use volley_e2e::{Report, volley_run};

/// Twenty POSTs of 10 MiB, of which the target reads the heads, answers 413, and ends the connection so.
fn ask(end: fn(&mut Talk) -> io::Result<()>) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let early = animal("case 43", move |talk| {
        talk.head()?;
        talk.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno\n")?;
        end(talk)
    });
    let cage = Cage::open(&early, folder.path());
    let plan = format!(
        "target: http://127.0.0.1:{}/\nmethod: POST\nbody_size: 10MiB\nusers: 4\nrequests: 20\n",
        cage.port()
    );
    let outcome = volley_run(&plan, folder.path()).exited(1);
    assert!(outcome.took < Duration::from_secs(10), "{:?}", outcome.took);
    let report = Report::new(outcome.json()).checked();
    assert_eq!((report.count("started"), report.count("failed")), (20, 20), "{report:?}");
    assert_eq!((cage.counts().connections(), cage.counts().requests()), (20, 20), "{report:?}");
    report
}

#[test]
fn case_43_early_answer_and_close() {
    let report = ask(Talk::close);
    let counted =
        (report.statuses(413), report.errors("status"), report.errors("write"), report.errors("reset"));
    assert_eq!(counted, (20, 20, 0, 0), "{report:?}");
}

#[test]
fn case_43_early_answer_and_reset() {
    let report = ask(Talk::reset);
    assert_eq!(report.statuses(413) + report.errors("reset"), 20, "{report:?}");
    assert_eq!(report.statuses(413), report.errors("status"), "{report:?}");
}
