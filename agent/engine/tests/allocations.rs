//! A request of a static step allocates nothing. Alone in its process, since it counts all allocations.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic where it stands")]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use volley_engine::{Clock, Command, Engine, Event, Setup, Spin};
use volley_plan::allow::AllowList;
use volley_plan::link::Share;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static ANSWERED: AtomicU64 = AtomicU64::new(0);

/// Answers every request with the same bytes, and allocates nothing for it.
fn answering(mut stream: TcpStream) {
    let mut request = [0; 1024];
    stream.set_nodelay(true).unwrap();
    while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
        ANSWERED.fetch_add(1, Ordering::Relaxed);
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
            return;
        }
    }
}

fn target() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(|| answering(stream));
        }
    });
    address
}

/// Allocations and requests in the third and fourth of five seconds.
fn count(load: &str) -> (u64, u64) {
    let text = format!("target: http://{}/\nduration: 5s\n{load}", target());
    let plan = Arc::new(volley_plan::parse(&text).unwrap());
    let clock = Clock::start();
    let (share, allow, spin) = (Share::all(&plan), Arc::new(AllowList::anything()), Spin::Auto);
    let setup = Setup { plan, share, adjusted: Vec::new(), allow, workers: 2, seed: 1, clock, spin };
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
        let (allocations, requests) = count(load);
        assert!(requests > 4000, "{load}: {requests} requests");
        // What merges and tells the windows of two seconds allocates, whatever the requests were.
        assert!(allocations < 500, "{load}: {allocations} allocations for {requests} requests");
    }
}
