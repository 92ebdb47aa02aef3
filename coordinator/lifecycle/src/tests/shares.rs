//! Who gets which part of the load at first.

use std::sync::Arc;

use volley_plan::Model;
use volley_plan::link::{Incarnation, RunId};
use volley_plan::shape::Stripes;

use super::{facts, new_run, settings};
use crate::{Action, AgentFacts, Run};

fn agents(count: u64) -> Vec<Incarnation> {
    (1..=count).map(Incarnation).collect()
}

/// The agents that were freed, in a run that was just made.
fn freed(actions: &[Action]) -> Vec<u64> {
    let freed = |action: &Action| match action {
        Action::Free { agent } => Some(agent.0),
        _ => None,
    };
    actions.iter().filter_map(freed).collect()
}

/// The numbers of each agent's users.
fn users(run: &Run) -> Vec<Vec<u32>> {
    let Model::Closed(closed) = &run.load().model else { panic!("an open run") };
    run.agents().map(|agent| agent.share().user_numbers(closed).collect()).collect()
}

#[test]
fn users_are_dealt_evenly_and_an_agent_without_any_is_let_go() {
    for load in ["users: 10\nrequests: 10", "users: 10\nduration: 10s", "users: 10\niterations_per_user: 2"] {
        let (run, actions) = new_run(load, &agents(3));
        let expected = [vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]];
        assert_eq!((users(&run), freed(&actions)), (expected.to_vec(), vec![]), "{load}");
    }
    let (run, actions) = new_run("users: 2\nrequests: 10", &agents(3));
    assert_eq!((run.agents().count(), freed(&actions)), (2, vec![3]));
}

#[test]
fn a_ramp_of_users_is_dealt_by_its_most() {
    let load = "load:\n  stages:\n    - { users: 0, ramp_to: 7, for: 10s }\n    - { users: 2, for: 10s }";
    let (run, _) = new_run(load, &agents(2));
    assert_eq!(users(&run).iter().map(Vec::len).collect::<Vec<_>>(), [4, 3]);
}

/// Checks how `max_in_flight` and `connections` are split over some agents, and that every stripe is held once.
fn check(load: &str, count: u64, expected: &[(u32, Option<u32>)]) {
    let (run, actions) = new_run(load, &agents(count));
    assert_eq!(freed(&actions).len(), usize::try_from(count).expect("small") - expected.len(), "{load}");
    let (mut bounds, mut held) = (Vec::new(), Vec::new());
    for agent in run.agents() {
        let of = agent.share().bounds.expect("arrivals are bounded");
        bounds.push((of.max_in_flight, of.connections));
        held.extend_from_slice(agent.share().stripes.held());
    }
    assert_eq!(bounds, expected, "{load}");
    held.sort_unstable();
    assert_eq!(held, (0..Stripes::default().count()).collect::<Vec<_>>(), "{load}");
}

#[test]
fn stripes_and_bounds_are_dealt_and_add_up() {
    let load = "rate: 10/s\nduration: 10s";
    check(&format!("{load}\nmax_in_flight: 100"), 3, &[(34, None), (33, None), (33, None)]);
    check(&format!("{load}\nmax_in_flight: 2"), 3, &[(1, None), (1, None)]);
    let bounds = "max_in_flight: 11\nconnections: 3";
    check(&format!("{load}\n{bounds}"), 2, &[(6, Some(2)), (5, Some(1))]);
    check(&format!("{load}\n{bounds}"), 5, &[(4, Some(1)), (4, Some(1)), (3, Some(1))]);
}

#[test]
fn neighbours_in_time_are_not_neighbours_on_an_agent() {
    let (run, _) = new_run("rate: 10/s\nduration: 10s", &agents(3));
    for (hand, agent) in (0..).zip(run.agents()) {
        let first: Vec<u64> = (0..12).filter(|&n| agent.share().stripes.contains(n)).collect();
        assert_eq!(first, [hand, hand + 3, hand + 6, hand + 9]);
    }
}

/// Agents by weight, workers and capacity, and the stripes that each gets; those for whom there is nothing are freed.
fn check_weights(wanted: &str, given: &[(Option<u32>, u32, Option<u32>)], expected: &[usize], free: &[u64]) {
    let load = format!("rate: 10/s\nduration: 10s\nmax_in_flight: 1000\nagents: {{ {wanted} }}");
    let plan = volley_plan::parse(&format!("target: http://127.0.0.1:1/\n{load}\n")).expect("a valid plan");
    let agent =
        |(n, &(weight, workers, capacity))| AgentFacts { weight, workers, capacity, ..facts(Incarnation(n)) };
    let given = (1..).zip(given).map(agent).collect();
    let id = RunId::new("r1").expect("a valid name");
    let (run, actions) = Run::new(0, id, Arc::new(plan), 7, settings(), given);
    let held: Vec<_> = run.agents().map(|agent| agent.share().stripes.held().len()).collect();
    assert_eq!((held.as_slice(), freed(&actions).as_slice()), (expected, free), "{wanted}");
}

#[test]
fn agents_get_by_what_the_plan_measures_them_by() {
    let agents = [(None, 1, Some(100)), (None, 2, None), (Some(3), 4, Some(300))];
    check_weights("min: 1", &agents, &[420, 840, 1260], &[]);
    check_weights("share_by: even", &agents, &[840, 840, 840], &[]);
    check_weights("share_by: capacity", &agents, &[630, 1890], &[2]);
    check_weights("max: 2", &agents, &[840, 1680], &[3]);
    check_weights("share_by: capacity, min: 3, wait: 9s", &agents, &[], &[]);
}
