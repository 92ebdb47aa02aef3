//! Allow-lists: what each rule is about, what is refused whatever they say, and what a refusal says.

use super::*;

fn list(rules: &str) -> AllowList {
    AllowList::parse(rules.lines()).expect(rules)
}

/// Checks whether a plan is permitted by rules (one a line), or what is said to it.
fn check_plan(rules: &str, target: &str, load: &str, expected: Result<(), &str>) {
    let plan = crate::parse(&format!("target: http://{target}/\n{load}\nduration: 10s\n")).expect("a plan");
    let found = list(rules).permits_plan(&plan).map_err(|denied| denied.to_string());
    assert_eq!(found, expected.map_err(str::to_owned), "{target} by {rules}");
}

/// Checks whether a host that leads to an address is permitted, for a load of 100/s.
fn check_address(rules: &AllowList, host: &str, address: &str, port: u16, expected: Result<(), &str>) {
    let plan = crate::parse("target: http://h/\nrate: 100/s\nduration: 1s").expect("a plan");
    let address = address.parse().expect("an address");
    let found = rules.for_load(&plan.load).permits_address(host, address, port);
    let found = found.map_err(|denied| denied.to_string());
    assert_eq!(found, expected.map_err(str::to_owned), "{host} at {address}:{port} by {rules:?}");
}

#[test]
fn plans_are_permitted_by_name_address_and_port() {
    const RATE: &str = "rate: 100/s";
    for (rules, target) in [
        ("any", "shop.test"),
        ("any:80", "10.0.0.1"),
        ("shop.test", "SHOP.test.:8080"),
        ("Shop.Test.", "shop.test"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("*.example.org", "a.b.example.org"),
        ("10.0.0.0/8", "10.1.2.3"),
        ("10.1.2.3/8", "10.200.0.1"),
        ("10.0.0.7:8000-8100", "10.0.0.7:8100"),
        ("[fd00::/8]:8080", "[fd00::1]:8080"),
        ("fd00::1", "[fd00::1]:9"),
        ("[fd00::1]", "[fd00::1]"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("# all of them\n\nother.test\nshop.test # and why", "shop.test"),
        // Where it leads to isn't known yet.
        ("10.0.0.0/8", "shop.test"),
    ] {
        check_plan(rules, target, RATE, Ok(()));
    }
    let not_on = |target: &str| {
        format!(
            "{target} is not on the allow-list; to load it, add the rule `{target}` (`--allow`, `--allow-file`)"
        )
    };
    for (rules, target, shown) in [
        ("", "shop.test", "shop.test:80"),
        ("any:81", "shop.test", "shop.test:80"),
        ("shop.test", "a.shop.test", "a.shop.test:80"),
        ("*.example.org", "example.org", "example.org:80"),
        ("*.example.org", "badexample.org", "badexample.org:80"),
        ("10.0.0.0/8", "11.0.0.1", "11.0.0.1:80"),
        ("10.0.0.0/8:8080", "shop.test", "shop.test:80"),
        ("10.0.0.7:8000-8100", "10.0.0.7:8101", "10.0.0.7:8101"),
        ("0.0.0.0/0", "[::1]:8080", "[::1]:8080"),
    ] {
        check_plan(rules, target, RATE, Err(&not_on(shown)));
    }
}

#[test]
fn destinations_count_and_not_the_target() {
    let check = |rules: &str, connect: &str, expected: Result<(), &str>| {
        check_plan(rules, "shop.test", &format!("rate: 100/s\nconnect: {connect}"), expected);
    };
    check("10.0.0.1", "{ to: [10.0.0.1:81] }", Ok(()));
    check("back.test:81", "{ to: back.test:81 }", Ok(()));
    check("[fe80::1]:81", "{ to: '[fe80::1%eth0]:81' }", Ok(()));
    check("10.0.0.1\n10.0.0.2:82 max 100/s", "{ to: [10.0.0.1:81, 10.0.0.2:82] }", Ok(()));
    let not_on = |target: &str| {
        format!(
            "{target} is not on the allow-list; to load it, add the rule `{target}` (`--allow`, `--allow-file`)"
        )
    };
    check("shop.test", "{ to: [10.0.0.1:81] }", Err(&not_on("10.0.0.1:81")));
    check("10.0.0.1", "{ to: [10.0.0.1:81, 10.0.0.2:81] }", Err(&not_on("10.0.0.2:81")));
    check("any:80", "{ to: back.test:81 }", Err(&not_on("back.test:81")));
    let above = "the load goes up to 100/s, and the allow-list bounds 10.0.0.2:82 to 99/s; lower the rate, or raise the `max` \
                 of its rule";
    check("10.0.0.1\n10.0.0.2 max 99/s", "{ to: [10.0.0.1:81, 10.0.0.2:82] }", Err(above));
    let metadata = "169.254.169.254 is the metadata service of a cloud, which is never loaded";
    check("any", "{ to: 169.254.169.254:80 }", Err(metadata));
    let text = "target: https://shop.test/\nrate: 1/s\nduration: 1s\n";
    let plan = crate::parse(text).expect("a plan");
    assert_eq!(list("shop.test:443").permits_plan(&plan), Ok(()));
    assert!(list("shop.test:80").permits_plan(&plan).is_err());
}

#[test]
fn sockets_are_for_those_who_name_them() {
    let check = |rules: &AllowList, load: &str, expected: Result<(), &str>| {
        let text =
            format!("target: http://localhost/\nduration: 1s\nconnect: {{ unix: /run/app.sock }}\n{load}");
        let plan = crate::parse(&text).expect("a plan");
        let found = rules.permits_plan(&plan).map_err(|denied| denied.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{rules:?}");
    };
    let refused = "the socket /run/app.sock is not on the allow-list, and `any` is about hosts only; to load it, add the rule \
                   `unix:/run/app.sock` (`--allow`, `--allow-file`)";
    for rules in
        ["unix:/run/app.sock", "unix:*", "any\nunix:/run/app.sock", "unix:/run/app.sock max 100/s # why"]
    {
        check(&list(rules), "rate: 100/s", Ok(()));
    }
    for rules in ["any", "localhost", "unix:/run/app.sock2", "unix:/run", "unix", "unix:80", "127.0.0.0/8"] {
        check(&list(rules), "rate: 100/s", Err(refused));
    }
    check(&AllowList::anything(), "users: 5", Ok(()));
    check(&AllowList::loopback_only(), "users: 5", Err(refused));
    let above = "the load goes up to 100/s, and the allow-list bounds unix:/run/app.sock to 99/s; lower the rate, or raise the \
                 `max` of its rule";
    check(&list("unix:* max 99/s"), "rate: 100/s", Err(above));
    // A host may be called so, and what is about sockets is not about hosts.
    check_plan("unix", "unix:80", "rate: 1/s", Ok(()));
    check_plan("unix:8080-8081", "unix:8080", "rate: 1/s", Ok(()));
    let denied = list("unix:*").permits_address("h", "127.0.0.1".parse().expect("an address"), 80);
    assert!(matches!(denied, Err(Denied::Address { .. })), "{denied:?}");
}

#[test]
fn a_rule_may_bound_the_rate() {
    let (rules, target) = ("shop.test max 50/s\nshop.test:8080-8081 max 100/s\n10.0.0.0/8:90", "shop.test");
    check_plan(rules, target, "rate: 50/s", Ok(()));
    check_plan(rules, "shop.test:8080", "rate: 100/s\nwarmup: 1s", Ok(()));
    let above = "the load goes up to 51/s, and the allow-list bounds shop.test:80 to 50/s; lower the rate, or raise the \
                 `max` of its rule";
    check_plan(rules, target, "rate: 51/s", Err(above));
    let users = "the allow-list bounds the rate for shop.test:80, to which users can't be held; write the load as a \
                 `rate`, or a rule without `max`";
    check_plan(rules, target, "users: 1", Err(users));
    // A rule without a bound is enough; for a name, also one that may turn out to be about it.
    check_plan("shop.test max 50/s\nany", target, "users: 1", Ok(()));
    check_plan(rules, "shop.test:90", "users: 1", Ok(()));
    check_plan("10.0.0.0/8 max 50/s", "10.0.0.1", "rate: 51/s", Err(&above.replace("shop.test", "10.0.0.1")));
}

#[test]
fn the_peak_of_a_shape_is_what_counts() {
    let text = "target: http://shop.test/\nload: { stages: [{ rate: 1/s, ramp_to: 90/s, for: 1s }, { rate: 2/s, for: 1s }] }";
    let plan = crate::parse(text).expect("a plan");
    assert_eq!(list("any max 90/s").permits_plan(&plan), Ok(()));
    let denied = list("any max 89/s").permits_plan(&plan).expect_err("above");
    assert!(denied.to_string().starts_with("the load goes up to 90/s, and"), "{denied}");
    // So does the peak of what it is adjusted to.
    let adjust = crate::Adjust { at_ns: 1, to: Level::Rate("91/s".parse().expect("a rate")) };
    let load = plan.load.adjusted(adjust).expect("adjusted");
    assert!(list("any max 90/s").permits(&plan, &load).is_err());
}

#[test]
fn every_address_is_checked() {
    for (rules, host, address, port) in [
        ("any", "shop.test", "93.184.215.14", 80),
        ("shop.test:80", "shop.test.", "10.0.0.1", 80),
        ("*.test", "shop.test", "10.0.0.1", 80),
        ("10.0.0.0/8", "shop.test", "10.0.0.1", 80),
        ("10.0.0.0/8", "shop.test", "::ffff:10.0.0.1", 80),
        ("10.0.0.0/8 max 100/s", "shop.test", "10.0.0.1", 80),
        ("169.254.3.4:80", "shop.test", "169.254.3.4", 80),
        ("[fe80::1]:80", "fe80::1", "fe80::1", 80),
    ] {
        check_address(&list(rules), host, address, port, Ok(()));
    }
    let leads = "shop.test:80 leads to 11.0.0.1:80, which is not on the allow-list; to load it, add the rule \
                 `shop.test:80` or `11.0.0.1:80` (`--allow`, `--allow-file`)";
    check_address(&list("10.0.0.0/8\nother.test"), "shop.test", "11.0.0.1", 80, Err(leads));
    let above = "the load goes up to 100/s, and the allow-list bounds 10.0.0.1:80 to 99/s; lower the rate, or raise the \
                 `max` of its rule";
    check_address(&list("10.0.0.0/8 max 99/s"), "shop.test", "10.0.0.1", 80, Err(above));
}

#[test]
fn loopback_only_means_this_machine() {
    let loopback = AllowList::loopback_only();
    for address in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
        check_address(&loopback, "localhost", address, 8080, Ok(()));
    }
    for address in ["0.0.0.0", "10.0.0.1", "::", "::2", "128.0.0.1"] {
        let address: IpAddr = address.parse().expect("an address");
        assert!(loopback.permits_address("localhost", address, 80).is_err(), "{address}");
    }
    assert!(list("# nothing").is_empty() && !loopback.is_empty());
}

#[test]
fn addresses_are_asked_about_where_no_name_is_enough() {
    let check = |rules: &str, target: &str, expected: bool| {
        let plan =
            crate::parse(&format!("target: http://{target}/\nrate: 100/s\nduration: 1s")).expect("a plan");
        let found = list(rules).for_load(&plan.load).needs_addresses(&plan.target.remote());
        assert_eq!(found, expected, "{target} by {rules}");
    };
    check("any", "shop.test", false);
    check("shop.test\n10.0.0.0/8", "shop.test", false);
    check("10.0.0.0/8", "shop.test", true);
    check("shop.test max 99/s\n10.0.0.0/8", "shop.test", true);
    check("shop.test:81\n10.0.0.0/8", "shop.test", true);
    check("10.0.0.0/8", "10.0.0.1", false);
}

#[test]
fn a_level_is_as_hard_as_it_says() {
    let address = "10.0.0.1".parse().expect("an address");
    let at = |level| list("10.0.0.0/8 max 90/s").for_level(level).permits_address("shop.test", address, 80);
    let rate = |text: &str| Level::Rate(text.parse().expect("a rate"));
    assert_eq!(at(rate("90/s")), Ok(()));
    assert!(matches!(at(rate("91/s")), Err(Denied::Rate { .. })));
    assert!(matches!(at(Level::Users(1)), Err(Denied::Users { .. })));
}

#[test]
fn link_local_addresses_are_for_those_who_name_them() {
    for rules in ["any", "shop.test", "169.254.0.0/16", "169.254.3.4:81"] {
        let link_local = "169.254.3.4:80 is link-local, where services trust whoever reaches them; to load it nevertheless, \
                          add the rule `169.254.3.4:80`, which names it (`--allow`, `--allow-file`)";
        check_address(&list(rules), "shop.test", "169.254.3.4", 80, Err(link_local));
    }
    for (rules, address) in [
        ("any\n169.254.169.254", "169.254.169.254"),
        ("any\n169.254.169.254", "::ffff:169.254.169.254"),
        ("fd00:ec2::254\nshop.test", "fd00:ec2::254"),
        ("any", "fd20:ce::254"),
        ("any\n169.254.170.2", "169.254.170.2"),
        ("any\n169.254.170.23", "169.254.170.23"),
        ("any\n100.100.100.200", "::ffff:100.100.100.200"),
        ("168.63.129.16", "168.63.129.16"),
        ("192.0.0.0/24", "192.0.0.192"),
        ("fd00::/8", "fd00:ec2::23"),
    ] {
        let address: IpAddr = address.parse().expect("an address");
        let denied = list(rules).permits_address("shop.test", address, 80).expect_err(rules);
        assert_eq!(denied, Denied::Metadata { address: address.to_canonical() }, "{rules}");
    }
    check_plan(
        "any",
        "169.254.169.254",
        "users: 1",
        Err("169.254.169.254 is the metadata service of a cloud, which is never loaded"),
    );
}

#[test]
fn lines_that_are_no_rules_are_all_named() {
    let check = |rule: &str, expected: RuleError| {
        let faults = AllowList::parse(["any", rule]).expect_err(rule);
        assert_eq!(faults, [RuleFault { line: 2, rule: rule.to_owned(), error: expected }]);
    };
    for rule in ["http://shop.test", "https://10.0.0.1:80"] {
        check(rule, RuleError::Url);
    }
    for rule in ["a b", "any max", "any 100/s", "any max 1/s more", "[::1]80"] {
        check(rule, RuleError::Form);
    }
    for rule in
        ["unix:app.sock", "unix:", "unix:/", "unix:/run/../x", "unix:/run//x", "unix:/run/*", "unix:*:80"]
    {
        check(rule, RuleError::Unix);
    }
    for rule in ["*", "*:80", "a.*.org", "*.*.org", "*org"] {
        check(rule, RuleError::Star);
    }
    for rule in ["[::1", "*.10.0.0.1", "a:b:c", ":80", "300.0.0.1", "a_b\u{7f}"] {
        let faults = AllowList::parse([rule]).expect_err(rule);
        assert_eq!(faults[0].error, RuleError::Host, "{rule}");
    }
    for rule in ["10.0.0.0/33", "shop.test/8", "[fd00::/129]:80", "10.0.0.0/"] {
        check(rule, RuleError::Network);
    }
    for rule in ["h:0", "h:65536", "h:", "h:+80", "h:80-", "h:81-80", "h:http"] {
        check(rule, RuleError::Port);
    }
    let faults = AllowList::parse("# two of three\nh max 5\nany\nh:x".lines()).expect_err("faults");
    let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "rule 2, `h max 5`: found a number without one of the units /s /m /h behind `max`, expected a rate such as \
             500/s",
            "rule 4, `h:x`: a port is a number from 1 to 65535, or two of them, the lower one first: 8000-8100",
        ]
    );
}
