//! A request of a static step allocates nothing, and by TLS what rustls allocates. Alone in its process, since it counts all
//! allocations.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic where it stands")]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rcgen::{CertificateParams, KeyPair};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};
use volley_engine::{Clock, Command, Engine, Event, Setup, Spin};
use volley_plan::Target;
use volley_plan::allow::AllowList;
use volley_plan::link::Share;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static ANSWERED: AtomicU64 = AtomicU64::new(0);

/// Answers every request with the same bytes, and allocates nothing for it.
fn answering(mut stream: impl Read + Write) {
    let mut request = [0; 1024];
    while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
        ANSWERED.fetch_add(1, Ordering::Relaxed);
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
            return;
        }
    }
}

/// A target by TLS, where there is something for that.
fn target(tls: Option<Arc<ServerConfig>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nodelay(true).unwrap();
            let session = tls.as_ref().map(|tls| ServerConnection::new(Arc::clone(tls)).unwrap());
            thread::spawn(|| match session {
                None => answering(stream),
                Some(session) => answering(StreamOwned::new(session, stream)),
            });
        }
    });
    address
}

fn server() -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["shop.test".to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap())
}

/// Allocations and requests in the third and fourth of five seconds.
fn count(load: &str, tls: Option<Arc<ServerConfig>>) -> (u64, u64) {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = target(tls);
    let mut plan = volley_plan::parse(&format!("target: http://{address}/\nduration: 5s\n{load}")).unwrap();
    plan.target = Target::parse(&format!("{scheme}://{address}/")).unwrap();
    plan.http.tls.insecure = true;
    let plan = Arc::new(plan);
    let clock = Clock::start();
    let (share, allow, spin) = (Share::all(&plan), Arc::new(AllowList::anything()), Spin::Auto);
    let setup = Setup {
        plan,
        share,
        adjusted: Vec::new(),
        allow,
        workers: 2,
        seed: 1,
        clock,
        spin,
        files: None,
        listener: None,
    };
    let (engine, mut events) = Engine::launch(setup);
    assert_eq!(events.blocking_recv(), Some(Event::Ready));
    engine.command(Command::Start { at_ns: clock.now_ns(), from_ns: 0, lease_until_ns: u64::MAX });
    let counts = || (ALLOCATOR.stats().allocations as u64, ANSWERED.load(Ordering::Relaxed));
    let mut marks = Vec::new();
    while let Some(event) = events.blocking_recv() {
        if let Event::Window { last: false, .. } = event {
            marks.push(counts());
        }
    }
    (marks[3].0 - marks[1].0, marks[3].1 - marks[1].1)
}

#[test]
fn a_request_of_a_static_step_allocates_nothing() {
    for load in ["users: 8", "rate: 3000/s\nmax_in_flight: 200"] {
        let (allocations, requests) = count(load, None);
        assert!(requests > 4000, "{load}: {requests} requests");
        // What merges and tells the windows of two seconds allocates, whatever the requests were.
        assert!(allocations < 500, "{load}: {allocations} allocations for {requests} requests");
    }
    // One for each record that is written and one for each that is read, and the same in the target, which is rustls as well.
    let (allocations, requests) = count("users: 8", Some(server()));
    assert!(requests > 1000, "{requests} requests by TLS");
    assert!(allocations < 4 * requests + 500, "{allocations} allocations for {requests} requests by TLS");
}
