//! Where connections go and come from: `connect`.

use crate::model::{
    Connect, Destination, Family, MAX_DESTINATIONS, MAX_SOURCES, MAX_UNIX_BYTES, Proxy, Remote, Resolve,
    Target,
};
use crate::parse::cursor::{Cursor, Wrong};
use crate::parse::fault::{Collector, Told, shown};
use crate::parse::headers;
use crate::parse::measures::DAY;
use crate::parse::section::{Keys, Section};
use crate::units::{format_duration, parse_duration};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

const CONNECT: Keys = Keys {
    known: &[&["to", "unix", "proxy", "proxy_authorization", "family", "resolve", "from"]],
    later: &[],
    belongs: &[],
    elsewhere: &[
        ("connect_to", "to"),
        ("unix_socket", "unix"),
        ("socket", "unix"),
        ("ip_version", "family"),
        ("source", "from"),
        ("dns", "resolve"),
    ],
};

/// How long what a name leads to may be known.
const EVERY: RangeInclusive<Duration> = Duration::from_secs(1)..=DAY;

/// What `top`, which is the section that `connect` stands in, says of a target, if that could be read.
pub(super) fn read(
    top: &Section<'_>,
    target: Option<&Target>,
    faults: &mut Collector,
) -> Result<Connect, Told> {
    let Some(cursor) = top.get("connect") else { return Ok(Connect::default()) };
    let section = Section::open(cursor, &CONNECT, faults)?;
    let defaults = Connect::default();
    let lone = check_unix(&section, faults).and(check_proxy(&section, faults));
    let to = section.or_default("to", defaults.to, |cursor| to(cursor, faults));
    let unix = section.optional("unix", |cursor| unix(cursor, faults));
    let proxy = proxy(&section, faults);
    let family = section.or_default("family", defaults.family, |cursor| cursor.family(faults));
    let resolve = section.or_default("resolve", defaults.resolve, |cursor| cursor.resolve(faults));
    let from = section.or_default("from", defaults.from, |cursor| from(cursor, faults));
    lone?;
    let (to, unix, proxy) = (to?, unix?, proxy?);
    let connect = Connect { to, unix, proxy, family: family?, resolve: resolve?, from: from? };
    match target {
        Some(target) => check_use(&section, &connect, target, faults).map(|()| connect),
        None => Ok(connect),
    }
}

/// A socket has no name, no address and no port.
fn check_unix(section: &Section<'_>, faults: &mut Collector) -> Result<(), Told> {
    if section.get("unix").is_none() {
        return Ok(());
    }
    let others =
        ["to", "proxy", "family", "resolve", "from"].into_iter().filter(|key| section.get(key).is_some());
    let told: Vec<_> = others
        .map(|key| {
            let beside = section.fault_of(key, "stands beside `unix`, which has no address");
            faults.report(beside.expected(format!("either `{key}` or `unix`")))
        })
        .collect();
    told.first().map_or(Ok(()), |told| Err(*told))
}

/// A proxy is where connections go.
fn check_proxy(section: &Section<'_>, faults: &mut Collector) -> Result<(), Told> {
    if section.has("to") && section.has("proxy") {
        let beside = section.fault_of("to", "stands beside `proxy`, which is where connections go");
        return Err(faults.report(beside.expected("either `to` or `proxy`")));
    }
    if section.has("proxy_authorization") && !section.has("proxy") {
        let alone = section.fault_of("proxy_authorization", "stands without `proxy`");
        return Err(faults.report(alone.expected("`proxy`, which is told this, beside it")));
    }
    Ok(())
}

fn proxy(section: &Section<'_>, faults: &mut Collector) -> Result<Option<Proxy>, Told> {
    let at = section.optional("proxy", |cursor| remote(cursor, faults));
    let authorization = section.optional("proxy_authorization", |cursor| headers::read_value(cursor, faults));
    let (at, authorization) = (at?, authorization?);
    Ok(at.map(|at| Proxy { at, authorization }))
}

/// Whether each key has something that it bears on.
fn check_use(
    section: &Section<'_>,
    connect: &Connect,
    target: &Target,
    faults: &mut Collector,
) -> Result<(), Told> {
    let remotes: Vec<_> = connect
        .destinations(target)
        .into_iter()
        .filter_map(|destination| match destination {
            Destination::Remote(remote) => Some(remote),
            Destination::Unix(_) => None,
        })
        .collect();
    let literals = || remotes.iter().filter_map(Remote::ip);
    let has_names = literals().count() < remotes.len();
    let family = check_family(section, connect.family, literals(), faults);
    let is_reached = |ip: IpAddr| has_names || literals().any(|literal| literal.is_ipv4() == ip.is_ipv4());
    let from = check_from(section, connect, is_reached, faults);
    let resolve = if has_names || section.get("resolve").is_none() || connect.unix.is_some() {
        Ok(())
    } else {
        let idle = section.fault_of("resolve", "stands where only addresses are connected to");
        Err(faults.report(idle.expected("a name to resolve, or no `resolve`")))
    };
    family.and(from).and(resolve)
}

/// An address of another family would never be connected to.
fn check_family(
    section: &Section<'_>,
    family: Family,
    mut literals: impl Iterator<Item = IpAddr>,
    faults: &mut Collector,
) -> Result<(), Told> {
    let Some(excluded) = literals.find(|ip| !family.holds(*ip)) else { return Ok(()) };
    let other = if excluded.is_ipv4() { "4" } else { "6" };
    let fault = section.fault_of("family", format!("excludes {excluded}, which is to be connected to"));
    Err(faults.report(fault.expected(format!("`{other}`, `any`, or another address"))))
}

/// Each address that connections come from has one of its family that they go to.
fn check_from(
    section: &Section<'_>,
    connect: &Connect,
    is_reached: impl Fn(IpAddr) -> bool,
    faults: &mut Collector,
) -> Result<(), Told> {
    let Some(cursor) = section.get("from") else { return Ok(()) };
    let mut checked = Ok(());
    for (ip, item) in connect.from.iter().zip(cursor.one_or_more(MAX_SOURCES, faults)?) {
        let (detail, expected) = if !connect.family.holds(*ip) {
            (format!("found {ip}, which `family` excludes"), "an address of that family")
        } else if !is_reached(*ip) {
            (
                format!("found {ip}, from which none of the addresses can be reached"),
                "one of the family that is connected to",
            )
        } else {
            continue;
        };
        checked = Err(faults.report(item.fault(detail).expected(expected)));
    }
    checked
}

fn to(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<Remote>, Told> {
    each_once(cursor, MAX_DESTINATIONS, remote, faults)
}

fn remote(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Remote, Told> {
    let text = cursor.template(faults)?;
    Remote::parse(&text).map_err(|error| {
        let fault = cursor.fault(format!("found {error}"));
        let expected = "a host and a port, such as 10.0.0.1:8443 or \"[::1]:8443\"";
        faults.report(fault.expected(expected).maybe_hint(error.hint()))
    })
}

fn from(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<IpAddr>, Told> {
    let read = |item: &Cursor<'_>, faults: &mut Collector| {
        let text = item.text(faults)?;
        match text.parse::<IpAddr>() {
            Ok(ip) if !ip.is_unspecified() && !ip.is_multicast() => Ok(ip.to_canonical()),
            _ => Err(item.wrong("an address of the machine that sends, such as 10.0.0.5 or fd00::5", faults)),
        }
    };
    each_once(cursor, MAX_SOURCES, read, faults)
}

/// What one text or each of a list of them says; none of them twice.
fn each_once<T: PartialEq>(
    cursor: &Cursor<'_>,
    most: usize,
    read: impl Fn(&Cursor<'_>, &mut Collector) -> Result<T, Told>,
    faults: &mut Collector,
) -> Result<Vec<T>, Told> {
    let (mut values, mut failed) = (Vec::new(), None);
    for item in cursor.one_or_more(most, faults)? {
        match read(&item, faults) {
            Ok(value) if values.contains(&value) => {
                failed = Some(faults.report(item.fault("the same stands before it already")));
            }
            Ok(value) => values.push(value),
            Err(told) => failed = Some(told),
        }
    }
    failed.map_or(Ok(values), Err)
}

/// The path of a socket, written in one way only.
fn unix(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<PathBuf, Told> {
    let text = cursor.template(faults)?;
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let detail = if text.len() > MAX_UNIX_BYTES {
        format!("found a path of {} bytes", text.len())
    } else if text.chars().any(char::is_control) {
        "found a control character".to_owned()
    } else if text.strip_prefix('/').is_some_and(|path| path.split('/').all(is_plain)) {
        return Ok(text.into());
    } else {
        format!("found `{}`", shown(&text))
    };
    let expected =
        format!("the whole path of a socket, without `.` and `..`, of at most {MAX_UNIX_BYTES} bytes");
    Err(faults.report(cursor.fault(detail).expected(expected).hint("write it like /run/app.sock")))
}

impl Cursor<'_> {
    fn family(&self, faults: &mut Collector) -> Result<Family, Told> {
        let read = |text: &str| match text {
            "4" => Ok(Family::V4),
            "6" => Ok(Family::V6),
            "any" => Ok(Family::Any),
            _ => Err(Wrong::default().hint(likely_family(text))),
        };
        self.measure("`4`, `6` or `any`", read, faults)
    }

    fn resolve(&self, faults: &mut Collector) -> Result<Resolve, Told> {
        let (least, most) = (format_duration(*EVERY.start()), format_duration(*EVERY.end()));
        let expected = format!("`once`, `connection`, or a duration from {least} to {most}, such as 30s");
        let read = |text: &str| match text {
            "once" => Ok(Resolve::Once),
            "connection" => Ok(Resolve::EachConnection),
            _ => match parse_duration(text) {
                Ok(duration) if EVERY.contains(&duration) => Ok(Resolve::Every(duration)),
                Ok(_) => Err(Wrong::default().hint(Some("`connection` resolves each time".to_owned()))),
                Err(error) => {
                    Err(Wrong::default().hint(likely_resolve(text).or_else(|| error.hint(&shown(text)))))
                }
            },
        };
        self.measure(&expected, read, faults)
    }
}

/// `ipv6`, `v4` and the like.
fn likely_family(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let likely = match lower.trim_start_matches("inet").trim_start_matches("ip").trim_start_matches('v') {
        "4" => "4",
        "6" => "6",
        "both" | "all" => "any",
        _ => return None,
    };
    Some(format!("did you mean {likely}?"))
}

fn likely_resolve(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let likely =
        ["once", "connection"].into_iter().find(|kind| strsim::damerau_levenshtein(kind, &lower) <= 2);
    likely.map(|kind| format!("did you mean {kind}?"))
}
