//! How TLS is spoken: `tls`.

use crate::model::{Target, Tls, TlsVersion};
use crate::parse::cursor::{Cursor, Wrong};
use crate::parse::fault::{Collector, Told};
use crate::parse::section::{Keys, Section};
use url::Host;

const TLS: Keys = Keys {
    known: &[&["insecure", "ca", "certificate", "key", "server_name", "versions", "resumption"]],
    later: &[],
    belongs: &[],
    elsewhere: &[
        ("skip_verify", "insecure"),
        ("insecure_skip_verify", "insecure"),
        ("cacert", "ca"),
        ("cert", "certificate"),
        ("sni", "server_name"),
        ("version", "versions"),
        ("session_resumption", "resumption"),
    ],
};

/// What `top`, which is the section that `tls` stands in, says of a target, if that could be read.
pub(super) fn read(top: &Section<'_>, target: Option<&Target>, faults: &mut Collector) -> Result<Tls, Told> {
    let Some(cursor) = top.get("tls") else { return Ok(Tls::default()) };
    let spoken = is_spoken(top, target, faults);
    let tls = options(&Section::open(cursor, &TLS, faults)?, faults)?;
    spoken.map(|()| tls)
}

fn is_spoken(top: &Section<'_>, target: Option<&Target>, faults: &mut Collector) -> Result<(), Told> {
    if target.is_none_or(Target::is_tls) {
        return Ok(());
    }
    let fault = top.fault_of("tls", "stands beside an http:// target, to which no TLS is spoken");
    Err(faults.report(fault.expected("an https:// target, or no `tls`")))
}

fn options(section: &Section<'_>, faults: &mut Collector) -> Result<Tls, Told> {
    let defaults = Tls::default();
    let insecure = section.or_default("insecure", defaults.insecure, |cursor| cursor.boolean(faults));
    let ca = section.optional("ca", |cursor| cursor.file_name(faults));
    let certificate = section.optional("certificate", |cursor| cursor.file_name(faults));
    let key = section.optional("key", |cursor| cursor.file_name(faults));
    let server_name = section.optional("server_name", |cursor| server_name(cursor, faults));
    let versions = section.or_default("versions", defaults.versions, |cursor| versions(cursor, faults));
    let resumption = section.or_default("resumption", defaults.resumption, |cursor| cursor.boolean(faults));
    let paired = check_pair(section, faults);
    let tls = Tls {
        insecure: insecure?,
        ca: ca?,
        certificate: certificate?,
        key: key?,
        server_name: server_name?,
        versions: versions?,
        resumption: resumption?,
    };
    paired?;
    if tls.insecure && tls.ca.is_some() {
        let beside = section.fault_of("ca", "stands beside `insecure`, which takes any certificate");
        return Err(faults.report(beside.expected("either `ca` or `insecure: true`")));
    }
    Ok(tls)
}

/// A certificate is shown with its key or not at all.
fn check_pair(section: &Section<'_>, faults: &mut Collector) -> Result<(), Told> {
    let is_alone = |key: &str, other: &str| section.get(key).is_some() && !section.has(other);
    let (there, missing, what) = if is_alone("certificate", "key") {
        ("certificate", "key", "`key`, the file of its private key, beside it")
    } else if is_alone("key", "certificate") {
        ("key", "certificate", "`certificate`, the file of the certificate that it is of")
    } else {
        return Ok(());
    };
    let alone = section.fault_of(there, format!("stands without `{missing}`"));
    Err(faults.report(alone.expected(what)))
}

/// A name that a certificate may be of: of a host, or an address.
fn server_name(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<String, Told> {
    let text = cursor.text(faults)?;
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<std::net::IpAddr>() {
        return Ok(address.to_string());
    }
    match Host::parse(text.strip_suffix('.').unwrap_or(text)) {
        Ok(Host::Domain(name)) if is_dns_name(&name) => Ok(name),
        _ => {
            let found = cursor.fault("found what is neither a name nor an address");
            let hint = text.contains(':').then_some("write it without a port");
            Err(faults.report(found.expected("the name of a host, such as shop.test").maybe_hint(hint)))
        }
    }
}

/// Whether a name is one that TLS can ask for: labels of letters, digits, `-` and `_`, of 63 at most and 253 in all.
fn is_dns_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        let is_plain = (1..=63).contains(&label.len()) && label.bytes().all(is_letter);
        is_plain && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// The versions that are offered, as one or as a list.
fn versions(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<TlsVersion>, Told> {
    let mut versions = Vec::new();
    for item in cursor.one_or_more(TlsVersion::ALL.len(), faults)? {
        let version = item.tls_version(faults)?;
        if versions.contains(&version) {
            return Err(faults.report(item.fault(format!("the version {} is doubled", version.name()))));
        }
        versions.push(version);
    }
    versions.sort_unstable();
    Ok(versions)
}

impl Cursor<'_> {
    fn tls_version(&self, faults: &mut Collector) -> Result<TlsVersion, Told> {
        let read = |text: &str| {
            let found = TlsVersion::ALL.into_iter().find(|version| version.name() == text);
            found.ok_or_else(|| Wrong::default().hint(likely_version(text)))
        };
        self.measure("`1.2` or `1.3`", read, faults)
    }
}

/// `TLSv1.3` and the like.
fn likely_version(text: &str) -> Option<String> {
    let bare = text.trim_start_matches(|c: char| !c.is_ascii_digit()).replace('_', ".");
    let likely = TlsVersion::ALL.into_iter().find(|version| version.name() == bare);
    likely.map(|version| format!("did you mean {}?", version.name()))
}
