//! Joining, leaving and claiming of agents.

use super::*;

fn hello(incarnation: u64, name: &str) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        incarnation: Incarnation(incarnation),
        name: name.to_owned(),
        workers: 2,
    }
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
}

#[test]
fn a_second_connection_replaces_the_first_and_keeps_the_duty() {
    let (mut fleet, mut ends, mut connections) = fleet(1);
    assert_eq!(fleet.claim(&run("r"), 1, 0).len(), 1);
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
    assert_eq!(fleet.claim(&run("r"), 4, 0), Vec::new());
    assert_eq!(fleet.strength(0), Strength { idle: 3, busy: 0 });
    assert_eq!(fleet.claim(&run("r"), 2, 0).len(), 3);
    assert_eq!((fleet.claim(&run("s"), 1, 0).len(), fleet.strength(0)), (0, Strength { idle: 0, busy: 3 }));
    assert!(!fleet.free(agent(1), &run("s")), "only its own run lets an agent go");
    assert!(fleet.free(agent(1), &run("r")));
    fleet.free_all(&run("r"));
    assert_eq!(fleet.strength(0).idle, 3);
}

#[test]
fn silent_and_gone_agents_get_no_run() {
    let (mut fleet, _ends, connections) = fleet(2);
    let late = RESPONSIVE_NS + 1;
    fleet.heard(agent(1), late);
    let states = |fleet: &mut Fleet, now_ns| fleet.list(now_ns).iter().map(|a| a.state).collect::<Vec<_>>();
    assert_eq!(states(&mut fleet, late), ["idle", "silent"]);
    assert_eq!(fleet.claim(&run("r"), 1, late).len(), 1);
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
    let trip = RoundTrip { sent_ns: 0, received_ns: 510, answered_ns: 510, returned_ns: 20 };
    fleet.pinged(agent(1), 200, 1200, Some(trip));
    assert_eq!(fleet.to_agent_ns(agent(1), 5000), Some(4500));
}
