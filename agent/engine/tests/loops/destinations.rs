//! Where connections go and come from: destinations in turn, families, zones, Unix sockets, source addresses, resolving.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use volley_plan::allow::AllowList;
use volley_plan::link::Share;
use volley_plan::{Connect, Family, Plan, Remote, Resolve, Target as PlanTarget};
use volley_stats::{ErrorKind, Timed};

use crate::run::{Run, plan, run};
use crate::target::{Target, closed_address};

fn remote(host: &str, port: u16) -> Remote {
    Remote { host: host.to_owned(), port, zone: None }
}

fn at(target: &Target) -> Remote {
    remote(&target.address.ip().to_string(), target.address.port())
}

/// A plan whose connections go to these.
fn to(to: Vec<Remote>, rest: &str) -> Plan {
    let mut plan = plan("192.0.2.1:80".parse().unwrap(), rest);
    plan.http.connect.to = to;
    plan
}

fn local(ip: &str) -> Target {
    Target::at(ip.parse().unwrap(), |peer| while peer.request().and_then(|_| peer.hello()).is_some() {})
}

#[tokio::test]
async fn case_24_destinations_take_turns_and_each_is_counted() {
    let (one, two) = (local("127.0.0.1"), local("127.0.0.2"));
    let report = run(to(vec![at(&one), at(&two)], "users: 3, requests: 60, keep_alive: false"), 1).await;
    assert_eq!((report.counters().ok, report.counters().connections_opened), (60, 60));
    let (of_one, of_two) = (one.seen().connections(), two.seen().connections());
    // Each user goes on to the next address with each connection.
    assert_eq!(of_one + of_two, 60);
    assert!(of_one.abs_diff(of_two) <= 3, "{of_one} and {of_two}");
    let mut expected =
        vec![(one.address.to_string(), of_one, 0, of_one), (two.address.to_string(), of_two, 0, of_two)];
    expected.sort();
    assert_eq!(report.addresses(), expected);
}

#[tokio::test]
async fn case_24_the_next_destination_serves_where_one_fails_and_the_failure_is_counted() {
    let (open, closed) = (local("127.0.0.1"), closed_address());
    let dead = remote("127.0.0.1", closed.port());
    let report = run(to(vec![dead, at(&open)], "users: 2, requests: 20, keep_alive: false"), 1).await;
    assert_eq!((report.counters().ok, report.counters().failed), (20, 0));
    let addresses: BTreeMap<_, _> =
        report.addresses().into_iter().map(|(name, c, f, r)| (name, (c, f, r))).collect();
    assert_eq!(addresses[&open.address.to_string()], (20, 0, 20));
    let (connections, failures, requests) = addresses[&closed.to_string()];
    assert_eq!((connections, requests), (0, 0));
    assert!((9..=20).contains(&failures), "{failures}");
}

#[tokio::test]
async fn the_host_stays_the_targets() {
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&heads);
    let target = Target::new(move |peer| {
        while let Some(head) = peer.request() {
            kept.lock().unwrap().push(head);
            peer.hello();
        }
    });
    let report = run(to(vec![at(&target)], "users: 1, requests: 1"), 1).await;
    assert_eq!(report.counters().ok, 1);
    assert!(heads.lock().unwrap()[0].contains("host: 192.0.2.1\r\n"), "{heads:?}");
}

#[tokio::test]
async fn ipv6_is_an_address_like_any_other_with_a_zone_or_without() {
    let target = local("::1");
    for zone in [None, Some("lo".to_owned()), Some("1".to_owned())] {
        let six = Remote { zone, ..at(&target) };
        let report = run(to(vec![six], "users: 2, requests: 10"), 1).await;
        assert_eq!(report.counters().ok, 10);
    }
}

#[tokio::test]
async fn a_family_leaves_the_others_addresses_alone() {
    let target = local("127.0.0.1");
    let mut plan = to(vec![remote("localhost", target.address.port())], "users: 2, requests: 10");
    plan.http.connect.family = Family::V4;
    let report = run(plan, 1).await;
    assert_eq!(report.addresses(), [(target.address.to_string(), 2, 0, 10)]);
}

#[tokio::test]
async fn connections_come_from_the_sources_that_are_here_in_turn() {
    let peers = Arc::<Mutex<BTreeMap<IpAddr, u32>>>::default();
    let seen = Arc::clone(&peers);
    let target = Target::new(move |peer| {
        *seen.lock().unwrap().entry(peer.stream.peer_addr().unwrap().ip()).or_default() += 1;
        while peer.request().and_then(|_| peer.hello()).is_some() {}
    });
    let mut plan = plan(target.address, "users: 4, requests: 40, keep_alive: false");
    plan.http.connect.from =
        ["127.0.0.5", "203.0.113.77", "127.0.0.6"].map(|ip| ip.parse().unwrap()).to_vec();
    let report = run(plan, 1).await;
    assert_eq!(report.counters().ok, 40);
    let peers = peers.lock().unwrap();
    let of = |ip: &str| peers.get(&ip.parse().unwrap()).copied().unwrap_or(0);
    assert_eq!(peers.len(), 2, "{peers:?}");
    assert!(of("127.0.0.5") >= 16 && of("127.0.0.6") >= 16, "{peers:?}");
}

/// Answers every request on a Unix socket, until the process ends.
fn unix_target(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut request = [0; 1024];
                while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                    let large = [b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", &[b'x'; 200_000][..]];
                    if large.iter().any(|piece| stream.write_all(piece).is_err()) {
                        return;
                    }
                }
            });
        }
    });
}

fn over_unix(path: &Path) -> Plan {
    let mut plan = plan("192.0.2.1:80".parse().unwrap(), "users: 2, requests: 20, timeout: 5s");
    plan.http.connect = Connect { unix: Some(path.to_owned()), ..Connect::default() };
    plan
}

#[tokio::test]
async fn a_unix_socket_is_a_destination() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    unix_target(&path);
    let report = run(over_unix(&path), 2).await;
    assert_eq!((report.counters().ok, report.counters().body_bytes), (20, 20 * 200_000));
    assert_eq!(report.addresses(), [(format!("unix:{}", path.display()), 2, 0, 20)]);
    // Nobody is there.
    let missing = folder.path().join("missing.sock");
    assert_eq!(run(over_unix(&missing), 1).await.errors(), [(ErrorKind::ConnectUnreachable, 20)]);
    // Nobody listens any more.
    let stale = folder.path().join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    assert_eq!(run(over_unix(&stale), 1).await.errors(), [(ErrorKind::ConnectRefused, 20)]);
}

#[tokio::test]
async fn names_are_resolved_as_often_as_the_plan_wants() {
    let target = local("127.0.0.1");
    let check = async |resolve, expected: fn(u64) -> bool| {
        let localhost = remote("localhost", target.address.port());
        let mut plan = to(vec![localhost], "users: 2, requests: 20, keep_alive: false");
        (plan.http.connect.family, plan.http.connect.resolve) = (Family::V4, resolve);
        let report = run(plan, 1).await;
        let resolved = report.total.timing.of(Timed::Resolve).count();
        assert_eq!((report.counters().ok, report.total.timing.of(Timed::Connect).count()), (20, 20));
        assert!(expected(resolved), "{resolve:?}: {resolved}");
    };
    check(Resolve::Once, |resolved| resolved == 0).await;
    check(Resolve::EachConnection, |resolved| resolved == 20).await;
    check(Resolve::Every(Duration::from_secs(60)), |resolved| resolved == 0).await;
    check(Resolve::Every(Duration::from_nanos(1)), |resolved| resolved >= 10).await;
}

/// Why an engine refuses a plan.
async fn refusal(plan: Plan, rules: &[&str]) -> String {
    let (share, allow) = (Share::all(&plan), AllowList::parse(rules).unwrap());
    Run::launch_share(plan, share, 1, allow).refuses().await
}

#[tokio::test]
async fn what_cannot_be_connected_to_is_refused_before_the_run() {
    let rest = "users: 1, requests: 1";
    let check = async |change: &dyn Fn(&mut Plan), rules: &[&str], part: &str| {
        let mut plan = plan("127.0.0.1:80".parse().unwrap(), rest);
        change(&mut plan);
        let reason = refusal(plan, rules).await;
        assert!(reason.contains(part), "{reason}");
    };
    let any: &[&str] = &["any"];
    check(&|plan| plan.http.connect.family = Family::V6, any, "has no IPv6 address").await;
    check(
        &|plan| plan.http.connect.from = vec!["203.0.113.7".parse().unwrap()],
        any,
        "none of the source addresses is this machine's (203.0.113.7)",
    )
    .await;
    check(
        &|plan| {
            plan.http.connect.to =
                vec![Remote { zone: Some("no-such-one".to_owned()), ..remote("fe80::1", 80) }];
        },
        any,
        "no network interface no-such-one",
    )
    .await;
    check(&|plan| plan.http.connect.to = vec![remote("10.0.0.1", 80)], &["127.0.0.1"], "10.0.0.1").await;
    check(&|plan| plan.http.connect.unix = Some("/run/app.sock".into()), any, "/run/app.sock").await;
    check(
        &|plan| {
            plan.target = PlanTarget::parse("https://127.0.0.1/").unwrap();
            plan.http.tls.ca = Some(volley_plan::FileName::parse("ca.pem").unwrap());
        },
        any,
        "start this with `--files DIR`",
    )
    .await;
}
