//! Joining, leaving and claiming of agents.

use std::collections::BTreeSet;

use volley_plan::link::PROTOCOL;
use volley_plan::{AgentsWanted, ShareBy};

use super::member::RESPONSIVE_NS;
use super::*;

fn hello(incarnation: u64, name: &str) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        incarnation: Incarnation(incarnation),
        name: name.to_owned(),
        workers: 2,
        labels: BTreeMap::new(),
        weight: None,
        capacity: None,
    }
}

/// At least so many, of whatever kind.
fn least(min: u32) -> AgentsWanted {
    AgentsWanted { min, ..AgentsWanted::default() }
}

fn labels(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// What a run is given of those that are idle, by number.
fn claimed(fleet: &mut Fleet, name: &str, wanted: &AgentsWanted) -> Vec<u64> {
    let agents = fleet.claim(&run(name), wanted, &BTreeSet::new(), 0);
    agents.into_iter().map(|facts| facts.incarnation.0).collect()
}

fn strength(fleet: &Fleet, now_ns: u64) -> (usize, usize) {
    let Strength { idle, busy } = fleet.strength(&least(1), now_ns);
    (idle, busy)
}

fn run(name: &str) -> RunId {
    RunId::new(name).unwrap()
}

fn agent(n: u64) -> Incarnation {
    Incarnation(n)
}

/// A fleet of agents 1 to `n`, all heard at 0, with the far ends of their links.
fn fleet(n: u64) -> (Fleet, Vec<mpsc::Receiver<ToAgent>>, Vec<Connection>) {
    let mut fleet = Fleet::default();
    let (mut ends, mut connections) = (Vec::new(), Vec::new());
    for incarnation in 1..=n {
        let (to, end) = mpsc::channel(2);
        connections.push(fleet.join(hello(incarnation, &format!("a{incarnation}")), to, 0).unwrap());
        ends.push(end);
    }
    (fleet, ends, connections)
}

fn check_refused(change: impl FnOnce(&mut Hello), expected: &str) {
    let mut hello = hello(1, "b");
    change(&mut hello);
    let refusal = Fleet::default().join(hello, mpsc::channel(1).0, 0).unwrap_err();
    assert!(refusal.to_string().contains(expected), "{refusal}");
}

#[test]
fn case_50_another_version_is_refused_and_both_are_named() {
    check_refused(
        |hello| (hello.protocol, hello.version) = (9, "9.9.9".to_owned()),
        &format!(
            "agent b speaks protocol 9 (volley 9.9.9), this coordinator protocol {PROTOCOL} (volley {VERSION}); install the \
             same version on both"
        ),
    );
    check_refused(|hello| hello.version = "9.9.9".to_owned(), "volley 9.9.9");
    check_refused(|hello| hello.protocol = 9, "protocol 9");
}

#[test]
fn a_greeting_out_of_bounds_is_refused_by_field() {
    check_refused(|hello| hello.name = String::new(), "agent's name's length in bytes must be 1 to 255");
    check_refused(|hello| hello.name = "n".repeat(256), "agent's name");
    check_refused(|hello| hello.version = "v".repeat(256), "agent's version");
    check_refused(|hello| hello.workers = 0, "number of workers must be 1 to 65536");
    check_refused(|hello| hello.weight = Some(0), "weight must be 1 to 1000000");
    check_refused(|hello| hello.capacity = Some(u32::MAX), "capacity must be 1 to 1000000000");
    check_refused(|hello| hello.labels = labels(&[("zone", "")]), "labels' length in bytes");
    let many = |n: u32| (0..n).map(|n| (n.to_string(), "x".to_owned())).collect();
    check_refused(|hello| hello.labels = many(17), "at most 16 labels, not 17");
}

#[test]
fn a_second_connection_replaces_the_first_and_keeps_the_duty() {
    let (mut fleet, mut ends, mut connections) = fleet(1);
    assert_eq!(claimed(&mut fleet, "r", &least(1)), [1]);
    let (to, mut end) = mpsc::channel(2);
    let newer = fleet.join(hello(1, "a1"), to, 5).unwrap();
    let older = connections.pop().unwrap();
    assert!(older.closed.blocking_recv().is_err(), "the older connection must be told to end");
    fleet.leave(agent(1), older.number);
    assert!(fleet.send(agent(1), ToAgent::Welcome), "the end of the older one must not end the newer one");
    assert_eq!((end.try_recv().ok(), ends[0].try_recv().ok()), (Some(ToAgent::Welcome), None));
    assert_eq!(fleet.run_of(agent(1)), Some(run("r")));
    fleet.leave(agent(1), newer.number);
    assert!(!fleet.send(agent(1), ToAgent::Welcome));
}

#[test]
fn idle_agents_are_claimed_all_or_none() {
    let (mut fleet, _ends, _connections) = fleet(3);
    assert_eq!(claimed(&mut fleet, "r", &least(4)), [0; 0]);
    assert_eq!(strength(&fleet, 0), (3, 0));
    assert_eq!(claimed(&mut fleet, "r", &least(2)), [1, 2, 3]);
    assert_eq!((claimed(&mut fleet, "s", &least(1)), strength(&fleet, 0)), (vec![], (0, 3)));
    assert!(!fleet.free(agent(1), &run("s")), "only its own run lets an agent go");
    assert!(fleet.free(agent(1), &run("r")));
    fleet.free_all(&run("r"));
    assert_eq!(strength(&fleet, 0), (3, 0));
}

#[test]
fn a_run_is_given_what_its_plan_wants() {
    let mut fleet = Fleet::default();
    let mut keep = Vec::new();
    for (number, zone, weight, capacity) in [
        (1, "eu", None, Some(100)),
        (2, "us", None, Some(900)),
        (3, "eu", Some(7), None),
        (4, "eu", None, None),
    ] {
        let hello = Hello { labels: labels(&[("zone", zone)]), weight, capacity, ..hello(number, "a") };
        let (to, end) = mpsc::channel(2);
        keep.push((fleet.join(hello, to, 0).unwrap(), end));
    }
    let mut check = |wanted: AgentsWanted, expected: &[u64]| {
        assert_eq!(claimed(&mut fleet, "r", &wanted), expected, "{wanted:?}");
        fleet.free_all(&run("r"));
    };
    let eu = AgentsWanted { labels: labels(&[("zone", "eu")]), ..least(1) };
    check(eu.clone(), &[1, 3, 4]);
    check(AgentsWanted { labels: labels(&[("zone", "asia")]), ..least(1) }, &[]);
    check(AgentsWanted { labels: labels(&[("zone", "eu"), ("disk", "ssd")]), ..least(1) }, &[]);
    check(AgentsWanted { min: 4, ..eu.clone() }, &[]);
    check(AgentsWanted { max: Some(2), ..eu }, &[1, 3]);
    check(AgentsWanted { max: Some(1), ..least(1) }, &[2]);
    check(AgentsWanted { share_by: ShareBy::Capacity, ..least(1) }, &[1, 2]);
    check(AgentsWanted { share_by: ShareBy::Capacity, ..least(3) }, &[]);
}

#[test]
fn some_are_spared_for_others() {
    let (mut fleet, _ends, _connections) = fleet(3);
    let spared = BTreeSet::from([agent(2)]);
    let some = |fleet: &mut Fleet, most, spared: &BTreeSet<_>| {
        let agents = fleet.claim_some(&run("r"), &least(1), most, spared, 0);
        agents.into_iter().map(|facts| facts.incarnation.0).collect::<Vec<_>>()
    };
    assert_eq!(some(&mut fleet, 1, &spared), [1]);
    assert_eq!(some(&mut fleet, 9, &spared), [3]);
    assert_eq!(some(&mut fleet, 9, &BTreeSet::new()), [2]);
}

#[test]
fn who_drains_or_leaves_gets_no_further_run() {
    let (mut fleet, _ends, _connections) = fleet(3);
    assert_eq!(fleet.claim_some(&run("r"), &least(1), 1, &BTreeSet::new(), 0).len(), 1);
    assert_eq!(
        fleet.drain(agent(1), true, 0).map(|view| (view.state, view.run)),
        Some(("draining", Some(run("r"))))
    );
    assert_eq!(fleet.drain(agent(9), true, 0), None);
    assert!(fleet.is_leaving(agent(2), true), "that is news");
    assert!(!fleet.is_leaving(agent(2), true) && !fleet.is_leaving(agent(3), false));
    assert_eq!(strength(&fleet, 0), (1, 0));
    fleet.free_all(&run("r"));
    assert_eq!(claimed(&mut fleet, "s", &least(1)), [3]);
    assert_eq!(fleet.drain(agent(1), false, 0).map(|view| view.state), Some("idle"));
    assert_eq!(claimed(&mut fleet, "t", &least(1)), [1]);
}

#[test]
fn who_works_for_a_run_of_the_coordinator_before_is_its_from_its_joining_on() {
    let (mut fleet, _ends, _connections) = fleet(1);
    fleet.expect(&run("r"), [agent(1), agent(2), agent(3)]);
    let join = |fleet: &mut Fleet, n| {
        let (to, end) = mpsc::channel(2);
        let connection = fleet.join(hello(n, "late"), to, 0).unwrap();
        (connection, end)
    };
    assert_eq!(fleet.run_of(agent(1)), Some(run("r")));
    let _second = join(&mut fleet, 2);
    assert_eq!(fleet.run_of(agent(2)), Some(run("r")));
    fleet.free(agent(3), &run("r"));
    let _third = join(&mut fleet, 3);
    assert_eq!(fleet.run_of(agent(3)), None, "the run has given it up meanwhile");
}

#[test]
fn silent_and_gone_agents_get_no_run() {
    let (mut fleet, _ends, connections) = fleet(2);
    let late = RESPONSIVE_NS + 1;
    fleet.heard(agent(1), late);
    let states = |fleet: &mut Fleet, now_ns| fleet.list(now_ns).iter().map(|a| a.state).collect::<Vec<_>>();
    assert_eq!(states(&mut fleet, late), ["idle", "silent"]);
    assert_eq!(fleet.claim(&run("r"), &least(1), &BTreeSet::new(), late).len(), 1);
    fleet.leave(agent(2), connections[1].number);
    assert_eq!(states(&mut fleet, late), ["busy", "gone"]);
    assert_eq!(states(&mut fleet, REMEMBERED_NS), ["silent"], "the gone are forgotten in time");
}

#[test]
fn an_agent_that_does_not_read_is_cut_off() {
    let (mut fleet, _ends, mut connections) = fleet(1);
    assert_eq!((0..4).map(|_| fleet.send(agent(1), ToAgent::Welcome)).filter(|sent| *sent).count(), 2);
    assert!(connections.pop().unwrap().closed.blocking_recv().is_err());
    assert!(!fleet.send(agent(9), ToAgent::Welcome));
}

#[test]
fn the_fleet_is_bounded_and_the_gone_make_room() {
    let (mut fleet, _ends, connections) = fleet(MAX_AGENTS as u64);
    let one_more = hello(9_999, "late");
    assert_eq!(fleet.join(one_more.clone(), mpsc::channel(1).0, 1).unwrap_err(), Refusal::Full);
    fleet.leave(agent(7), connections[6].number);
    assert!(fleet.join(one_more, mpsc::channel(1).0, 1).is_ok());
    assert_eq!((fleet.members.len(), fleet.view(agent(7), 1)), (MAX_AGENTS, None));
}

#[test]
fn clocks_are_kept_by_agent() {
    let (mut fleet, _ends, _connections) = fleet(2);
    fleet.pinged(agent(1), 100, 1100, None);
    assert_eq!((fleet.to_agent_ns(agent(1), 5000), fleet.to_agent_ns(agent(2), 5000)), (Some(4000), None));
    let trip = RoundTrip { sent_ns: 100, received_ns: 1100, answered_ns: 1100, returned_ns: 1120 };
    fleet.pinged(agent(1), 200, 1200, Some(trip));
    assert_eq!(fleet.to_agent_ns(agent(1), 5000), Some(4510));
    assert_eq!(
        (fleet.to_coordinator_ns(agent(1), 4510), fleet.to_coordinator_ns(agent(2), 1)),
        (Some(5000), None)
    );
}

#[test]
fn the_longest_way_is_that_of_those_that_a_plan_wants() {
    let (mut fleet, _ends, connections) = fleet(3);
    let longest = |fleet: &Fleet| fleet.longest_way_ns(&least(1));
    assert_eq!(longest(&fleet), 0, "none is known");
    for (n, way_ns) in [(1, 20), (2, 70), (3, 400)] {
        let trip =
            RoundTrip { sent_ns: 100, received_ns: 1100, answered_ns: 1100, returned_ns: 100 + way_ns };
        fleet.pinged(agent(n), 100, 1100, None);
        fleet.pinged(agent(n), 1000, 2000, Some(trip));
    }
    assert_eq!(longest(&fleet), 400);
    fleet.leave(agent(3), connections[2].number);
    assert_eq!(longest(&fleet), 70);
    fleet.drain(agent(2), true, 0);
    assert_eq!(longest(&fleet), 20);
    let measured = AgentsWanted { share_by: ShareBy::Capacity, ..least(1) };
    assert_eq!(fleet.longest_way_ns(&measured), 0);
}
