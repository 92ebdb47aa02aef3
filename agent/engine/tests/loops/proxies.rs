//! HTTP/1.0, and proxies: whole URLs for `http` targets, tunnels to `https` ones.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use volley_plan::{HttpVersion, Plan, Proxy, Remote, Target as PlanTarget};
use volley_stats::ErrorKind;

use crate::run::{Run, plan, run};
use crate::target::{Peer, Target};
use crate::tls_target::{TlsTarget, config, self_signed};

/// What was asked for, in small letters.
type Heads = Arc<Mutex<Vec<String>>>;

/// A plan for this target, whose connections go to a proxy.
fn through(proxy: SocketAddr, target: &str, authorization: Option<&str>, rest: &str) -> Plan {
    let mut plan = plan(proxy, rest);
    plan.target = PlanTarget::parse(target).unwrap();
    let at = Remote { host: proxy.ip().to_string(), port: proxy.port(), zone: None };
    plan.http.connect.proxy = Some(Proxy { at, authorization: authorization.map(str::to_owned) });
    plan
}

/// A target that answers every request so, and keeps their heads.
fn keeping(answer: &'static str) -> (Target, Heads) {
    let heads = Heads::default();
    let kept = Arc::clone(&heads);
    let target = Target::new(move |peer| {
        while let Some(head) = peer.request() {
            kept.lock().unwrap().push(head);
            if peer.say(answer).is_none() || answer.contains("close") {
                return;
            }
        }
    });
    (target, heads)
}

#[tokio::test]
async fn a_proxy_is_asked_for_whole_urls() {
    let (proxy, heads) = keeping("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let mut asked =
        through(proxy.address, "http://shop.test:81/", Some("Basic dTpw"), "users: 1, requests: 3");
    crate::run::first(&mut asked).path = "/a?b=c".to_owned();
    let report = run(asked, 1).await;
    assert_eq!((report.counters().ok, report.counters().connections_opened), (3, 1));
    let heads = heads.lock().unwrap();
    for head in heads.iter() {
        assert!(
            head.starts_with("get http://shop.test:81/a?b=c http/1.1\r\nhost: shop.test:81\r\n"),
            "{head}"
        );
        assert!(head.contains("\r\nproxy-authorization: basic dtpw"), "{head}");
    }
    assert_eq!(heads.len(), 3);
}

/// Connects to the target once it is asked for a tunnel to it, and carries bytes to and fro.
fn tunnelling(target: SocketAddr, heads: Heads) -> impl Fn(&mut Peer) + Send + Sync + 'static {
    move |peer| {
        let Some(head) = peer.request() else { return };
        heads.lock().unwrap().push(head);
        let mut far = TcpStream::connect(target).unwrap();
        peer.say("HTTP/1.1 200 Connection established\r\nX-Via: test\r\n\r\n").unwrap();
        let (mut near, mut back) = (peer.stream.try_clone().unwrap(), far.try_clone().unwrap());
        let back = thread::spawn(move || {
            let _ = io::copy(&mut back, &mut near);
            let _ = near.flush();
            let _ = near.shutdown(std::net::Shutdown::Write);
        });
        let _ = io::copy(&mut peer.stream, &mut far);
        let _ = far.shutdown(std::net::Shutdown::Write);
        back.join().unwrap();
    }
}

#[tokio::test]
async fn an_https_target_is_reached_by_a_tunnel() {
    let target = TlsTarget::hello(config(&self_signed(&["shop.test"], |_| ())), Some("shop.test"));
    let heads = Heads::default();
    let proxy = Target::new(tunnelling(target.address, Arc::clone(&heads)));
    let mut plan = through(proxy.address, "https://shop.test/", Some("Basic dTpw"), "users: 2, requests: 20");
    plan.http.tls.insecure = true;
    let report = run(plan, 1).await;
    assert_eq!((report.counters().ok, report.counters().handshakes), (20, 2));
    assert_eq!(target.seen.counts().3, 20);
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 2);
    for head in heads.iter() {
        assert!(head.starts_with("connect shop.test:443 http/1.1\r\nhost: shop.test:443\r\n"), "{head}");
        assert!(head.ends_with("\r\nproxy-authorization: basic dtpw"), "{head}");
    }
}

#[tokio::test]
async fn a_tunnel_that_does_not_come_about_is_a_failure() {
    async fn check(serve: impl Fn(&mut Peer) + Send + Sync + 'static, expected: ErrorKind) {
        let proxy = Target::new(serve);
        let rest = "users: 1, requests: 2, connect_timeout: 100ms";
        let mut plan = through(proxy.address, "https://shop.test/", None, rest);
        plan.http.tls.insecure = true;
        let report = run(plan, 1).await;
        assert_eq!((report.errors(), report.counters().never_sent), (vec![(expected, 2)], 2));
    }
    let say = |answer: &'static str| {
        move |peer: &mut Peer| {
            peer.request().and_then(|_| peer.say(answer));
            peer.drain();
        }
    };
    check(say("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), ErrorKind::ConnectRefused).await;
    check(say("hello\r\n\r\n"), ErrorKind::Protocol).await;
    check(say("HTTP/1.1 200"), ErrorKind::ConnectTimeout).await;
    check(|peer| drop(peer.request()), ErrorKind::ClosedEarly).await;
}

#[tokio::test]
async fn an_answer_to_http_1_0_keeps_the_connection_where_it_says_so() {
    async fn check(answer: &'static str, keep_alive: bool, connections: u64) {
        let (target, heads) = keeping(answer);
        let mut plan = plan(target.address, &format!("users: 1, requests: 5, keep_alive: {keep_alive}"));
        plan.http.version = HttpVersion::V1_0;
        let report = run(plan, 1).await;
        assert_eq!((report.counters().ok, target.seen().connections()), (5, connections), "{answer}");
        for head in heads.lock().unwrap().iter() {
            assert!(head.starts_with("get / http/1.0\r\nhost: "), "{head}");
            assert_eq!(head.contains("\r\nconnection: keep-alive"), keep_alive, "{head}");
            assert!(!head.contains("close"), "{head}");
        }
    }
    let kept = "HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello";
    check(kept, true, 1).await;
    check(kept, false, 5).await;
    check("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", true, 1).await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true, 5).await;
    check("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", true, 5).await;
}

#[tokio::test]
async fn a_proxy_must_be_allowed() {
    let proxy = Target::hello();
    let plan = through(proxy.address, "http://10.9.9.9/", None, "users: 1, requests: 1");
    let share = volley_plan::link::Share::all(&plan);
    let allow = volley_plan::allow::AllowList::parse(["10.9.9.9"]).unwrap();
    let mut run = Run::launch_share(plan, share, 1, allow);
    let reason = run.refuses().await;
    assert!(reason.contains("is not on the allow-list"), "{reason}");
    assert_eq!(proxy.seen().connections(), 0);
}
