//! Who gets which part of the load.

use volley_plan::link::{Incarnation, Share, UserShare};
use volley_plan::shape::Stripes;

use super::new_run;
use crate::{Action, Run};

fn agents(count: u64) -> Vec<Incarnation> {
    (1..=count).map(Incarnation).collect()
}

/// How many agents were freed, in a run that was just made.
fn freed(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Free { .. })).count()
}

fn users(run: &Run) -> Vec<UserShare> {
    let users = |share: &Share| match share {
        Share::Users(share) => *share,
        Share::Arrivals(_) => panic!("arrivals in a closed run"),
    };
    run.agents().map(|agent| users(&agent.share)).collect()
}

#[test]
fn users_are_dealt_evenly_and_an_agent_without_any_is_let_go() {
    let share = |users, first_user| UserShare { users, first_user, every: 3 };
    for load in ["users: 10\nrequests: 10", "users: 10\nduration: 10s", "users: 10\niterations_per_user: 2"] {
        let (run, actions) = new_run(load, &agents(3));
        assert_eq!(
            (users(&run), freed(&actions)),
            (vec![share(4, 0), share(3, 1), share(3, 2)], 0),
            "{load}"
        );
    }
    let (run, actions) = new_run("users: 2\nrequests: 10", &agents(3));
    assert_eq!(run.agents().count(), 2);
    assert!(actions.contains(&Action::Free { agent: Incarnation(3) }));
}

#[test]
fn a_ramp_of_users_is_dealt_by_its_most() {
    let load = "load:\n  stages:\n    - { users: 0, ramp_to: 7, for: 10s }\n    - { users: 2, for: 10s }";
    let (run, _) = new_run(load, &agents(2));
    assert_eq!(users(&run).iter().map(|share| share.users).collect::<Vec<_>>(), [4, 3]);
}

/// Checks how `max_in_flight` and `connections` are split over some agents, and that every stripe is held once.
fn check(load: &str, count: u64, expected: &[(u32, Option<u32>)]) {
    let (run, actions) = new_run(load, &agents(count));
    assert_eq!(freed(&actions), usize::try_from(count).expect("small") - expected.len(), "{load}");
    let (mut bounds, mut held) = (Vec::new(), Vec::new());
    for agent in run.agents() {
        let Share::Arrivals(share) = &agent.share else { panic!("users in an open run") };
        bounds.push((share.max_in_flight, share.connections));
        held.extend_from_slice(share.stripes.held());
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
        let Share::Arrivals(share) = &agent.share else { panic!("users in an open run") };
        let first: Vec<u64> = (0..12).filter(|&n| share.stripes.contains(n)).collect();
        assert_eq!(first, [hand, hand + 3, hand + 6, hand + 9]);
    }
}
