//! A worker alone, with addresses that no resolver would give.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use tokio::sync::mpsc::unbounded_channel;
use volley_plan::Resolve;
use volley_plan::allow::AllowList;
use volley_plan::link::Share;
use volley_stats::{Counters, ErrorKind};

use super::*;
use crate::deal::Deal;
use crate::dial::{DialPlan, Lookup, Site};
use crate::files::Files;
use crate::{Command, Setup, prepare};

const REQUESTS: u64 = 60;

/// Answers each connection's first request and closes; counts connections.
fn closing_target() -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, counted) = mpsc::channel();
    thread::spawn(move || {
        let answer = |mut stream: TcpStream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        };
        while let Ok((stream, _)) = listener.accept() {
            let _ = seen.send(());
            answer(stream);
        }
    });
    (address, counted)
}

fn closed_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// What six users make of [`REQUESTS`] requests to these addresses.
fn run_on(addresses: Vec<SocketAddr>) -> Counters {
    let text = format!("target: http://localhost/\nusers: 6\nrequests: {REQUESTS}\ntimeout: 5s");
    let plan = Arc::new(volley_plan::parse(&text).unwrap());
    let (clock, spin, seed) = (Clock::start(), Spin::Off, 1);
    let (share, allow) = (Share::all(&plan), Arc::new(AllowList::anything()));
    let adjusted = Vec::new();
    let setup = Setup {
        plan: Arc::clone(&plan),
        share,
        adjusted,
        allow,
        workers: 1,
        seed,
        clock,
        spin,
        files: None,
        listener: None,
    };
    let control = Arc::new(Control::new(Deal::new(&setup).unwrap()));
    let start = Command::Start { at_ns: clock.now_ns(), from_ns: 0, lease_until_ns: u64::MAX };
    for command in [Command::Grant { from: 0, to: REQUESTS, last: true }, start] {
        control.obey(command, clock.now_ns()).unwrap();
    }
    let (to_reporter, reported) = mpsc::channel();
    let (_to_worker, cleared) = mpsc::channel();
    let requests = prepare::requests(&plan, &Files::new(None)).unwrap();
    let lookup = Arc::new(Lookup::new(&plan).unwrap());
    let site = |address| Site::Tcp { host: "localhost".into(), address };
    let sites = addresses.into_iter().map(site).collect();
    let dial = DialPlan { lookup, sites, resolve: Resolve::Once, tls: None };
    let worker = WorkerPlan { plan, requests, index: 0, workers: 1, seed, clock, spin, listener: None };
    run(worker, dial, Lines { control, events: unbounded_channel().0, to_reporter, cleared });
    let mut counters = Counters::default();
    for message in reported {
        if let ToReporter::Window { mut window, .. } = message {
            counters.merge(&window.row(Part::Measured, 0).counters);
        }
    }
    counters
}

#[test]
fn case_24_users_are_spread_over_the_addresses() {
    let ((one, at_one), (two, at_two)) = (closing_target(), closing_target());
    let counters = run_on(vec![one, two]);
    assert_eq!((counters.ok, counters.connections_opened), (REQUESTS, REQUESTS));
    let (at_one, at_two) = (at_one.try_iter().count() as u64, at_two.try_iter().count() as u64);
    assert_eq!(at_one + at_two, REQUESTS);
    assert!(at_one >= 3 && at_two >= 3, "{at_one} and {at_two}");
}

#[test]
fn case_24_the_next_address_is_tried_where_one_refuses() {
    let (open, seen) = closing_target();
    let counters = run_on(vec![closed_address(), open, closed_address()]);
    assert_eq!((counters.ok, counters.failed, seen.try_iter().count() as u64), (REQUESTS, 0, REQUESTS));
    let counters = run_on(vec![closed_address(), closed_address()]);
    assert_eq!(counters.errors.iter().collect::<Vec<_>>(), [(ErrorKind::ConnectRefused, REQUESTS)]);
}
