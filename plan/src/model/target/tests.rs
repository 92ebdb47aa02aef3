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
    ] {
        check(text, expected);
    }
    assert_eq!(Target::parse("http://[::1]").map(|target| target.ip()), Ok(Some("::1".parse().unwrap())));
    assert_eq!(Target::parse("http://localhost").map(|target| target.ip()), Ok(None));
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
        ("https//x", E::NoScheme, None),
        ("//x", E::NoScheme, Some("did you mean http://x?")),
        ("user:pw@x", E::NoScheme, None),
        ("https://x", E::Https, None),
        ("ftp://x", E::Scheme("ftp".to_owned()), None),
        ("/a?u=http://x", E::NoScheme, None),
        ("http://a b", E::Character, Some("write %20 for a space, %5C for a backslash")),
        (" http://a", E::Character, Some("write %20 for a space, %5C for a backslash")),
        ("http://a/\nb", E::Character, Some("write %20 for a space, %5C for a backslash")),
        ("http://a\\b", E::Character, Some("write %20 for a space, %5C for a backslash")),
        ("http://u@a", E::UserInformation, Some("send an `authorization` header instead")),
        ("http://:p@a", E::UserInformation, Some("send an `authorization` header instead")),
        ("http://a/#b", E::Fragment, Some("leave it out, or write %23 for a literal #")),
        ("http://a:0", E::PortZero, None),
        ("http://::1:80", E::Brackets, Some("write it like http://[::1]:8080/")),
        ("http://[::1%lo]:80", E::Zone, Some("leave the zone out; link-local addresses are not supported")),
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
    fn a_target_reads_back_from_what_it_displays(text in "http://[a-z0-9.\\[\\]:%ü]{1,20}(/[!-~ü]{0,20})?(\\?[!-~ü]{0,20})?") {
        if let Ok(target) = Target::parse(&text) {
            prop_assert_eq!(Target::parse(&target.to_string()), Ok(target));
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(http://)?\\PC{0,40}") {
        let _ = Target::parse(&text).map_err(|error| error.hint(&text));
    }
}
