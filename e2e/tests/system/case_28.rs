//! Case 28: ramps send what the plan says, as fast as it says, on one agent as on four. The numbers of the case itself
//! are in `soak.rs`.

use std::time::{Duration, Instant};

use serde_json::Value;
use volley_e2e::{Api, Fleet, Report};

use crate::accounts::check_target;
use crate::case_19::timed_server;
use crate::play;

/// Requests by tenth of the time up to the first one's `span`.
fn by_tenth(times: &[Instant], span: Duration) -> Vec<usize> {
    let first = times.iter().min().copied().expect("a request came");
    let mut tenths = vec![0; 10];
    for time in times {
        let tenth = (*time - first).as_nanos() * 10 / span.as_nanos();
        if let Some(count) = usize::try_from(tenth).ok().and_then(|tenth| tenths.get_mut(tenth)) {
            *count += 1;
        }
    }
    tenths
}

/// Up to 100/s, hold, down again, each in `seconds`: 200 times `seconds` in all. Gives the rise by tenths.
pub(crate) fn ramp_of_rate(api: &Api, agents: usize, seconds: u64) -> Vec<usize> {
    let (server, times) = timed_server();
    let stages = format!(
        "load:\n  stages:\n    - {{ rate: 0/s, ramp_to: 100/s, for: {seconds}s }}\n    - {{ rate: 100/s, for: \
         {seconds}s }}\n    - {{ rate: 100/s, ramp_to: 0/s, for: {seconds}s }}\n"
    );
    let report = play(api, agents, &format!("target: {}\n{stages}", server.url("/")));
    check_target(&report, &server);
    let sent = server.requests();
    assert!(sent.abs_diff(200 * seconds) <= 2, "{sent}: {report:?}");
    assert_eq!(report.count("ok"), sent, "{report:?}");
    let times = times.lock().expect("no script panics");
    by_tenth(&times, Duration::from_secs(seconds))
}

#[test]
fn case_28_a_ramp_of_the_rate() {
    for agents in [1, 4] {
        let fleet = Fleet::start(agents);
        let rise = ramp_of_rate(&fleet.api(), agents, 3);
        // 150 in all, evenly more in each tenth: 1.5, 4.5, 7.5 and so on; the last tenth gets 19 times the first.
        assert!(rise.iter().sum::<usize>().abs_diff(150) <= 8, "{rise:?}");
        let halves = (rise[..5].iter().sum::<usize>(), rise[5..].iter().sum::<usize>());
        assert!(halves.0.abs_diff(37) <= 8 && halves.1.abs_diff(113) <= 10, "{rise:?}");
    }
}

/// The users at the beginning of each second of a run, as its stream tells it.
pub(crate) fn users_by_second(api: &Api, report: &Report) -> Vec<u64> {
    let (status, stream) = api.ask(&format!("/api/v1/runs/{}/stream", report.text("id")));
    assert_eq!(status, 200, "{stream}");
    let ticks = stream.split("\n\n").filter(|block| block.contains("event: tick"));
    let data = ticks.filter_map(|block| block.lines().find_map(|line| line.strip_prefix("data: ")));
    let ticks = data.map(|data| serde_json::from_str::<Value>(data).expect("a tick is JSON"));
    ticks.map(|tick| tick["users"].as_u64().expect("a number of users")).collect()
}

#[test]
fn case_28_a_ramp_of_users() {
    for agents in [1, 4] {
        let (fleet, target) = (Fleet::start(agents), volley_e2e::Target::start());
        let stages =
            "load:\n  stages:\n    - { users: 0, ramp_to: 40, for: 4s }\n    - { users: 40, for: 1s }\n";
        let report = play(&fleet.api(), agents, &format!("target: {}\n{stages}", target.url("/delay/20ms")));
        assert_eq!(target.stats()["requests"].as_u64(), Some(report.count("started")), "{report:?}");
        let users = users_by_second(&fleet.api(), &report);
        for (second, expected) in [0_u64, 10, 20, 30, 40].into_iter().enumerate() {
            assert!(users[second].abs_diff(expected) <= 2, "{users:?} on {agents}");
        }
        let shares: Vec<_> = report.agents().iter().map(|agent| agent["users"].as_u64()).collect();
        assert_eq!(shares, vec![Some(40 / agents as u64); agents], "{report:?}");
    }
}
