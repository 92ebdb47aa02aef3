//! What holds of every text and of every plan: nothing panics, and the canonical form reads back as the same plan.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use volley_plan::{Faults, Plan, QuickConnect, QuickPlan, QuickTls, parse};

const PLAN: &str = "version: 1\nname: 'a'\ntarget: http://[::1]:8080/a?b=c\nmethod: POST\nheaders:\n  x-a: \
                    \"b\"\n  c: [d, 'e']\nbody: |\n  {\"f\": 1}\nusers: 5\nrequests: 10\nduration: 1m30s\n\
                    drain: 1.5s\nkeep_alive: true\ntimeout: 3s\nconnect_timeout: 1s\nagents: {min: 1, wait: 0s}\n";

const OPEN_PLAN: &str = "target: http://h\nhttp: {timeout: 3s, connections: 5}\nload:\n  arrivals: poisson\n  \
                         max_in_flight: 10\n  warmup: 1s\n  stages:\n    - {rate: 50/s, ramp_to: 1.5/m, for: 2m}\n    - \
                         {ramp_to: 9/s, for: 0s}\n    - steps: {from: 1/s, to: 9/s, by: 2/s, every: 1s}\n  tolerate: \
                         0.5%\nscenarios:\n  'a b':\n    weight: 3\n    steps:\n      - get: /a?b\n        name: c\n      - \
                         think: 1s..2s\n      - method: X\n        path: /\n  d: {steps: [put: /]}\nagents: {min: 5, max: 7, labels: {zone: eu}, elastic: true, \
                         share_by: even, lease: 4s, beside: true}\nthresholds:\n  - p99 < 9ms\n  - 'p9.5{step=c,scenario=\"a b\"} >= 1us'\n  - {expect: \"errors{kind=reset} <= 3\", over: 5s, after: 3s, abort: true, min_samples: 7}\n";

const TLS_PLAN: &str = "target: https://[fe80::1%25eth0]:8443/a\nusers: 1\nduration: 1s\ntimeout: 9s\nfirst_byte_timeout: 5s\nidle_timeout: \
                        2s\nhost: 'shop.test:8'\ntls: {ca: a/ca.pem, certificate: me.pem, key: me.key, server_name: \
                        Shop.Test., versions: ['1.3'], resumption: false}\nconnect: {to: ['[fe80::1%eth0]:443', \
                        'name:80', 10.0.0.1:81], resolve: 30s, from: [10.0.0.5, 'fd00::5']}\nbody_size: \
                        10MiB\nask_first: 2s\ncheck: {status: [200, 3xx, 404..409], body: {contains: 'u'}}\n";

/// What must hold of an answer, whichever it is.
fn check(text: &str, answer: &Result<Plan, Faults>) -> Result<(), TestCaseError> {
    match answer {
        Ok(plan) => {
            let again = parse(&plan.canonical_json());
            prop_assert_eq!(again.as_ref(), Ok(plan), "{}", text);
            prop_assert_eq!(again.map(|plan| plan.hash()), Ok(plan.hash()));
        }
        Err(faults) => {
            prop_assert!(!faults.0.is_empty(), "refused without a reason: {}", text);
            let lines = text.split(['\n', '\r']).count() + 1;
            for fault in &faults.0 {
                prop_assert!(
                    fault.line().is_none_or(|line| (1..=lines).contains(&(line as usize))),
                    "{}",
                    fault
                );
                prop_assert!(!fault.to_string().contains('\n'), "{:?}", fault);
            }
        }
    }
    Ok(())
}

/// A value for any key, some right and some not.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,7}",
        "[0-9]{1,3}(ns|us|ms|s|m|h|x)([0-9]{1,2}s)?",
        "http://[a-z\\[\\]:.]{1,9}(:[0-9]{1,5})?(/[a-z?&=%$\\{\\}]{0,9})?",
        Just("true".to_owned()),
        "[\\[\\]{}:,\"'#&*!|>%@`$ a-z0-9-]{0,12}",
        any::<String>().prop_map(|text| serde_json::Value::String(text).to_string()),
    ]
}

fn key() -> impl Strategy<Value = String> {
    const KEYS: [&str; 78] = [
        "version",
        "name",
        "target",
        "method",
        "headers",
        "body",
        "users",
        "requests",
        "duration",
        "drain",
        "keep_alive",
        "timeout",
        "connect_timeout",
        "connections",
        "agents",
        "rate",
        "iterations",
        "iterations_per_user",
        "warmup",
        "arrivals",
        "max_in_flight",
        "pacing",
        "tolerate",
        "load",
        "http",
        "scenarios",
        "first_byte_timeout",
        "idle_timeout",
        "host",
        "tls",
        "  insecure",
        "  ca",
        "  certificate",
        "  key",
        "  server_name",
        "  versions",
        "  resumption",
        "connect",
        "  to",
        "  unix",
        "  family",
        "  resolve",
        "  from",
        "body_file",
        "body_size",
        "ask_first",
        "check",
        "  status",
        "  body",
        "    contains",
        "usrs",
        "  min",
        "  max",
        "  labels",
        "  share_by",
        "  lease",
        "  x-a",
        "  stages",
        "  - rate",
        "  - users",
        "    ramp_to",
        "    for",
        "  - steps",
        "      from",
        "  a",
        "    weight",
        "    steps",
        "    - get",
        "    - think",
        "      path",
        "thresholds",
        "  - expect",
        "    over",
        "    after",
        "    abort",
        "    min_samples",
        "- ",
        "",
    ];
    prop::sample::select(KEYS.as_slice()).prop_map(str::to_owned)
}

/// What can be typed, so that most of it makes a plan.
fn quick() -> impl Strategy<Value = QuickPlan> {
    let duration = || prop::option::of("[1-9][0-9]{0,3}(ms|s|m)([1-9]us)?");
    let header = "[A-Za-z-]{1,6}:[ -~ü]{0,12}";
    let request = (
        "https?://([a-z]{1,8}|127.0.0.1)(:[1-9][0-9]{0,3})?/[!-~ü]{0,12}",
        prop::option::of("[A-Z]{1,8}"),
        prop::collection::vec(header, 0..6),
        prop::option::of(any::<String>()),
        any::<Option<bool>>(),
    );
    let load = (
        prop::option::of(1_u64..200_000),
        prop::option::of("[1-9][0-9]{0,5}/(s|m|h)"),
        prop::option::of(1_u64..2_000_000_000_000),
        prop::option::of(select(&["uniform", "poisson"])),
        prop::option::of(1_u64..200_000),
        prop::option::of("[0-9]{1,2}(\\.[0-9])?%"),
    );
    let times = (duration(), duration(), duration(), duration(), prop::array::uniform3(duration()));
    (request, load, times, quick_connection()).prop_map(
        |((url, method, headers, body, keep_alive), load, times, (tls, connect, asked))| {
            let (duration, warmup, timeout, drain, [connect_timeout, first_byte_timeout, idle_timeout]) =
                times;
            let (body_file, body_size, ask_first, host) = asked;
            let (connections, rate, requests, arrivals, max_in_flight, tolerate) = load;
            let (users, connections) = if rate.is_some() { (None, connections) } else { (connections, None) };
            let (warmup, arrivals) = (warmup.filter(|_| rate.is_some()), arrivals.filter(|_| rate.is_some()));
            let max_in_flight = max_in_flight.filter(|_| rate.is_some());
            QuickPlan {
                url,
                users,
                rate,
                connections,
                requests,
                duration,
                warmup,
                arrivals,
                max_in_flight,
                tolerate,
                method,
                headers,
                body,
                body_file,
                body_size,
                ask_first,
                host,
                keep_alive,
                timeout,
                connect_timeout,
                first_byte_timeout,
                idle_timeout,
                tls,
                connect,
                drain,
                ..QuickPlan::default()
            }
        },
    )
}

/// File and size of the body, whether the target is asked first, and `Host`.
type QuickRest = (Option<String>, Option<String>, Option<String>, Option<String>);

/// What can be typed of connections and bodies, now and then.
fn quick_connection() -> impl Strategy<Value = (QuickTls, QuickConnect, QuickRest)> {
    let seldom = |pattern: &'static str| prop::option::weighted(0.2, pattern);
    let few =
        |pattern: &'static str| prop_oneof![4 => Just(Vec::new()), 1 => prop::collection::vec(pattern, 1..4)];
    let tls = (
        prop::bool::weighted(0.1),
        seldom("[a-z$\\{]{1,3}(/[a-zü]{1,3})?"),
        seldom("[a-z]{1,2}"),
        seldom("[a-z.:-]{1,9}"),
        few("1\\.[23]"),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(insecure, ca, pair, server_name, versions, no_resumption)| {
            let key = pair.clone();
            QuickTls { insecure, ca, certificate: pair, key, server_name, versions, no_resumption }
        });
    let connect = (
        few("([a-z$\\{]{1,3}|10.0.0.1|\\[fe80::1(%[a-z]{1,2})?\\]):[1-9]"),
        seldom("/[a-z$\\{ ]{1,9}"),
        prop::option::weighted(0.1, any::<bool>()),
        seldom("once|connection|[1-9]0?s"),
        few("10.0.0.[1-9]|fd00::[1-9]"),
    )
        .prop_map(|(to, unix, family, resolve, from)| {
            let (v4, v6) = (family == Some(true), family == Some(false));
            QuickConnect { to, unix, v4, v6, resolve, from, ..QuickConnect::default() }
        });
    let asked = (
        seldom("[a-z$\\{]{1,3}(/[a-z.]{1,3})?"),
        seldom("[1-9][0-9]?([KMG]i)?B"),
        seldom("true|false|[1-9]s"),
        seldom("[a-z$\\{.]{1,9}(:[0-9]{1,3})?"),
    );
    (tls, connect, asked)
}

fn select(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// Lines of a valid load of the open model, in either form.
fn open_load() -> impl Strategy<Value = String> {
    let rate = || "[1-9][0-9]{0,4}(\\.[0-9]{1,3})?/(s|m|h)";
    let time = || "[0-9]{1,3}(s|ms)([1-9][0-9]{0,5}ns)?";
    let next = prop_oneof![
        (rate(), time()).prop_map(|(rate, time)| format!("{{ rate: {rate}, for: {time} }}")),
        (rate(), time()).prop_map(|(rate, time)| format!("{{ ramp_to: {rate}, for: {time} }}")),
        (rate(), rate(), time())
            .prop_map(|(from, to, time)| format!("{{ rate: {from}, ramp_to: {to}, for: {time} }}")),
        (1_u32..90, 1_u32..90, 1_u32..50, 1_u32..9).prop_map(|(from, to, by, every)| {
            format!("{{ steps: {{ from: {from}/s, to: {to}/s, by: {by}/s, every: {every}s }} }}")
        }),
    ];
    let stages = (rate(), prop::collection::vec(next, 0..6))
        .prop_map(|(first, next)| format!("stages: [{{ rate: {first}, for: 1s }}, {}]", next.join(", ")));
    let bounds = (
        prop::option::of(time()).prop_map(|warmup| warmup.map(|warmup| format!("warmup: {warmup}"))),
        prop::option::of(1_u32..1000).prop_map(|most| most.map(|most| format!("max_in_flight: {most}"))),
        prop::option::of(1_u32..1000).prop_map(|count| count.map(|count| format!("iterations: {count}"))),
        select(&["uniform", "poisson"]).prop_map(|kind| Some(format!("arrivals: {kind}"))),
    )
        .prop_map(|(warmup, most, count, kind)| {
            [warmup, most, count, kind].into_iter().flatten().collect::<Vec<_>>()
        });
    let count = (rate(), 1_u32..600)
        .prop_map(|(rate, count)| (format!("rate: {rate}"), format!("iterations: {count}")));
    prop_oneof![
        (rate(), "[1-9][0-9]{0,3}s", bounds).prop_map(|(rate, time, bounds)| {
            format!("rate: {rate}\nduration: {time}\n{}\n", bounds.join("\n"))
        }),
        (stages, 1_u32..1000)
            .prop_map(|(stages, most)| format!("load: {{ {stages}, max_in_flight: {most} }}\n")),
        count.prop_map(|(rate, count)| format!("{rate}\n{count}\n")),
    ]
}

/// Lines of a valid load of the closed model, in either form.
fn closed_load() -> impl Strategy<Value = String> {
    let next = prop_oneof![
        (0_u32..1000, 0_u32..100).prop_map(|(users, time)| format!("{{ users: {users}, for: {time}s }}")),
        (0_u32..1000, 0_u32..100).prop_map(|(users, time)| format!("{{ ramp_to: {users}, for: {time}ms }}")),
    ];
    let stages = (1_u32..1000, prop::collection::vec(next, 0..6))
        .prop_map(|(first, next)| format!("stages: [{{ users: {first}, for: 1s }}, {}]", next.join(", ")));
    let end = prop_oneof![
        (1_u32..1000).prop_map(|count| format!("iterations: {count}")),
        (1_u32..1000).prop_map(|count| format!("iterations_per_user: {count}")),
        (1_u32..1000, 0_u32..10).prop_map(|(time, warmup)| format!("duration: {time}s\nwarmup: {warmup}s")),
    ];
    let pacing = prop::option::of("[1-9][0-9]?ms")
        .prop_map(|pacing| pacing.map_or(String::new(), |p| format!("pacing: {p}\n")));
    prop_oneof![
        (1_u32..1000, end, pacing)
            .prop_map(|(users, end, pacing)| format!("users: {users}\n{end}\n{pacing}")),
        (stages, "[0-9]?s").prop_map(|(stages, warmup)| format!("load: {{ {stages}, warmup: 1{warmup} }}\n")),
    ]
}

/// Lines of valid scenarios, or of one request in the short form.
fn scenarios() -> impl Strategy<Value = String> {
    let path = "/[a-z]{0,3}(\\?[a-z]=[0-9ü]{1,2})?";
    let step = prop_oneof![
        4 => (select(&["get", "head", "post", "put", "patch", "delete", "options"]), path)
            .prop_map(|(verb, path)| format!("{verb}: '{path}'")),
        4 => (path, parts()).prop_map(|(path, parts)| format!("put: '{path}'{parts}")),
        1 => ("[A-Z]{1,6}", path).prop_map(|(method, path)| format!("method: \"{method}\", path: '{path}', body: 'x$${{'")),
        1 => "[0-9]s".prop_map(|time| format!("think: {time}")),
        1 => ("[0-9]s", "1[0-9]s").prop_map(|(least, most)| format!("think: {least}..{most}")),
    ];
    let steps = prop::collection::vec(step, 0..8)
        .prop_map(|steps| steps.iter().map(|step| format!(", {{ {step} }}")).collect::<String>());
    let scenario = (1_u32..=1000, steps)
        .prop_map(|(weight, steps)| format!("{{ weight: {weight}, steps: [get: /{steps}] }}"));
    prop_oneof![
        Just("method: POST\nbody: 'a'\n".to_owned()),
        prop::collection::btree_map("[a-zü .:/~-]{1,8}", scenario, 1..5).prop_map(|scenarios| {
            let lines = scenarios.iter().map(|(name, scenario)| format!("  \"{name}\": {scenario}\n"));
            format!("scenarios:\n{}", lines.collect::<String>())
        }),
    ]
}

/// Lines of a target and of how connections to it are made, all valid.
fn connections() -> impl Strategy<Value = String> {
    let name = "[a-z]{1,5}(\\.[a-z]{1,3})?";
    let file = "[a-zü.]{0,2}[a-z](/[a-z \\$]{1,3}x)?";
    let quoted = |key: &'static str, pattern: &'static str| {
        prop::option::of(pattern)
            .prop_map(move |text| text.map_or(String::new(), |text| format!("{key}: '{text}', ")))
    };
    let tls = prop_oneof![
        (quoted("ca", file), quoted("server_name", name))
            .prop_map(|(ca, server_name)| format!("{ca}{server_name}")),
        (file, file, any::<bool>()).prop_map(|(certificate, key, on)| format!(
            "certificate: '{certificate}', key: '{key}', insecure: {on}, "
        )),
        (select(&["['1.2', '1.3']", "['1.3', '1.2']", "'1.2'", "1.3", "[1.3]"]), any::<bool>())
            .prop_map(|(versions, on)| format!("versions: {versions}, resumption: {on}, ")),
    ];
    let remote = prop_oneof![
        (name, 1_u16..).prop_map(|(name, port)| format!("{name}:{port}")),
        (any::<[u8; 4]>(), 1_u16..).prop_map(|(ip, port)| format!("{}:{port}", std::net::Ipv4Addr::from(ip))),
        (any::<[u16; 7]>(), 1_u16.., quoted("", "[a-z][a-z0-9._~-]{0,6}")).prop_map(|(ip, port, zone)| {
            let [a, b, c, d, e, f, g] = ip;
            let zone = zone.split('\'').nth(1).map_or(String::new(), |zone| format!("%{zone}"));
            let ip = std::net::Ipv6Addr::from([0xfe80, a, b, c, d, e, f, g]);
            format!("[{ip}{zone}]:{port}")
        }),
    ];
    let connect = prop_oneof![
        "/[a-zü \\$]{1,20}x".prop_map(|path| format!("unix: '{path}'")),
        prop::collection::btree_set(remote, 1..5).prop_map(|to| format!("to: {:?}", Vec::from_iter(to))),
        (select(&["4", "'6'", "any"]), select(&["once", "connection", "1s", "1m30s", "24h"]))
            .prop_map(|(family, resolve)| format!("family: {family}, resolve: {resolve}")),
        "[a-z]{1,5}:[1-9]".prop_map(|at| format!("proxy: '{at}', proxy_authorization: '{at}$$'")),
        Just("from: [10.0.0.5, 'fd00::5', '::ffff:10.0.0.6'], family: any".to_owned()),
    ];
    let times = (0_u32..100, 0_u32..100).prop_map(|(first, idle)| {
        format!("timeout: 99ms, first_byte_timeout: {}ms, idle_timeout: {}ms, ", first.max(1), idle.max(1))
    });
    let host = quoted("host", "[A-Za-z]{1,5}(\\.[a-z]{1,3})?(:[1-9][0-9]{0,3})?|\\[::1\\]");
    (prop::option::of(tls), prop::option::of(connect), prop::option::of(times), host, name).prop_map(
        |(tls, connect, times, host, name)| {
            let scheme = if tls.is_some() { "https" } else { "http" };
            let braced = |key: &str, keys: Option<String>| {
                keys.map_or(String::new(), |keys| format!("{key}: {{ {keys} }}, "))
            };
            let (tls, connect) = (braced("tls", tls), braced("connect", connect));
            let times = times.unwrap_or_default();
            format!("target: {scheme}://{name}/\nhttp: {{ {times}{host}{tls}{connect} }}\n")
        },
    )
}

/// What a request sends and what its answer must be, in keys that a comma goes before.
fn parts() -> impl Strategy<Value = String> {
    let body = prop_oneof![
        (1_u64..=1 << 40).prop_map(|bytes| format!(", body_size: {bytes}B")),
        "[a-z]{1,3}(/[a-zü \\$]{1,3}x)?".prop_map(|name| format!(", body_file: '{name}'")),
        "[a-zü]{1,5}".prop_map(|text| format!(", body: '{text}'")),
    ];
    let asked = (body, select(&["true", "false", "1ms", "5s"]))
        .prop_map(|(body, wait)| format!("{body}, ask_first: {wait}"));
    let status = prop_oneof![
        (200_u16..1000).prop_map(|status| status.to_string()),
        (2_u16..10).prop_map(|class| format!("{class}xx")),
        (200_u16..1000, 200_u16..1000).prop_map(|(a, b)| format!("{}..{}", a.min(b), a.max(b))),
    ];
    let statuses =
        prop::collection::vec(status, 1..4).prop_map(|all| format!("status: [{}], ", all.join(", ")));
    let body = prop_oneof![
        "[a-zü \\$]{0,5}".prop_map(|text| format!("body: {{ is: '{text}' }}")),
        "[a-zü \\$]{1,5}".prop_map(|text| format!("body: {{ contains: '{text}' }}")),
        (0_u64..=1 << 40).prop_map(|bytes| format!("body: {{ bytes: {bytes} }}")),
    ];
    let check = (prop::option::of(statuses), prop::option::of(body)).prop_map(|(status, body)| {
        format!(", check: {{ {}{} }}", status.unwrap_or_default(), body.unwrap_or_default())
    });
    (prop::option::of(asked), prop::option::of(check))
        .prop_map(|(asked, check)| asked.unwrap_or_default() + &check.unwrap_or_default())
}

/// Lines of valid thresholds of any plan, each only once.
fn thresholds() -> impl Strategy<Value = String> {
    let sign = || select(&["<", "<=", ">", ">="]);
    let time = "[1-9][0-9]{0,3}(us|ms|s)";
    let share = "[0-9]{1,2}(\\.[0-9]{1,6})?%|0\\.[0-9]{1,6}";
    let expect = prop_oneof![
        ("(service_|lag_)?(p[0-9]{1,2}(\\.[0-9]{1,3})?|mean|max)", sign(), time),
        ("(error_rate(\\{(status=[1-9]0[0-9]|kind=reset)\\})?|check_rate)", sign(), share),
        ("(started|ok)_rate", sign(), "[1-9][0-9]{0,3}(\\.[0-9]{1,6})?/(s|m|h)"),
        ("errors|missed|unknown", sign(), "[0-9]{1,9}"),
        ("missed|unknown", sign(), "[0-9]{1,2}(\\.[0-9]{1,6})?%"),
    ];
    let expect = expect.prop_map(|(metric, sign, limit)| format!("{metric} {sign} {limit}"));
    let abort = prop::bool::weighted(0.2);
    prop::collection::vec((expect, abort), 1..4).prop_map(|all| {
        // No two have the same number of samples, so that none stands there twice.
        let lines = all.iter().zip(1..).map(|((expect, abort), least)| {
            format!("  - {{ expect: \"{expect}\", abort: {abort}, min_samples: {least} }}\n")
        });
        format!("thresholds:\n{}", lines.collect::<String>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/properties.regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_gets_an_answer(text: String) {
        check(&text, &parse(&text))?;
    }

    #[test]
    fn text_like_yaml_gets_an_answer(text in "([\\[\\]{}:,\"'#&*!|>%@`?$ \\t\n\r\\\\a-c0-9.\u{feff}-]|: |- |--- )*") {
        check(&text, &parse(&text))?;
    }

    #[test]
    fn any_lines_get_an_answer(
        begin in prop::sample::select(vec!["", "target: http://h\nusers: 1\nrequests: 1\n"]),
        lines in prop::collection::vec((key(), value()), 0..6),
    ) {
        let text: String = lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        let text = format!("{begin}{text}");
        check(&text, &parse(&text))?;
    }

    #[test]
    fn a_damaged_plan_gets_an_answer(
        (plan, at) in prop::sample::select(vec![PLAN, OPEN_PLAN, TLS_PLAN]).prop_flat_map(|plan| (Just(plan), 0..plan.len())),
        length in 0_usize..20,
        with in "[\\[\\]{}:,\"'#&*!|>$ \n\ta-z0-9]{0,4}",
    ) {
        let mut text = plan.to_owned();
        text.replace_range(at..(at + length).min(plan.len()), &with);
        check(&text, &parse(&text))?;
        let canonical = parse(plan).unwrap().canonical_json();
        let mut text = canonical.clone();
        text.replace_range(at.min(canonical.len())..(at + length).min(canonical.len()), &with);
        check(&text, &parse(&text))?;
    }

    #[test]
    fn valid_plans_of_both_models_read_back(
        load in prop_oneof![open_load(), closed_load()],
        scenarios in scenarios(),
        connections in connections(),
        thresholds in thresholds(),
    ) {
        let text = format!("{connections}{load}{scenarios}{thresholds}");
        let answer = parse(&text);
        prop_assert!(answer.is_ok(), "{}\n{}", answer.unwrap_err(), text);
        check(&text, &answer)?;
    }

    #[test]
    fn flags_get_an_answer(quick in quick()) {
        check("", &quick.into_plan())?;
    }
}

#[test]
fn the_plans_that_are_damaged_are_right_before() {
    for plan in [PLAN, OPEN_PLAN, TLS_PLAN] {
        assert!(parse(plan).is_ok(), "{}", parse(plan).unwrap_err());
    }
}
