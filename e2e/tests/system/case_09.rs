//! Case 9: a kept connection that the target closes is replaced, which is nobody's failure; a request that may have been
//! seen is not sent again.

use std::io;

use volley_e2e::zoo::{Cage, Talk, animal};
use volley_e2e::{Report, volley_run};

/// The reply of the target.
const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const GET: &str = "get: /";
const POST: &str = "{ post: /, body: hello }";

/// Twenty requests of one user who thinks for 60 ms after each.
fn ask(
    step: &str,
    script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
) -> (Report, u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let cage = Cage::open(&animal("case 9", script), folder.path());
    let plan = format!(
        "target: http://127.0.0.1:{}\nload: {{ stages: [{{ users: 1 }}], iterations: 20 }}\n\
         scenarios: {{ case: {{ steps: [{step}, {{ think: 60ms }}] }} }}\n",
        cage.port()
    );
    let report = Report::new(volley_run(&plan, folder.path()).json()).checked();
    assert_eq!(report.count("connections_opened"), cage.counts().connections(), "{report:?}");
    (report, cage.counts().connections(), cage.counts().requests())
}

/// Answers, and closes the idle connection 50 ms later.
fn closes_idle(talk: &mut Talk) -> io::Result<()> {
    talk.request()?;
    talk.send(HELLO)?;
    talk.pause_ms(50);
    talk.close()
}

#[test]
fn case_09_idle_close_is_no_failure() {
    let (report, connections, requests) = ask(&format!("{{ {GET} }}"), closes_idle);
    assert_eq!(
        (report.count("ok"), report.count("failed"), connections, requests),
        (20, 0, 20, 20),
        "{report:?}"
    );
    // The last one is closed by whom it may.
    assert!((19..=20).contains(&report.count("connections_closed")), "{report:?}");
    assert_eq!(report.count("connections_reused"), 0, "{report:?}");
}

#[test]
fn case_09_idle_close_is_no_failure_of_a_post() {
    // It closes at once, so that no request can meet the end: that one would rightly fail.
    let (report, connections, requests) = ask(POST, |talk| {
        talk.request()?;
        talk.send(HELLO)?;
        talk.close()
    });
    assert_eq!(
        (report.count("ok"), report.count("failed"), connections, requests),
        (20, 0, 20, 20),
        "{report:?}"
    );
}

#[test]
fn case_09_control_a_fresh_connection() {
    for step in [&format!("{{ {GET} }}"), POST] {
        let (report, connections, requests) = ask(step, |talk| {
            talk.request()?;
            talk.close()
        });
        assert_eq!((report.errors("closed_early"), report.count("resent")), (20, 0), "{report:?}");
        assert_eq!((connections, requests), (20, 20), "{report:?}");
    }
}

/// Each connection's second request is read, and the connection closed.
fn closes_at_the_second(talk: &mut Talk) -> io::Result<()> {
    talk.request()?;
    talk.send(HELLO)?;
    talk.request()?;
    talk.close()
}

#[test]
fn case_09_control_a_get_is_sent_again_once() {
    let (report, connections, requests) = ask(&format!("{{ {GET} }}"), closes_at_the_second);
    assert_eq!((report.count("ok"), report.count("resent")), (20, 19), "{report:?}");
    assert_eq!((connections, requests), (20, 39), "{report:?}");
}

#[test]
fn case_09_control_a_post_is_never_sent_again() {
    let (report, connections, requests) = ask(POST, closes_at_the_second);
    assert_eq!(
        (report.count("ok"), report.errors("closed_early"), report.count("resent")),
        (10, 10, 0),
        "{report:?}"
    );
    assert_eq!((connections, requests), (10, 20), "{report:?}");
}
