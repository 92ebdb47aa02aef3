//! Targets: what they are taken apart into, and what is refused.

use super::*;
use proptest::prelude::*;

/// `expected` is host, port, authority, path and query.
fn check(text: &str, expected: (&str, u16, &str, &str)) {
    let target = Target::parse(text).expect(text);
    let found = (target.host(), target.port(), target.authority(), target.path_and_query());
    assert_eq!(found, expected, "{text}");
    assert_eq!(Target::parse(&target.to_string()).as_ref(), Ok(&target), "{text}");
}

fn check_refused(text: &str, error: &TargetError, hint: Option<&str>) {
    let found = Target::parse(text).expect_err(text);
    assert_eq!(&found, error, "{text}");
    assert_eq!(found.hint(text).as_deref(), hint, "{text}");
}

#[test]
fn targets_are_taken_apart() {
    for (text, expected) in [
        ("http://shop.test", ("shop.test", 80, "shop.test", "/")),
        ("http://shop.test:80/", ("shop.test", 80, "shop.test", "/")),
        ("HTTP://Shop.Test:8080/a/b?c=d&e", ("shop.test", 8080, "shop.test:8080", "/a/b?c=d&e")),
        ("http://127.0.0.1:7", ("127.0.0.1", 7, "127.0.0.1:7", "/")),
        ("http://[::1]:9/x", ("::1", 9, "[::1]:9", "/x")),
        ("http://[2001:DB8::1]", ("2001:db8::1", 80, "[2001:db8::1]", "/")),
        ("http://bücher.test/ü", ("xn--bcher-kva.test", 80, "xn--bcher-kva.test", "/%C3%BC")),
        ("http://h?q", ("h", 80, "h", "/?q")),
        ("http://h/?", ("h", 80, "h", "/?")),
        ("https://shop.test", ("shop.test", 443, "shop.test", "/")),
        ("https://shop.test:443/a", ("shop.test", 443, "shop.test", "/a")),
        ("https://shop.test:80/", ("shop.test", 80, "shop.test:80", "/")),
        ("http://shop.test:443/", ("shop.test", 443, "shop.test:443", "/")),
        ("HTTPS://[::1]:8443/", ("::1", 8443, "[::1]:8443", "/")),
    ] {
        check(text, expected);
    }
    assert_eq!(Target::parse("http://[::1]").map(|target| target.ip()), Ok(Some("::1".parse().unwrap())));
    assert_eq!(Target::parse("http://localhost").map(|target| target.ip()), Ok(None));
}

#[test]
fn a_target_speaks_tls_where_its_scheme_says_so() {
    let is_tls = |text: &str| Target::parse(text).expect(text).is_tls();
    assert!(is_tls("https://h") && is_tls("HTTPS://h:80") && !is_tls("http://h:443"));
    assert!(Target::parse("https://h/a?b").expect("a target").without_path().is_tls());
}

/// The target has this zone, which `Host` never shows.
fn check_zone(text: &str, zone: Option<&str>, authority: &str, shown: &str) {
    let target = Target::parse(text).expect(text);
    assert_eq!(target.remote().zone.as_deref(), zone, "{text}");
    assert_eq!(target.authority(), authority, "{text}");
    assert_eq!(target.to_string(), shown, "{text}");
    assert_eq!(Target::parse(shown), Ok(target.clone()), "{text}");
    let remote = target.clone().without_path().remote();
    assert_eq!(remote, target.remote(), "{text}");
    assert!(!target.host().contains('%') && target.ip().is_some(), "{text}");
}

#[test]
fn case_46_zones_belong_to_the_address_and_never_to_host() {
    check_zone("http://[::1]:80/", None, "[::1]", "http://[::1]/");
    check_zone("http://[::1%lo]:8080/a?b]", Some("lo"), "[::1]:8080", "http://[::1%lo]:8080/a?b]");
    check_zone("http://[fe80::1%eth0]/", Some("eth0"), "[fe80::1]", "http://[fe80::1%eth0]/");
    check_zone("https://[FE80::1%25eth0]:443/", Some("eth0"), "[fe80::1]", "https://[fe80::1%eth0]/");
    check_zone("http://[fe80::1%3]", Some("3"), "[fe80::1]", "http://[fe80::1%3]/");
    // The 25th interface, and one whose name begins so.
    check_zone("http://[fe80::1%25]/", Some("25"), "[fe80::1]", "http://[fe80::1%2525]/");
    check_zone("http://[fe80::1%2525a]/", Some("25a"), "[fe80::1]", "http://[fe80::1%2525a]/");
    // What looks like a zone further behind is none.
    check_zone("http://[::1]/[a%25b]", None, "[::1]", "http://[::1]/[a%25b]");
}

#[test]
fn case_46_what_is_no_zone_is_refused() {
    let named = "write it like [fe80::1%eth0]";
    for text in ["http://[fe80::1%]/", "http://[fe80::1%e/0]/", "http://[fe80::1%eth0%1]/"] {
        let error = Target::parse(text).expect_err(text);
        let is_refused = matches!(error, TargetError::Zone(_) | TargetError::Url(_));
        assert!(is_refused, "{text}: {error}");
    }
    check_refused("http://[fe80::1%]", &TargetError::Zone(ZoneError::Name), Some(named));
    check_refused("http://[fe80::1%eth0:1]", &TargetError::Zone(ZoneError::Name), Some(named));
    check_refused("http://[fe80::1%sixteen-letters-]", &TargetError::Zone(ZoneError::Name), Some(named));
    let local = "only link-local addresses (fe80::/10) have a zone, and ::1";
    for text in ["http://[2001:db8::1%eth0]:80", "http://[::%lo]", "http://[ff02::1%eth0]"] {
        check_refused(text, &TargetError::Zone(ZoneError::Global), Some(local));
    }
}

#[test]
fn what_is_no_target_says_why() {
    use TargetError as E;
    for (text, error, hint) in [
        ("", E::NoScheme, None),
        ("shop.test", E::NoScheme, Some("did you mean http://shop.test?")),
        ("localhost:8080/x", E::NoScheme, Some("did you mean http://localhost:8080/x?")),
        ("http//x", E::NoScheme, Some("did you mean http://x?")),
        ("http:/x", E::NoScheme, Some("did you mean http://x?")),
        ("httpbin.test", E::NoScheme, Some("did you mean http://httpbin.test?")),
        ("https//x", E::NoScheme, Some("did you mean https://x?")),
        ("https:x", E::NoScheme, Some("did you mean https://x?")),
        ("httpsbin.test", E::NoScheme, Some("did you mean http://httpsbin.test?")),
        ("shop.test:443/a", E::NoScheme, Some("did you mean https://shop.test:443/a?")),
        ("[fe80::1%eth0]:80", E::NoScheme, Some("did you mean http://[fe80::1%eth0]:80?")),
        ("//x", E::NoScheme, Some("did you mean http://x?")),
        ("user:pw@x", E::NoScheme, None),
        ("ftp://x", E::Scheme("ftp".to_owned()), None),
        ("/a?u=http://x", E::NoScheme, None),
        ("http://a b", E::Character, Some("write %20 for a space, %5C for a backslash")),
        (" http://a", E::Character, Some("write %20 for a space, %5C for a backslash")),
        ("http://a/\nb", E::Character, Some("write %20 for a space, %5C for a backslash")),
        ("http://a\\b", E::Character, Some("write %20 for a space, %5C for a backslash")),
        ("http://u@a", E::UserInformation, Some("send an `authorization` header instead")),
        ("http://u@[::1%lo]", E::UserInformation, Some("send an `authorization` header instead")),
        ("http://@a", E::UserInformation, Some("send an `authorization` header instead")),
        ("http://:p@a", E::UserInformation, Some("send an `authorization` header instead")),
        ("http://a/#b", E::Fragment, Some("leave it out, or write %23 for a literal #")),
        ("http://a:0", E::PortZero, None),
        ("http://::1:80", E::Brackets, Some("write it like http://[::1]:8080/")),
        ("http://", E::Url(url::ParseError::EmptyHost), None),
        ("http:///x", E::Url(url::ParseError::EmptyHost), None),
        ("http://:80", E::Url(url::ParseError::EmptyHost), None),
        ("http://a:99999", E::Url(url::ParseError::InvalidPort), None),
        ("http://a:b", E::Url(url::ParseError::InvalidPort), None),
        ("http://[::1", E::Url(url::ParseError::InvalidIpv6Address), None),
        ("http://999.1.1.1", E::Url(url::ParseError::InvalidIpv4Address), None),
        ("http://a<b", E::Url(url::ParseError::IdnaError), None),
    ] {
        check_refused(text, &error, hint);
    }
    check_refused(&format!("http://a/{}", "b".repeat(1 << 16)), &E::TooLong, None);
    // Encoded it is three times as long.
    check_refused(&format!("http://a/{}", "ü".repeat(1 << 14)), &E::TooLong, None);
}

proptest! {
    #[test]
    fn a_target_reads_back_from_what_it_displays(text in "https?://[a-z0-9.\\[\\]:%ü]{1,20}(/[!-~ü]{0,20})?(\\?[!-~ü]{0,20})?") {
        if let Ok(target) = Target::parse(&text) {
            prop_assert_eq!(Target::parse(&target.to_string()), Ok(target));
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(https?://)?(\\[[a-f0-9:]{2,4}%)?\\PC{0,40}") {
        let _ = Target::parse(&text).map_err(|error| error.hint(&text));
    }
}
