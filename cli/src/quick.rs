//! `volley URL`: a run from flags that people know from hey, oha and curl.

mod body;
mod connect;
pub(crate) mod files;
mod tls;

use std::num::{NonZeroU64, NonZeroUsize};

use clap::Args;
use volley_agent::Spin;
use volley_plan::{Model, Plan, QuickPlan};

use crate::access::AllowOptions;
use crate::exit::{Exit, Failure};
use crate::run::{EngineOptions, TellOptions};
use crate::{output, run};
use body::{BodyOptions, QuickBody};
use connect::ConnectOptions;
pub(crate) use connect::basic_authorization;
use tls::TlsOptions;

/// The flags.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The URL to load
    url: Option<String>,
    /// Connections. Without a rate each sends its next request once it has its answer [default: 50]; with one it is the
    /// most that are open, and requests wait for one
    #[arg(short, value_name = "N")]
    connections: Option<NonZeroU64>,
    /// Requests a second in all, sent when they are due whether or not answers come; also as 90/m or 5000/h
    #[arg(short = 'q', long, value_name = "RATE")]
    rate: Option<String>,
    /// Requests to send, exactly
    #[arg(short = 'n', value_name = "N")]
    requests: Option<NonZeroU64>,
    /// How long to send; requests in flight at its end are cut off and counted so [default: 10s without -n]
    #[arg(short = 'z', value_name = "DURATION")]
    duration: Option<String>,
    /// How long to send before measuring begins; its requests are counted apart
    #[arg(long, value_name = "DURATION")]
    warmup: Option<String>,
    /// How requests of a rate follow each other: uniform or poisson [default: uniform]
    #[arg(long, value_name = "KIND", requires = "rate")]
    arrivals: Option<String>,
    /// Requests of a rate that may be in flight; those that are due beyond are missed [default: by rate and time-out]
    #[arg(long, value_name = "N", requires = "rate")]
    max_in_flight: Option<NonZeroU64>,
    /// The request method
    #[arg(short, visible_short_alias = 'X', value_name = "METHOD")]
    method: Option<String>,
    /// The version that requests are sent in, 1.0 or 1.1 [default: 1.1]
    #[arg(long, value_name = "VERSION")]
    http_version: Option<String>,
    /// A header line, as often as needed
    #[arg(short = 'H', value_name = "NAME: VALUE")]
    headers: Vec<String>,
    #[command(flatten)]
    body: BodyOptions,
    /// The body's content type
    #[arg(short = 'T', value_name = "TYPE")]
    content_type: Option<String>,
    /// The most that a request may take; a bare number is seconds [default: 10s]
    #[arg(short, value_name = "DURATION")]
    timeout: Option<String>,
    /// A connection for each request
    #[arg(long, visible_alias = "disable-keepalive")]
    no_keep_alive: bool,
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Whether to keep a processor awake while few requests are in flight: auto, on or off
    #[arg(long, value_name = "WHEN", default_value_t)]
    spin: Spin,
    #[command(flatten)]
    allow: AllowOptions,
    #[command(flatten)]
    told: TellOptions,
    // Last, since what follows would stand under their headings.
    #[command(flatten)]
    tls: TlsOptions,
    #[command(flatten)]
    connect: ConnectOptions,
}

/// Runs it in this process.
pub(crate) fn main(options: Options) -> Result<Exit, Failure> {
    let (workers, spin) = (options.workers, options.spin);
    let engine = EngineOptions { workers, spin, files: Some(files::FOLDER.into()), listener: None };
    let told = options.told.clone();
    let allow = options.allow.list_here()?;
    let plan = plan(options)?;
    let model = match plan.load.model {
        Model::Closed(_) => "each user sends again once it has its answer",
        Model::Open(_) => "requests are sent when they are due, and latency counts from then",
    };
    if !told.is_quiet() {
        output::say(&format!("{}, at {}: {model}", plan.load_in_words(), plan.url()));
    }
    run::in_this_process(plan, engine, allow, &told)
}

fn plan(options: Options) -> Result<Plan, Failure> {
    let url =
        options.url.ok_or_else(|| Failure::new(Exit::Usage, "there is no URL; `volley --help` shows how"))?;
    let ask_first = options.body.ask_first.clone().map(|text| with_unit(text, "s"));
    let QuickBody { text, file, size } = options.body.quick()?;
    let content_type = options.content_type.map(|kind| format!("content-type: {kind}"));
    let connections = options.connections.map(NonZeroU64::get);
    let seconds = |text: &Option<String>| text.clone().map(|text| with_unit(text, "s"));
    let quick = QuickPlan {
        url,
        users: connections.filter(|_| options.rate.is_none()),
        connections: connections.filter(|_| options.rate.is_some()),
        rate: options.rate.map(|rate| with_unit(rate, "/s")),
        warmup: options.warmup.map(|text| with_unit(text, "s")),
        arrivals: options.arrivals,
        max_in_flight: options.max_in_flight.map(NonZeroU64::get),
        requests: options.requests.map(NonZeroU64::get),
        duration: options.duration.map(|text| with_unit(text, "s")),
        http_version: options.http_version,
        method: options.method,
        headers: options.headers.into_iter().chain(content_type).collect(),
        body: text,
        body_file: file,
        body_size: size,
        ask_first,
        host: options.connect.host.clone(),
        connect_timeout: seconds(&options.connect.connect_timeout),
        first_byte_timeout: seconds(&options.connect.first_byte_timeout),
        idle_timeout: seconds(&options.connect.idle_timeout),
        tls: options.tls.quick()?,
        connect: options.connect.quick()?,
        keep_alive: options.no_keep_alive.then_some(false),
        timeout: options.timeout.map(|text| with_unit(text, "s")),
        ..QuickPlan::default()
    };
    quick.into_plan().map_err(|faults| Failure::new(Exit::Usage, faults.to_string()))
}

/// hey takes `-t 20` as seconds and oha `-q 100` as requests a second, and so do people's scripts.
fn with_unit(text: String, unit: &str) -> String {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare { text + unit } else { text }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;
    use volley_plan::parse;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    /// The words make the plan that the lines of a file would.
    fn check(words: &[&str], lines: &str) {
        let line = Line::try_parse_from(["volley"].iter().chain(words)).unwrap();
        let made = plan(line.options).map_err(|failure| failure.error.to_string()).unwrap();
        assert_eq!(made, parse(&format!("requests: 1\nusers: 50\n{lines}")).unwrap(), "{words:?}");
    }

    #[test]
    fn words_make_the_plan_that_a_file_would() {
        check(&["http://h/", "-n", "1", "-t", "7"], "target: http://h/\ntimeout: 7s");
        let times = ["--connect-timeout", "1", "--first-byte-timeout", "2s", "--idle-timeout", "300ms"];
        check(
            &[&["http://h/", "-n1", "-d", "a", "--ask-first=2"], times.as_slice()].concat(),
            "target: http://h/\nbody: a\nask_first: 2s\nconnect_timeout: 1s\nfirst_byte_timeout: 2s\nidle_timeout: 300ms",
        );
        check(&["http://h/", "-n1", "--body-size", "1KiB"], "target: http://h/\nbody_size: 1KiB");
        check(
            &["https://h/", "-n1", "-k", "--tls-version", "1.2", "--host", "a:1", "--server-name", "b"],
            "target: https://h/\nhost: a:1\ntls: { insecure: true, versions: 1.2, server_name: b }",
        );
        check(
            &[
                "http://h/",
                "-n1",
                "--connect-to",
                "a:1",
                "--connect-to=b:2",
                "-6",
                "--resolve",
                "30",
                "--source=::1",
            ],
            "target: http://h/\nconnect: { to: ['a:1', 'b:2'], family: 6, resolve: 30s, from: '::1' }",
        );
        check(
            &["http://h/", "-n1", "--unix-socket", "/run/a.sock"],
            "target: http://h/\nconnect: { unix: /run/a.sock }",
        );
        check(
            &["http://h/", "-n1", "-x", "http://u:p@p:3128", "--http-version", "1.0"],
            "target: http://h/\nhttp_version: 1.0\nconnect: { proxy: 'p:3128', proxy_authorization: Basic dTpw }",
        );
    }

    #[test]
    fn files_are_named_from_the_root_and_pipes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::canonicalize(folder.path()).unwrap().join("a.bin");
        fs::write(&file, [0, 255]).unwrap();
        let (path, name) = (file.to_str().unwrap(), &file.to_str().unwrap()[1..]);
        check(&["http://h/", "-n1", "-D", path], &format!("target: http://h/\nbody_file: {name}"));
        check(&["http://h/", "-n1", "-D", "/dev/null"], "target: http://h/\nbody: ''");
        check(
            &["https://h/", "-n1", "--cacert", path, "--cert", path, "--key", path],
            &format!("target: https://h/\ntls: {{ ca: {name}, certificate: {name}, key: {name} }}"),
        );
        let line = Line::try_parse_from(["volley", "https://h/", "--cacert", "/nowhere/ca.pem"]).unwrap();
        let failure = plan(line.options).map(|_| ()).unwrap_err();
        assert!(failure.exit == Exit::Usage && failure.error.to_string().contains("/nowhere/ca.pem"));
    }
}
