//! Hosts and ports: what they are read as, and what is refused.

use super::*;
use proptest::prelude::*;

#[test]
fn hosts_and_ports_are_read_and_say_themselves() {
    let check = |text: &str, expected: (&str, u16, Option<&str>), shown: &str| {
        let remote = Remote::parse(text).expect(text);
        assert_eq!((remote.host.as_str(), remote.port, remote.zone.as_deref()), expected, "{text}");
        assert_eq!(remote.to_string(), shown, "{text}");
        assert_eq!(Remote::parse(shown), Ok(remote), "{text}");
    };
    check("Shop.Test:80", ("shop.test", 80, None), "shop.test:80");
    check("shop.test.:80", ("shop.test.", 80, None), "shop.test.:80");
    check("b\u{fc}cher.test:65535", ("xn--bcher-kva.test", 65535, None), "xn--bcher-kva.test:65535");
    check("10.0.0.1:8443", ("10.0.0.1", 8443, None), "10.0.0.1:8443");
    check("[::1]:443", ("::1", 443, None), "[::1]:443");
    check("[FE80::1%eth0.7]:443", ("fe80::1", 443, Some("eth0.7")), "[fe80::1%eth0.7]:443");
    check("[::1%1]:443", ("::1", 443, Some("1")), "[::1%1]:443");
    // No URL, so nothing is encoded.
    check("[fe80::1%25]:443", ("fe80::1", 443, Some("25")), "[fe80::1%25]:443");
    check("[fe80::1%25a]:443", ("fe80::1", 443, Some("25a")), "[fe80::1%25a]:443");
}

#[test]
fn what_is_no_host_and_port_says_why() {
    use RemoteError as E;
    let check = |text: &str, expected: E| assert_eq!(Remote::parse(text), Err(expected), "{text}");
    for text in ["http://shop.test:80", "shop.test:80/x", "10.0.0.0/8:80"] {
        check(text, E::Url);
    }
    for text in ["shop.test", "[::1]", "10.0.0.1", "[::1]80"] {
        check(text, E::NoPort);
    }
    for text in ["h:", "h:0", "h:65536", "h:+80", "h:http", "[::1]:"] {
        check(text, E::Port);
    }
    for text in ["::1:80", "fe80::1%eth0:80"] {
        check(text, E::Brackets);
    }
    for text in [":80", "a b:80", "a%41:80", "[10.0.0.1]:80", "[::1:80", "999.0.0.1:80", "u@h:80"] {
        check(text, E::Host);
    }
    check(&format!("{}:80", "a".repeat(300)), E::Host);
    for text in ["[fe80::1%]:80", "[fe80::1%a b]:80", "[fe80::1%sixteen-letters-]:80"] {
        check(text, E::Zone(ZoneError::Name));
    }
    check("[fd00::1%eth0]:80", E::Zone(ZoneError::Global));
}

#[test]
fn a_socket_goes_before_hosts_and_hosts_before_the_target() {
    let target = Target::parse("https://[fe80::1%eth0]/x").unwrap();
    let shown = |connect: &Connect| {
        connect.destinations(&target).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let mut connect = Connect::default();
    assert_eq!(shown(&connect), "[fe80::1%eth0]:443");
    connect.to = ["a:1", "[::1]:2"].map(|text| Remote::parse(text).unwrap()).to_vec();
    assert_eq!(shown(&connect), "a:1 [::1]:2");
    let connect = Connect { unix: Some("/run/app.sock".into()), ..Connect::default() };
    assert_eq!(shown(&connect), "unix:/run/app.sock");
}

proptest! {
    #[test]
    fn a_remote_reads_back_from_what_it_displays(text in "\\PC{0,8}|[a-z0-9.\u{fc}-]{1,9}:[0-9]{1,5}|\\[[a-f0-9:]{2,9}(%[a-z0-9]{1,3})?\\]:[0-9]{1,5}") {
        if let Ok(remote) = Remote::parse(&text) {
            prop_assert_eq!(Remote::parse(&remote.to_string()), Ok(remote));
        }
    }
}
