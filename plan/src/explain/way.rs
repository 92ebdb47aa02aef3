//! Whom a plan asks, and how its requests get there.

use super::rows::Rows;
use crate::model::{Connect, Destination, Family, HttpOptions, Model, Resolve, Tls, TlsVersion};
use crate::units::duration_in_words;
use crate::words::counted;
use crate::{Plan, Remote};

/// Most hosts and addresses that are named.
const MAX_NAMED: usize = 8;

pub(super) fn tell(plan: &Plan, rows: &mut Rows) {
    rows.tell("target", &plan.url());
    rows.tell("connections", &connections(plan));
    rows.list("", way(plan));
    if plan.target.is_tls() {
        rows.tell("TLS", &tls(&plan.http.tls, plan.target.host()));
    }
    if let Some(host) = &plan.http.host {
        rows.tell("Host", &format!("says {host} in place of {}", plan.target.authority()));
    }
    if let Some(name) = &plan.http.number_header {
        rows.tell("numbers", &format!("each request tells the number of its iteration in the header {name}"));
    }
    rows.tell("time-outs", &timeouts(&plan.http));
}

/// How many connections there are, and how long each is kept.
fn connections(plan: &Plan) -> String {
    let many = match (&plan.load.model, plan.http.connections) {
        (Model::Closed(_), _) => "each user has one of its own".to_owned(),
        (Model::Open(_), Some(most)) => {
            format!(
                "at most {}; a request waits for one, and that is part of its latency",
                counted(most.into(), "connection")
            )
        }
        (Model::Open(_), None) => "one for each request in flight".to_owned(),
    };
    let kept = if plan.http.keep_alive { "kept for further requests" } else { "closed after each request" };
    format!("{many}; {kept}")
}

/// Where connections go and come from, as far as the plan says it.
fn way(plan: &Plan) -> Vec<String> {
    let connect = &plan.http.connect;
    if let [Destination::Unix(path)] = plan.destinations().as_slice() {
        return vec![format!(
            "they go to the socket {} in place of the target's host and port",
            path.display()
        )];
    }
    let mut lines = Vec::new();
    if !connect.to.is_empty() {
        let to = named(connect.to.iter());
        lines.push(format!(
            "they go to {to} in place of the target's host and port, to all addresses in turn"
        ));
    }
    lines.extend(resolving(plan));
    lines.extend(family(connect.family).map(str::to_owned));
    if !connect.from.is_empty() {
        lines.push(format!("they come from {}, in turn", named(connect.from.iter())));
    }
    lines
}

/// How often names are resolved, where there is a name.
fn resolving(plan: &Plan) -> Option<String> {
    let Connect { resolve, .. } = plan.http.connect;
    let is_name = |destination: &Destination| match destination {
        Destination::Remote(remote) => Remote::ip(remote).is_none(),
        Destination::Unix(_) => false,
    };
    let often = match resolve {
        Resolve::Once => "once, before the run begins".to_owned(),
        Resolve::EachConnection => "for each connection, as a part of the request's latency".to_owned(),
        Resolve::Every(every) => format!("again after {}", duration_in_words(every)),
    };
    plan.destinations().iter().any(is_name).then(|| format!("names are resolved {often}"))
}

fn family(family: Family) -> Option<&'static str> {
    match family {
        Family::Any => None,
        Family::V4 => Some("only IPv4 addresses are used"),
        Family::V6 => Some("only IPv6 addresses are used"),
    }
}

fn named<T: ToString>(all: impl ExactSizeIterator<Item = T>) -> String {
    let more = all.len().saturating_sub(MAX_NAMED);
    let names: Vec<_> = all.take(MAX_NAMED).map(|one| one.to_string()).collect();
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

fn tls(tls: &Tls, host: &str) -> String {
    let verified = match (&tls.ca, tls.insecure) {
        (_, true) => "certificates are NOT verified".to_owned(),
        (ca, false) => {
            let by = ca.as_ref().map_or_else(
                || "this machine's trusted certificates".to_owned(),
                |ca| format!("those in {ca}"),
            );
            format!(
                "the certificate must be of {} and trusted by {by}",
                tls.server_name.as_deref().unwrap_or(host)
            )
        }
    };
    let mut text = verified;
    if let Some(certificate) = &tls.certificate {
        text += &format!("; the target is shown {certificate} where it asks for one");
    }
    if let [TlsVersion::V1_2 | TlsVersion::V1_3] = tls.versions.as_slice() {
        text +=
            &format!("; TLS {} only", tls.versions.iter().map(|version| version.name()).collect::<String>());
    }
    text + if tls.resumption { "" } else { "; a full handshake for each connection" }
}

fn timeouts(http: &HttpOptions) -> String {
    let time = duration_in_words;
    let mut text =
        format!("{} for a request, {} of it for connecting", time(http.timeout), time(http.connect_timeout));
    if let Some(first) = http.first_byte_timeout {
        text += &format!(", {} for the first byte", time(first));
    }
    if let Some(idle) = http.idle_timeout {
        text += &format!(", {} between two pieces of an answer", time(idle));
    }
    text
}
