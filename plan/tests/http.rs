//! Connections, bodies and checks: what each key means, and its canonical form.

use std::time::Duration;
use volley_plan::{
    Body, BodyCheck, Check, Connect, Family, FileName, HttpOptions, Plan, QuickConnect, QuickPlan, QuickTls,
    Remote, Request, Resolve, Statuses, Tls, TlsVersion, parse,
};

fn valid(text: &str) -> Plan {
    let plan = parse(text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let canonical = plan.canonical_json();
    assert_eq!(parse(&canonical).as_ref(), Ok(&plan), "{canonical}");
    plan
}

fn plan(target: &str, lines: &str) -> Plan {
    valid(&format!("target: {target}\nusers: 1\nrequests: 1\n{lines}\n"))
}

/// What the lines say of connections, in either form, and how that is written out.
fn check_http(target: &str, keys: &str, expected: &HttpOptions, written: &str) {
    let long = plan(target, &format!("http: {{ {keys} }}"));
    let short = valid(&format!("{{ target: '{target}', users: 1, requests: 1, {keys} }}"));
    assert_eq!((&long.http, &short), (expected, &long), "{keys}");
    let canonical = long.canonical_json();
    let (_, http) = canonical.split_once(r#""connect_timeout":"#).expect("every plan has one");
    let (_, http) = http.split_once(['}', ',']).expect("its end");
    let http = http.trim_start_matches(',');
    assert!(http.starts_with(written), "{http}\n{written}");
}

fn request(line: &str) -> Request {
    let plan = valid(&format!(
        "target: http://h\nusers: 1\nrequests: 1\nscenarios: {{ a: {{ steps: [{{ put: /, {line} }}] }} }}"
    ));
    plan.requests().next().expect("one request").clone()
}

fn file(name: &str) -> FileName {
    FileName::parse(name).expect(name)
}

fn tls(change: impl FnOnce(&mut Tls)) -> HttpOptions {
    let mut options = HttpOptions::default();
    change(&mut options.tls);
    options
}

fn connect(change: impl FnOnce(&mut Connect)) -> HttpOptions {
    let mut options = HttpOptions::default();
    change(&mut options.connect);
    options
}

#[test]
fn tls_is_spoken_as_the_plan_says() {
    let check = |keys: &str, expected: HttpOptions, written: &str| {
        check_http("https://h", &format!("tls: {{ {keys} }}"), &expected, written);
    };
    check("", HttpOptions::default(), r#""load":"#);
    check("insecure: true", tls(|tls| tls.insecure = true), r#""tls":{"insecure":true}}"#);
    check("ca: a/ca.pem", tls(|tls| tls.ca = Some(file("a/ca.pem"))), r#""tls":{"ca":"a/ca.pem"}}"#);
    check(
        "certificate: me.pem, key: '$${me}.key'",
        tls(|tls| (tls.certificate, tls.key) = (Some(file("me.pem")), Some(file("${me}.key")))),
        r#""tls":{"certificate":"me.pem","key":"$${me}.key"}}"#,
    );
    for (name, read) in [
        ("Shop.Test.", "shop.test"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("a_b.test", "a_b.test"),
        ("10.0.0.1", "10.0.0.1"),
        ("'[2001:DB8::1]'", "2001:db8::1"),
        ("'::1'", "::1"),
    ] {
        let written = format!(r#""tls":{{"server_name":"{read}"}}}}"#);
        let expected = tls(|tls| tls.server_name = Some(read.to_owned()));
        check(&format!("server_name: {name}"), expected, &written);
    }
    let versions = |versions: &[TlsVersion]| tls(|tls| tls.versions = versions.to_vec());
    check("versions: 1.2", versions(&[TlsVersion::V1_2]), r#""tls":{"versions":["1.2"]}}"#);
    check("versions: ['1.3']", versions(&[TlsVersion::V1_3]), r#""tls":{"versions":["1.3"]}}"#);
    check("versions: [1.3, 1.2]", HttpOptions::default(), r#""load":"#);
    check("resumption: false", tls(|tls| tls.resumption = false), r#""tls":{"resumption":false}}"#);
}

#[test]
fn connections_go_and_come_as_the_plan_says() {
    let check = |keys: &str, expected: HttpOptions, written: &str| {
        check_http("http://h", &format!("connect: {{ {keys} }}"), &expected, written);
    };
    let to = |texts: &[&str]| connect(|connect| connect.to = texts.iter().map(|text| remote(text)).collect());
    check("", HttpOptions::default(), r#""load":"#);
    check("to: Name:80", to(&["name:80"]), r#""connect":{"to":["name:80"]}}"#);
    check(
        "to: [10.0.0.1:8443, '[fe80::1%eth0]:443', 'name:80']",
        to(&["10.0.0.1:8443", "[fe80::1%eth0]:443", "name:80"]),
        r#""connect":{"to":["10.0.0.1:8443","[fe80::1%eth0]:443","name:80"]}}"#,
    );
    check(
        "unix: /run/a b.sock",
        connect(|connect| connect.unix = Some("/run/a b.sock".into())),
        r#""connect":{"unix":"/run/a b.sock"}}"#,
    );
    for (written, family) in [("4", Family::V4), ("6", Family::V6)] {
        let expected = connect(|connect| connect.family = family);
        check(&format!("family: {written}"), expected, &format!(r#""connect":{{"family":"{written}"}}}}"#));
    }
    check("family: any, resolve: once", HttpOptions::default(), r#""load":"#);
    let resolve = |resolve| connect(|connect| connect.resolve = resolve);
    check("resolve: connection", resolve(Resolve::EachConnection), r#""connect":{"resolve":"connection"}}"#);
    let every = resolve(Resolve::Every(Duration::from_secs(90)));
    check("resolve: 90s", every, r#""connect":{"resolve":"1m30s"}}"#);
    let from = |texts: &[&str]| {
        connect(|connect| connect.from = texts.iter().map(|text| text.parse().unwrap()).collect())
    };
    check("from: 10.0.0.5", from(&["10.0.0.5"]), r#""connect":{"from":["10.0.0.5"]}}"#);
    check(
        "from: ['::ffff:10.0.0.5', 'FD00::5']",
        from(&["10.0.0.5", "fd00::5"]),
        r#""connect":{"from":["10.0.0.5","fd00::5"]}}"#,
    );
    // Addresses of the family that is left are enough.
    let plan = plan("http://[::1]:1/", "connect: { family: 6, from: '::1' }");
    assert_eq!(plan.http.connect.family, Family::V6);
}

fn remote(text: &str) -> Remote {
    Remote::parse(text).expect(text)
}

#[test]
fn time_outs_and_host_are_as_the_plan_says() {
    let check = |keys: &str, expected: HttpOptions, written: &str| {
        check_http("http://h", keys, &expected, written);
    };
    let (first, idle) = (Some(Duration::from_secs(10)), Some(Duration::from_millis(1)));
    check(
        "first_byte_timeout: 10s",
        HttpOptions { first_byte_timeout: first, ..HttpOptions::default() },
        r#""first_byte_timeout":"10s"}"#,
    );
    check(
        "idle_timeout: 1ms",
        HttpOptions { idle_timeout: idle, ..HttpOptions::default() },
        r#""idle_timeout":"1ms"}"#,
    );
    for host in ["shop.test", "Shop.Test:80", "[::1]:8080", "10.0.0.1", "a_b", "h$${x}"] {
        let sent = host.replace("$$", "$");
        check(
            &format!("host: '{host}'"),
            HttpOptions { host: Some(sent), ..HttpOptions::default() },
            &format!(r#""host":"{host}"}}"#),
        );
    }
}

#[test]
fn a_target_is_asked_over_tls() {
    let plan = plan("https://shop.test:443/a?b", "");
    assert_eq!((plan.target.port(), plan.target.authority()), (443, "shop.test"));
    assert_eq!((plan.name.as_str(), plan.url().as_str()), ("shop.test/a", "https://shop.test/a?b"));
    assert!(plan.canonical_json().contains(r#""target":"https://shop.test/""#));
    assert_eq!(plan.destinations()[0].to_string(), "shop.test:443");
}

#[test]
fn case_46_a_zone_stays_with_the_target() {
    for (written, shown) in [("[::1%lo]:8080", "[::1%lo]:8080"), ("[fe80::1%25eth0]:80", "[fe80::1%eth0]")] {
        let plan = plan(&format!("'http://{written}/a'"), "");
        assert!(plan.canonical_json().contains(&format!(r#""target":"http://{shown}/""#)));
        assert!(!plan.target.authority().contains('%') && plan.destinations()[0].to_string().contains('%'));
        assert_eq!(plan.url(), format!("http://{shown}/a"));
    }
}

#[test]
fn bodies_are_given_in_one_of_three_ways() {
    let check = |line: &str, expected: Body, written: &str| {
        let plan = valid(&format!(
            "target: http://h/\nusers: 1\nrequests: 1\nscenarios: {{ a: {{ steps: [{{ put: /, {line} }}] }} }}"
        ));
        assert_eq!(plan.requests().next().unwrap().body, expected, "{line}");
        assert!(plan.canonical_json().contains(written), "{}", plan.canonical_json());
        let short = valid(&format!("{{ target: http://h/, users: 1, requests: 1, method: PUT, {line} }}"));
        assert_eq!(short.requests().next().unwrap().body, expected, "{line}");
    };
    check("body: ''", Body::NONE, r#""name":"PUT /"}"#);
    check("body: abc", Body::Inline(b"abc".to_vec()), r#""name":"PUT /","body":"abc"}"#);
    check("body_file: a/b c.bin", Body::File(file("a/b c.bin")), r#","body_file":"a/b c.bin"}"#);
    check("body_file: '$${a}'", Body::File(file("${a}")), r#","body_file":"$${a}"}"#);
    check("body_size: 10MiB", Body::Filled(10 << 20), r#","body_size":"10MiB"}"#);
    check("body_size: 1.5KiB", Body::Filled(1536), r#","body_size":"1536B"}"#);
    check("body_size: '1024GiB'", Body::Filled(1 << 40), r#","body_size":"1024GiB"}"#);
}

#[test]
fn a_target_may_be_asked_before_the_body_is_sent() {
    let asked = |line: &str| request(&format!("body: a, {line}")).ask_first;
    assert_eq!(asked("ask_first: true"), Some(Duration::from_secs(1)));
    assert_eq!(asked("ask_first: 250ms"), Some(Duration::from_millis(250)));
    assert_eq!(asked("ask_first: false"), None);
    assert_eq!(request("ask_first: false").ask_first, None, "without a body it may be said too");
    assert_eq!(request("body_size: 1B, ask_first: 1s").ask_first, Some(Duration::from_secs(1)));
}

#[test]
fn answers_are_checked_as_the_plan_says() {
    let check = |line: &str, expected: &Check| {
        let found = request(&format!("check: {line}")).check;
        assert_eq!(&found, expected, "{line}");
    };
    let status = |ranges: &[(u16, u16)]| Check {
        status: Statuses::new(ranges.iter().map(|(first, last)| *first..=*last).collect()),
        body: None,
    };
    check("{}", &Check::default());
    check("{ status: 200 }", &status(&[(200, 200)]));
    check("{ status: '404' }", &status(&[(404, 404)]));
    check("{ status: 2xx }", &status(&[(200, 299)]));
    check("{ status: [200, 404, 3xx] }", &status(&[(200, 200), (404, 404), (300, 399)]));
    check("{ status: 200..204 }", &status(&[(200, 204)]));
    check("{ status: [200..299, 999] }", &status(&[(200, 299), (999, 999)]));
    let body = |body| Check { status: Statuses::default(), body: Some(body) };
    check("{ body: { is: 'a $${b}' } }", &body(BodyCheck::Is(b"a ${b}".to_vec())));
    check("{ body: { is: '' } }", &body(BodyCheck::Is(Vec::new())));
    check("{ body: { contains: 42 } }", &body(BodyCheck::Contains(b"42".to_vec())));
    check("{ body: { bytes: 11 } }", &body(BodyCheck::Bytes(11)));
    check(
        "{ status: 404, body: { bytes: 0 } }",
        &Check { body: Some(BodyCheck::Bytes(0)), ..status(&[(404, 404)]) },
    );
    let written = valid(
        "{ target: http://h, users: 1, requests: 1, check: { status: [200, 2xx, 201..209], body: { contains: a } } }",
    );
    let expected = r#""check":{"status":["200","2xx","201..209"],"body":{"contains":"a"}}}]"#;
    assert!(written.canonical_json().contains(expected), "{}", written.canonical_json());
}

#[test]
fn flags_of_connections_make_the_plan_that_a_file_would() {
    let some = |text: &str| Some(text.to_owned());
    let full = QuickPlan {
        url: "https://h/a".to_owned(),
        requests: Some(7),
        method: some("PUT"),
        body_file: some("tmp/${a}.bin"),
        ask_first: some("2s"),
        host: some("shop.test:8"),
        timeout: some("9s"),
        connect_timeout: some("1s"),
        first_byte_timeout: some("2s"),
        idle_timeout: some("3s"),
        tls: QuickTls {
            insecure: true,
            certificate: some("etc/me.pem"),
            key: some("etc/me.key"),
            server_name: some("shop.test"),
            versions: vec!["1.3".to_owned()],
            no_resumption: true,
            ..QuickTls::default()
        },
        connect: QuickConnect {
            to: vec!["a:1".to_owned(), "b:2".to_owned()],
            v6: true,
            resolve: some("connection"),
            from: vec!["::1".to_owned()],
            ..QuickConnect::default()
        },
        ..QuickPlan::default()
    };
    let file = "{ target: https://h/a, users: 50, requests: 7, method: PUT, body_file: 'tmp/$${a}.bin', ask_first: 2s, \
                timeout: 9s, connect_timeout: 1s, first_byte_timeout: 2s, idle_timeout: 3s, host: 'shop.test:8', \
                tls: { insecure: true, certificate: etc/me.pem, key: etc/me.key, server_name: shop.test, \
                versions: 1.3, resumption: false }, \
                connect: { to: ['a:1', 'b:2'], family: 6, resolve: connection, from: '::1' } }";
    assert_eq!(full.into_plan(), Ok(valid(file)));
    let unix = QuickPlan {
        url: "http://h".to_owned(),
        requests: Some(1),
        body_size: some("10MiB"),
        ask_first: some("true"),
        connect: QuickConnect { unix: some("/run/${a}.sock"), ..QuickConnect::default() },
        ..QuickPlan::default()
    };
    let file = "{ target: http://h, users: 50, requests: 1, body_size: 10MiB, ask_first: true, \
                connect: { unix: '/run/$${a}.sock' } }";
    assert_eq!(unix.into_plan(), Ok(valid(file)));
}

#[test]
fn faults_of_flags_of_connections_name_the_flag() {
    let some = |text: &str| Some(text.to_owned());
    let quick = QuickPlan {
        url: "http://127.0.0.1".to_owned(),
        ask_first: some("5"),
        host: some("a/b"),
        idle_timeout: some("20s"),
        tls: QuickTls {
            insecure: true,
            key: some("a"),
            versions: vec!["1".to_owned()],
            ..QuickTls::default()
        },
        connect: QuickConnect {
            to: vec!["a".to_owned()],
            unix: some("a"),
            v4: true,
            from: vec!["b".to_owned()],
            ..QuickConnect::default()
        },
        ..QuickPlan::default()
    };
    let found = quick.into_plan().unwrap_err();
    let said: Vec<_> = found.0.iter().map(|fault| format!("{}: {}", fault.place, fault.field)).collect();
    let expected = [
        "--ask-first: ask_first",
        "--connect-to: connect.to",
        "--connect-to: connect.to[0]",
        "--host: host",
        "--idle-timeout: idle_timeout",
        "--key: tls.key",
        "--source: connect.from",
        "--source: connect.from[0]",
        "--tls-version: tls.versions[0]",
        "--unix-socket: connect.unix",
        "-4: connect.family",
        "-k: tls",
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_says_the_default_changes_no_hash() {
    let hash = |lines: &str| plan("https://h", lines).hash();
    let defaults = "tls: { insecure: false, versions: [1.2, 1.3], resumption: true }\n\
                    connect: { family: any, resolve: once }\nhttp_version: 1.1\nask_first: false\ncheck: {}\n";
    assert_eq!(hash(defaults), hash(""));
    for lines in [
        "tls: { insecure: true }",
        "connect: { family: 4 }",
        "check: { status: 200 }",
        "body_size: 1B",
        "host: h",
        "http_version: 1.0",
        "connect: { proxy: 'h:1' }",
    ] {
        assert_ne!(hash(lines), hash(""), "{lines}");
    }
}
