//! Runs ab and `volley ab` with the same flags against the same server, one after the other.

use std::sync::{Arc, Mutex};

use volley_e2e::{Outcome, Reply, Request, Server, Then, ab, volley};

/// One program's run, and what the server saw of it.
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    pub(super) requests: Vec<Request>,
    pub(super) connections: u64,
}

/// What a server answers to the request of this number, counted from 0.
pub(super) type Script = fn(usize, &Request) -> Reply;

/// Both with the same flags; `{url}` in them is the server's, `{proxy}` its host and port.
pub(super) fn both(flags: &[&str], script: Script) -> (Seen, Seen) {
    (seen(flags, script, ab), seen(flags, script, volley_ab))
}

/// `volley ab` with these flags.
pub(super) fn volley_ab(flags: &[&str]) -> Outcome {
    volley(&[&["ab"], flags].concat())
}

pub(super) fn seen(flags: &[&str], script: Script, run: impl Fn(&[&str]) -> Outcome) -> Seen {
    let requests = Arc::<Mutex<Vec<Request>>>::default();
    let kept = Arc::clone(&requests);
    let server = Server::start(move |request| {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        script(kept.len() - 1, request)
    });
    let url = server.url("");
    let authority = url.trim_start_matches("http://");
    let flags: Vec<String> =
        flags.iter().map(|flag| flag.replace("{url}", &url).replace("{proxy}", authority)).collect();
    let outcome = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    // Both have a port of their own, which both reports name.
    let (_, port) = authority.split_once(':').expect("a port");
    let stdout = outcome.stdout.replace(port, "PORT");
    let connections = server.connections();
    drop(server);
    let requests = std::mem::take(&mut *requests.lock().unwrap());
    Seen { outcome: Outcome { stdout, ..outcome }, requests, connections }
}

/// An answer as a server gives it that knows HTTP/1.0: it says what becomes of the connection, and does so.
pub(super) fn answer(request: &Request, status: u16, body: &str) -> Reply {
    let keeps = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("keep-alive"));
    ended(request, status, body, keeps)
}

/// The same, whatever the client wants.
pub(super) fn ended(request: &Request, status: u16, body: &str, keeps: bool) -> Reply {
    let connection = if keeps { "keep-alive" } else { "close" };
    let length = body.len();
    let body = if request.method == "HEAD" { "" } else { body };
    let head = format!(
        "HTTP/1.1 {status} -\r\nServer: scripted/1.0 (test)\r\nContent-Length: {length}\r\nConnection: {connection}\r\n\r\n"
    );
    Reply::raw(head + body).then(if keeps { Then::Keep } else { Then::Close })
}

/// A request without what may differ: the order of header lines and the case of their names, and who sends, unless that is
/// given. The server's port is left out.
pub(super) fn told(request: &Request) -> String {
    let mut lines: Vec<String> = request
        .head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, value)| {
            name != "user-agent" || !(value.starts_with("Apache") || value.starts_with("volley/"))
        })
        .map(|(name, value)| {
            if name == "host" && value.starts_with("127.") {
                "host: ?".to_owned()
            } else {
                format!("{name}: {value}")
            }
        })
        .collect();
    lines.sort();
    let Request { method, path, version, body, .. } = request;
    format!("{method} {path} {version}\n{}\n{body:?}", lines.join("\n"))
}
