//! Case 46: IPv6 literals, with a zone and without; Host never has the zone, and brackets are needed.

use std::sync::{Arc, Mutex};

use volley_e2e::{Reply, Report, Server, volley};

/// A server on `::1` that notes what Host said, and its port.
fn server() -> (Server, u16, Arc<Mutex<Vec<String>>>) {
    let hosts = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&hosts);
    let server = Server::start_on("::1", move |request| {
        let host = request.header("host").unwrap_or_default().to_owned();
        noted.lock().expect("nobody panicked").push(host);
        Reply::ok("hello")
    });
    let url = server.url("");
    let port =
        url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port at the end of the URL");
    (server, port, hosts)
}

fn check(url: impl Fn(u16) -> String) {
    let (server, port, hosts) = server();
    let outcome = volley(&[&url(port), "-n", "20", "-c", "2", "--json"]).exited(0);
    let report = Report::new(outcome.json()).checked();
    assert_eq!((report.count("ok"), server.requests()), (20, 20), "{report:?}");
    let hosts = hosts.lock().expect("nobody panicked");
    assert!(hosts.iter().all(|host| *host == format!("[::1]:{port}")), "{hosts:?}");
}

#[test]
fn case_46_ipv6_literal() {
    check(|port| format!("http://[::1]:{port}/"));
}

#[test]
fn case_46_ipv6_zone() {
    check(|port| format!("http://[::1%lo]:{port}/"));
    check(|port| format!("http://[::1%25lo]:{port}/"));
}

#[test]
fn case_46_ipv6_without_brackets() {
    let (server, port, _) = server();
    let outcome = volley(&[&format!("http://::1:{port}"), "-n", "20", "--json"]).exited(2);
    assert!(outcome.stderr.contains("brackets"), "{outcome:?}");
    assert_eq!(server.connections(), 0);
}
