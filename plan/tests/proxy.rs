//! Proxies and versions of HTTP: what plans say of them, what is refused, and what may be loaded through a proxy.

use volley_plan::{AllowList, HttpVersion, Plan, Proxy, QuickConnect, QuickPlan, Remote, parse};

fn text(target: &str, lines: &str) -> String {
    format!("target: {target}\nusers: 1\nrequests: 1\n{lines}\n")
}

fn plan(target: &str, lines: &str) -> Plan {
    let plan = parse(&text(target, lines)).unwrap_or_else(|faults| panic!("{faults}\n{lines}"));
    let canonical = plan.canonical_json();
    assert_eq!(parse(&canonical).as_ref(), Ok(&plan), "{canonical}");
    plan
}

fn faults(lines: &str) -> String {
    parse(&text("http://h", lines)).map(|_| ()).expect_err(lines).to_string()
}

#[test]
fn a_version_is_said_in_either_form() {
    let check = |lines: &str, expected: HttpVersion, written: Option<&str>| {
        let plan = plan("http://h", lines);
        assert_eq!(plan.http.version, expected, "{lines}");
        let canonical = plan.canonical_json();
        assert_eq!(
            canonical.contains(r#""connect_timeout":"5s","version":"#),
            written.is_some(),
            "{canonical}"
        );
        assert!(canonical.contains(written.unwrap_or_default()), "{canonical}");
    };
    check("", HttpVersion::V1_1, None);
    check("http: { version: 1.1 }", HttpVersion::V1_1, None);
    check("http: { version: 1.0 }", HttpVersion::V1_0, Some(r#""version":"1.0"}"#));
    check("http_version: '1.0'", HttpVersion::V1_0, Some(r#""version":"1.0"}"#));
}

#[test]
fn a_version_that_cannot_be_is_a_fault() {
    let check = |lines: &str, expected: &str| {
        let said = faults(lines);
        assert!(said.contains(expected), "{said}");
    };
    check("http: { version: 2 }", "expected `1.0` or `1.1`");
    check("http: { http_version: 1.0 }", "http_version");
    check("http_version: 1.0\nhttp: { keep_alive: true }", "only one of `http_version` and `http`");
    check("http_version: 1.0\nmethod: PUT\nbody: a\nask_first: true", "beside `ask_first`");
}

#[test]
fn a_proxy_is_where_connections_go() {
    let proxy = |at: &str, authorization: Option<&str>| {
        let at = Remote::parse(at).unwrap();
        Some(Proxy { at, authorization: authorization.map(str::to_owned) })
    };
    let check = |target: &str, keys: &str, expected: Option<Proxy>, written: &str| {
        let plan = plan(target, &format!("connect: {{ {keys} }}"));
        assert_eq!(plan.http.connect.proxy, expected, "{keys}");
        assert!(plan.canonical_json().contains(written), "{}", plan.canonical_json());
        assert_eq!(plan.destinations().len(), 1);
    };
    check("http://h", "proxy: 'p:3128'", proxy("p:3128", None), r#""connect":{"proxy":"p:3128"}"#);
    check(
        "https://h",
        "proxy: '[::1]:1', proxy_authorization: 'Basic a$${b}', family: 6",
        proxy("[::1]:1", Some("Basic a${b}")),
        r#""connect":{"proxy":"[::1]:1","proxy_authorization":"Basic a$${b}","family":"6"}"#,
    );
    let through = plan("http://h", "connect: { proxy: 'p:3128' }");
    let said = |destinations: Vec<volley_plan::Destination>| {
        destinations.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(said(through.destinations()), ["p:3128"]);
    assert_eq!(said(through.loaded()), ["p:3128", "h:80"]);
}

#[test]
fn what_a_proxy_goes_not_together_with_is_a_fault() {
    let check = |keys: &str, expected: &str| {
        let said = faults(&format!("connect: {{ {keys} }}"));
        assert!(said.contains(expected), "{said}");
    };
    check("proxy: 'http://p:3128/'", "write host and port");
    check("proxy: 'p:1', to: 'q:1'", "either `to` or `proxy`");
    check("proxy: 'p:1', unix: /run/a", "either `proxy` or `unix`");
    check("proxy_authorization: a", "stands without `proxy`");
    check("proxy: 'p:1', proxy_authorization: \"a\\nb\"", "line break");
}

#[test]
fn flags_make_the_plan_that_a_file_would() {
    let quick = QuickPlan {
        url: "http://h/".to_owned(),
        requests: Some(1),
        users: Some(1),
        http_version: Some("1.0".to_owned()),
        status: Some("200..999".to_owned()),
        connect: QuickConnect {
            proxy: Some("p:1".to_owned()),
            proxy_authorization: Some("Basic ${a}".to_owned()),
            ..QuickConnect::default()
        },
        ..QuickPlan::default()
    };
    let file = "http_version: 1.0\ncheck: { status: 200..999 }\n\
                connect: { proxy: 'p:1', proxy_authorization: 'Basic $${a}' }";
    assert_eq!(quick.into_plan(), Ok(plan("http://h/", file)));
}

#[test]
fn what_a_proxy_is_asked_for_must_be_allowed_too() {
    let check = |target: &str, rules: &[&str], expected: Result<(), &str>| {
        let plan = plan(target, "connect: { proxy: '10.0.0.1:3128' }");
        let list = AllowList::parse(rules.iter().copied()).unwrap();
        match (list.permits_plan(&plan), expected) {
            (Err(denied), Err(part)) => assert!(denied.to_string().contains(part), "{denied}"),
            (said, expected) => assert_eq!(said, expected.map_err(|_| unreachable!()), "{target} {rules:?}"),
        }
    };
    check("http://10.9.9.9/", &["10.0.0.1"], Err("10.9.9.9:80 is not on the allow-list"));
    check("http://10.9.9.9/", &["10.9.9.9"], Err("10.0.0.1:3128 is not on the allow-list"));
    check("http://10.9.9.9/", &["10.0.0.0/8"], Ok(()));
    check("http://shop.test/", &["10.0.0.0/8"], Err("the proxy resolves it"));
    check("http://shop.test/", &["10.0.0.1", "shop.test"], Ok(()));
    check("http://shop.test/", &["any"], Ok(()));
    check("http://169.254.169.254/", &["any"], Err("metadata service"));
}
