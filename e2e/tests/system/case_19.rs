//! Case 19: a rate is held, in every run, on one agent and on three. The numbers of the case itself are in `soak.rs`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use volley_e2e::{Api, Fleet, Reply, Server};

use crate::accounts::check_target;
use crate::play;

/// When each request came.
pub(crate) type Times = Arc<Mutex<Vec<Instant>>>;

pub(crate) fn timed_server() -> (Server, Times) {
    let times = Times::default();
    let noted = Arc::clone(&times);
    let server = Server::start(move |_| {
        noted.lock().expect("no script panics").push(Instant::now());
        Reply::ok("hello")
    });
    (server, times)
}

/// The gaps between requests, as they came.
pub(crate) fn gaps(times: &Times) -> Vec<Duration> {
    let mut times = std::mem::take(&mut *times.lock().expect("no script panics"));
    times.sort_unstable();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Plays 30/s for so long, and holds the counts to it. Gives the gaps at the server.
pub(crate) fn hold_rate(api: &Api, agents: usize, seconds: u64) -> Vec<Duration> {
    let (server, times) = timed_server();
    let plan = format!("target: {}\nrate: 30/s\nduration: {seconds}s\n", server.url("/"));
    let report = play(api, agents, &plan);
    check_target(&report, &server);
    let expected = 30 * seconds;
    assert_eq!((report.count("ok"), server.requests()), (expected, expected), "{report:?}");
    assert_eq!(report.document()["accounts"]["planned"].as_u64(), Some(expected), "{report:?}");
    gaps(&times)
}

#[test]
fn case_19_rate_held_on_one_agent_and_on_three() {
    for agents in [1, 3] {
        let fleet = Fleet::start(agents);
        for _ in 0..2 {
            let gaps = hold_rate(&fleet.api(), agents, 4);
            // From the first at 0 to the last, a thirtieth of a second before the end.
            let span: Duration = gaps.iter().sum();
            let expected = Duration::from_secs(4) - Duration::from_nanos(1_000_000_000 / 30);
            assert!(span.abs_diff(expected) < Duration::from_millis(150), "{span:?}");
            // Agents and threads that fire together would make most gaps nearly nothing.
            let bursts = gaps.iter().filter(|gap| **gap < Duration::from_millis(10)).count();
            assert!(bursts < gaps.len() / 4, "{bursts} of {} gaps: {gaps:?}", gaps.len());
        }
    }
}
