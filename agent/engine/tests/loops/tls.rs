//! TLS against a server of its own kind: who is trusted, what is offered, what is counted, and how it ends.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use tokio_rustls::rustls::version;
use volley_plan::{FileName, Plan, Remote, Target as PlanTarget, TlsVersion};
use volley_stats::{ErrorKind, Timed};

use crate::run::{Report, Run, plan};
use crate::tls_target::{Authority, Folder, Pair, TlsTarget, config, config_of, expired, self_signed};

/// A plan for `https://` and a host, whose connections go to this address.
fn secure(host: &str, address: SocketAddr, rest: &str) -> Plan {
    let mut plan = plan(address, rest);
    plan.target = PlanTarget::parse(&format!("https://{host}:{}/", address.port())).unwrap();
    let (ip, port) = (address.ip().to_string(), address.port());
    plan.http.connect.to = vec![Remote { host: ip, port, zone: None }];
    plan
}

fn file(name: &str) -> Option<FileName> {
    Some(FileName::parse(name).unwrap())
}

/// The whole run of a plan with files in a folder.
async fn run(plan: Plan, workers: usize, folder: &Folder) -> Report {
    let mut run = Run::launch_with_files(plan, workers, folder.path());
    run.starts().await;
    run.finish().await
}

/// What ten requests to `https://shop.test/` make of this server: without a failure, or all fail alike.
async fn check(pair: &Pair, ca: &str, change: impl FnOnce(&mut Plan), expected: Result<(), ErrorKind>) {
    let target = TlsTarget::hello(config(pair), Some("shop.test"));
    let mut plan = secure("shop.test", target.address, "users: 2, requests: 10, timeout: 5s");
    plan.http.tls.ca = file("ca.pem");
    change(&mut plan);
    let report = run(plan, 1, &Folder::with(&[("ca.pem", ca)])).await;
    match expected {
        Ok(()) => assert_eq!((report.counters().ok, report.errors()), (10, vec![])),
        Err(kind) => {
            assert_eq!(report.errors(), [(kind, 10)]);
            let counters = report.counters();
            assert_eq!((counters.never_sent, counters.handshakes), (10, 0));
            // Each was tried on a connection of its own, which is counted though nothing came of it.
            assert_eq!(counters.connections_opened, 10);
            assert_eq!(report.addresses(), [(target.address.to_string(), 10, 10, 0)]);
        }
    }
}

const UNTRUSTED: Result<(), ErrorKind> = Err(ErrorKind::TlsCertificate);

#[tokio::test]
async fn a_certificate_is_good_where_its_authority_name_and_dates_are() {
    let authority = Authority::new();
    let other = Authority::new();
    let as_is = |_: &mut Plan| ();
    check(&authority.signs(&["shop.test"]), &authority.pem, as_is, Ok(())).await;
    check(&authority.signs(&["other.test", "shop.test"]), &authority.pem, as_is, Ok(())).await;
    check(&authority.signs(&["other.test"]), &authority.pem, as_is, UNTRUSTED).await;
    check(&authority.signs_with(&["shop.test"], expired), &authority.pem, as_is, UNTRUSTED).await;
    check(&authority.signs(&["shop.test"]), &other.pem, as_is, UNTRUSTED).await;
    // The machine's own authorities know nothing of it.
    check(&authority.signs(&["shop.test"]), "", |plan| plan.http.tls.ca = None, UNTRUSTED).await;
}

#[tokio::test]
async fn a_certificate_that_is_its_own_authority_is_good_where_it_is_named() {
    let as_is = |_: &mut Plan| ();
    let good = self_signed(&["shop.test"], |_| ());
    check(&good, &good.certificate_pem, as_is, Ok(())).await;
    check(&good, &Authority::new().pem, as_is, UNTRUSTED).await;
    let wrong = self_signed(&["other.test"], |_| ());
    check(&wrong, &wrong.certificate_pem, as_is, UNTRUSTED).await;
    let old = self_signed(&["shop.test"], expired);
    check(&old, &old.certificate_pem, as_is, UNTRUSTED).await;
}

#[tokio::test]
async fn insecure_takes_any_certificate() {
    let insecure = |plan: &mut Plan| {
        plan.http.tls.ca = None;
        plan.http.tls.insecure = true;
    };
    for pair in [self_signed(&["other.test"], expired), Authority::new().signs(&["x.test"])] {
        check(&pair, "", insecure, Ok(())).await;
    }
}

#[tokio::test]
async fn the_name_that_is_asked_for_may_be_another_one() {
    let authority = Authority::new();
    let pair = authority.signs(&["shop.test"]);
    let target = TlsTarget::hello(config(&pair), Some("shop.test"));
    let mut plan = secure("127.0.0.1", target.address, "users: 1, requests: 3");
    (plan.http.tls.ca, plan.http.tls.server_name) = (file("ca.pem"), Some("shop.test".to_owned()));
    let report = run(plan, 1, &Folder::with(&[("ca.pem", &authority.pem)])).await;
    assert_eq!(report.counters().ok, 3);
}

#[tokio::test]
async fn an_address_is_checked_and_not_asked_for() {
    let authority = Authority::new();
    for (names, kind) in [(["127.0.0.1"], None), (["127.0.0.2"], Some(ErrorKind::TlsCertificate))] {
        let target = TlsTarget::hello(config(&authority.signs(&names)), None);
        let mut plan = secure("127.0.0.1", target.address, "users: 1, requests: 3");
        plan.http.tls.ca = file("ca.pem");
        let report = run(plan, 1, &Folder::with(&[("ca.pem", &authority.pem)])).await;
        let expected = kind.map_or_else(Vec::new, |kind| vec![(kind, 3)]);
        assert_eq!(report.errors(), expected, "{names:?}");
    }
}

#[tokio::test]
async fn a_client_is_known_by_its_certificate() {
    let authority = Authority::new();
    let (server, client) = (authority.signs(&["shop.test"]), authority.signs(&["client.test"]));
    let folder = Folder::with(&[
        ("ca.pem", &authority.pem),
        ("me.pem", &client.certificate_pem),
        ("me.key", &client.key_pem),
    ]);
    for only in [&[&version::TLS12], &[&version::TLS13]] {
        let demands = config_of(&server, only, Some(&authority));
        let target = TlsTarget::hello(demands, Some("shop.test"));
        let mut plan = secure("shop.test", target.address, "users: 1, requests: 4, timeout: 5s");
        plan.http.tls.ca = file("ca.pem");
        let report = run(plan.clone(), 1, &folder).await;
        // By TLS 1.3 the client hears of it only when it thinks that all is well.
        assert_eq!(report.errors(), [(ErrorKind::Tls, 4)]);
        (plan.http.tls.certificate, plan.http.tls.key) = (file("me.pem"), file("me.key"));
        assert_eq!(run(plan, 1, &folder).await.counters().ok, 4);
    }
}

#[tokio::test]
async fn versions_are_those_of_the_plan() {
    let authority = Authority::new();
    let pair = authority.signs(&["shop.test"]);
    for (server, ours, ok) in [
        (&version::TLS12, TlsVersion::V1_2, 3),
        (&version::TLS12, TlsVersion::V1_3, 0),
        (&version::TLS13, TlsVersion::V1_2, 0),
        (&version::TLS13, TlsVersion::V1_3, 3),
    ] {
        let target = TlsTarget::hello(config_of(&pair, &[server], None), Some("shop.test"));
        let mut plan = secure("shop.test", target.address, "users: 1, requests: 3");
        (plan.http.tls.ca, plan.http.tls.versions) = (file("ca.pem"), vec![ours]);
        let report = run(plan, 1, &Folder::with(&[("ca.pem", &authority.pem)])).await;
        assert_eq!(report.counters().ok, ok, "{ours:?}");
        assert_eq!(report.counters().errors.get(ErrorKind::Tls), 3 - ok);
    }
}

#[tokio::test]
async fn sessions_are_taken_up_again_unless_the_plan_forbids_it() {
    let authority = Authority::new();
    let pair = authority.signs(&["shop.test"]);
    for only in [&[&version::TLS12], &[&version::TLS13]] {
        for resumption in [true, false] {
            let target = TlsTarget::hello(config_of(&pair, only, None), Some("shop.test"));
            let rest = "users: 1, requests: 20, keep_alive: false";
            let mut plan = secure("shop.test", target.address, rest);
            (plan.http.tls.ca, plan.http.tls.resumption) = (file("ca.pem"), resumption);
            let report = run(plan, 1, &Folder::with(&[("ca.pem", &authority.pem)])).await;
            let counters = report.counters();
            let resumed = if resumption { 19 } else { 0 };
            assert_eq!((counters.ok, counters.handshakes, counters.handshakes_resumed), (20, 20, resumed));
            assert_eq!(target.seen.counts(), (20, 20, resumed, 20));
            assert_eq!(report.total.timing.of(Timed::Tls).count(), 20);
            assert_eq!(report.total.timing.of(Timed::Connect).count(), 20);
        }
    }
}

#[tokio::test]
async fn a_kept_connection_shakes_hands_once_and_says_goodbye() {
    let authority = Authority::new();
    // TLS 1.3 sends its tickets after the handshake, when nobody has asked for anything.
    let target = TlsTarget::hello(config(&authority.signs(&["shop.test"])), Some("shop.test"));
    let mut plan = secure("shop.test", target.address, "users: 3, requests: 300");
    plan.http.tls.ca = file("ca.pem");
    let report = run(plan, 2, &Folder::with(&[("ca.pem", &authority.pem)])).await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.connections_opened, counters.handshakes), (300, 3, 3));
    assert_eq!((counters.connections_reused, counters.connections_closed), (297, 0));
    assert_eq!(report.addresses(), [(target.address.to_string(), 3, 0, 300)]);
    let seen = std::sync::Arc::clone(&target.seen);
    let said = tokio::task::spawn_blocking(move || {
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while seen.goodbyes.load(Ordering::SeqCst) < 3 && std::time::Instant::now() < patience {
            std::thread::yield_now();
        }
        seen.goodbyes.load(Ordering::SeqCst)
    });
    assert_eq!(said.await.unwrap(), 3);
}

/// What a run makes of a server that does this with each connection once hands are shaken.
async fn served(rest: &str, serve: impl Fn(&mut crate::tls_target::Peer) + Send + Sync + 'static) -> Report {
    let authority = Authority::new();
    let target = TlsTarget::new(config(&authority.signs(&["shop.test"])), Some("shop.test"), serve);
    let mut plan = secure("shop.test", target.address, rest);
    plan.http.tls.ca = file("ca.pem");
    run(plan, 1, &Folder::with(&[("ca.pem", &authority.pem)])).await
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_must_end_as_tls_has_it() {
    let say = |peer: &mut crate::tls_target::Peer| {
        peer.request().and_then(|()| peer.say("HTTP/1.1 200 OK\r\n\r\nhello"))
    };
    let report = served("users: 1, requests: 5", move |peer| {
        if say(peer).is_some() {
            peer.goodbye();
        }
    })
    .await;
    assert_eq!((report.counters().ok, report.counters().body_bytes), (5, 25));
    let report = served("users: 1, requests: 5", move |peer| {
        say(peer);
    })
    .await;
    assert_eq!(report.errors(), [(ErrorKind::Truncated, 5)]);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced_with_or_without_goodbye() {
    for says_goodbye in [true, false] {
        let report = served("users: 1, requests: 6, method: POST", move |peer| {
            if peer.request().and_then(|()| peer.hello()).is_some() && says_goodbye {
                peer.goodbye();
            }
        })
        .await;
        let counters = report.counters();
        // Where the end comes a moment after the next request was sent, that is lost with it.
        assert_eq!(counters.ok + counters.failed, 6);
        assert!(counters.ok >= 3, "{:?}", report.errors());
        assert_eq!((counters.resent, counters.connections_opened), (0, counters.ok));
        assert!((counters.ok - 1..=counters.ok).contains(&counters.connections_closed));
    }
}

#[tokio::test]
async fn what_is_no_tls_at_all_fails_the_handshake() {
    let target = crate::target::Target::new(|peer| {
        peer.say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    let mut plan = secure("shop.test", target.address, "users: 1, requests: 3");
    plan.http.tls.insecure = true;
    let report = run(plan, 1, &Folder::with(&[])).await;
    assert_eq!(report.errors(), [(ErrorKind::Tls, 3)]);
    let target = crate::target::Target::new(|peer| {
        // The client's first words.
        let _ = peer.stream.read(&mut [0; 4096]);
        peer.reset();
    });
    let mut plan = secure("shop.test", target.address, "users: 1, requests: 3");
    plan.http.tls.insecure = true;
    assert_eq!(run(plan, 1, &Folder::with(&[])).await.errors(), [(ErrorKind::Tls, 3)]);
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_a_connect_timeout() {
    let target = crate::target::Target::silent();
    let rest = "users: 2, requests: 2, timeout: 5s, connect_timeout: 200ms";
    let mut plan = secure("shop.test", target.address, rest);
    plan.http.tls.insecure = true;
    let report = run(plan, 1, &Folder::with(&[])).await;
    assert_eq!(report.errors(), [(ErrorKind::ConnectTimeout, 2)]);
    assert_eq!((report.counters().connections_opened, report.counters().handshakes), (2, 0));
    assert_eq!(report.addresses(), [(target.address.to_string(), 2, 2, 0)]);
}
