//! How a run's requests were sent, in words: where connections went and came from, TLS, time-outs. Pure.

use std::fmt::Display;

use volley_plan::units::duration_in_words;
use volley_plan::{Connect, Destination, Family, HttpOptions, HttpVersion, Plan, Resolve, Tls, TlsVersion};
use volley_web::Fact;

/// What is to be known of results that came over TLS whose certificates nobody looked at.
pub const NOT_VERIFIED: &str = "certificates were not verified";

/// What a plan says of how its requests are sent. Of what it leaves as it is by default, only names, TLS and time-outs.
pub(crate) fn environment(plan: &Plan) -> Vec<Fact> {
    let http = &plan.http;
    let tls = plan.target.is_tls().then(|| of_tls(&http.tls)).into_iter().flatten();
    let facts = of_connect(plan).into_iter().chain(tls).chain([(TIME_OUTS, Some(time_outs(http)))]);
    let fact = |(name, words): Said| {
        Some(Fact { name: name.to_owned(), words: words?, is_doubt: name == TLS && http.tls.insecure })
    };
    facts.filter_map(fact).collect()
}

const TLS: &str = "TLS";
const TIME_OUTS: &str = "Time-outs";

/// A name, and what is said under it where there is something to say.
type Said = (&'static str, Option<String>);

fn of_connect(plan: &Plan) -> Vec<Said> {
    let http = &plan.http;
    let Connect { to, unix, proxy, family, resolve, from } = &http.connect;
    let is_name = |to: &Destination| matches!(to, Destination::Remote(remote) if remote.ip().is_none());
    let goes_elsewhere = unix.is_some() || !to.is_empty();
    vec![
        ("HTTP version", (http.version != HttpVersion::default()).then(|| http.version.name().to_owned())),
        ("Proxy", proxy.as_ref().map(|proxy| proxy.at.to_string())),
        ("Connections to", goes_elsewhere.then(|| listed(&plan.destinations()))),
        ("Connections from", (!from.is_empty()).then(|| listed(from))),
        ("Connections", (!http.keep_alive).then(|| "one for each request".to_owned())),
        ("Host header", http.host.clone()),
        ("Addresses", family_in_words(*family).map(str::to_owned)),
        ("Names resolved", plan.destinations().iter().any(is_name).then(|| resolve_in_words(*resolve))),
    ]
}

fn listed(items: &[impl Display]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    if items.len() > 1 { format!("{}, in turn", items.join(", ")) } else { items.concat() }
}

fn family_in_words(family: Family) -> Option<&'static str> {
    match family {
        Family::Any => None,
        Family::V4 => Some("IPv4 only"),
        Family::V6 => Some("IPv6 only"),
    }
}

fn resolve_in_words(resolve: Resolve) -> String {
    match resolve {
        Resolve::Once => "once, before the run".to_owned(),
        Resolve::EachConnection => "for each connection".to_owned(),
        Resolve::Every(every) => format!("anew where it was {} ago", duration_in_words(every)),
    }
}

fn of_tls(tls: &Tls) -> Vec<Said> {
    let verified = match &tls.ca {
        _ if tls.insecure => NOT_VERIFIED.to_owned(),
        Some(ca) => format!("certificates verified by {ca}"),
        None => "certificates verified by those that the agent's machine trusts".to_owned(),
    };
    let versions: Vec<_> = tls.versions.iter().map(|version| TlsVersion::name(*version)).collect();
    let resumption =
        if tls.resumption { "taken up again where the target lets them" } else { "never taken up again" };
    vec![
        (TLS, Some(verified)),
        ("TLS versions", Some(versions.join(", "))),
        ("TLS sessions", Some(resumption.to_owned())),
        ("Server name", tls.server_name.clone()),
        ("Client certificate", tls.certificate.as_ref().map(ToString::to_string)),
    ]
}

fn time_outs(http: &HttpOptions) -> String {
    let bounds = [
        ("connecting", Some(http.connect_timeout)),
        ("first byte", http.first_byte_timeout),
        ("stand-still", http.idle_timeout),
    ];
    let bounds =
        bounds.into_iter().filter_map(|(of, bound)| Some(format!("{of} {}", duration_in_words(bound?))));
    let whole = format!("request {}", duration_in_words(http.timeout));
    [whole].into_iter().chain(bounds).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use volley_plan::Remote;

    use super::*;

    fn check(change: impl FnOnce(&mut Plan), expected: &[&str]) {
        let mut plan = volley_plan::parse("target: http://shop.test/\nusers: 1\nduration: 9s").unwrap();
        change(&mut plan);
        let facts = environment(&plan);
        let said: Vec<_> = facts.iter().map(|fact| format!("{}: {}", fact.name, fact.words)).collect();
        assert_eq!(said, expected);
        assert!(facts.iter().all(|fact| !fact.is_doubt), "{facts:?}");
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_told() {
        let plain = ["Names resolved: once, before the run", "Time-outs: request 10 s, connecting 5 s"];
        check(|_| (), &plain);
        check(|plan| plan.http.tls.insecure = true, &plain);
        let remote = |host: &str, port| Remote { host: host.to_owned(), port, zone: None };
        check(
            |plan| {
                let connect = &mut plan.http.connect;
                connect.to = vec![remote("10.0.0.1", 80), remote("::1", 8080)];
                connect.from = vec!["10.0.0.5".parse().unwrap()];
                plan.http.keep_alive = false;
                plan.http.first_byte_timeout = Some(Duration::from_millis(1500));
                plan.http.idle_timeout = Some(Duration::from_secs(90));
                plan.http.host = Some("<b>".to_owned());
            },
            &[
                "Connections to: 10.0.0.1:80, [::1]:8080, in turn",
                "Connections from: 10.0.0.5",
                "Connections: one for each request",
                "Host header: <b>",
                "Time-outs: request 10 s, connecting 5 s, first byte 1 s 500 ms, stand-still 1 min 30 s",
            ],
        );
        check(
            |plan| {
                plan.http.connect.family = Family::V6;
                plan.http.connect.resolve = Resolve::Every(Duration::from_secs(30));
            },
            &["Addresses: IPv6 only", "Names resolved: anew where it was 30 s ago", plain[1]],
        );
        let unix = |plan: &mut Plan| plan.http.connect.unix = Some("/run/app.sock".into());
        check(unix, &["Connections to: unix:/run/app.sock", plain[1]]);
    }

    #[test]
    fn tls_is_told_and_whether_certificates_were_verified() {
        let said = |tls: &Tls| of_tls(tls).into_iter().filter_map(|(_, words)| words).collect::<Vec<_>>();
        let [by_machine, versions, sessions] = [
            "certificates verified by those that the agent's machine trusts",
            "1.2, 1.3",
            "taken up again where the target lets them",
        ];
        assert_eq!(said(&Tls::default()), [by_machine, versions, sessions]);
        let insecure = Tls { insecure: true, resumption: false, ..Tls::default() };
        assert_eq!(said(&insecure), [NOT_VERIFIED, versions, "never taken up again"]);
        let name = |text| volley_plan::FileName::parse(text).ok();
        let (ca, certificate) = (name("ca.pem"), name("me.pem"));
        let own = Tls { ca, certificate, versions: vec![TlsVersion::V1_3], ..Tls::default() };
        assert_eq!(said(&own), ["certificates verified by ca.pem", "1.3", sessions, "me.pem"]);
    }
}
