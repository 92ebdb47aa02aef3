//! Shares that change in mid-run: every arrival is one agent's, whatever is late, and users go on or begin anew.

use proptest::prelude::*;
use volley_plan::Level;
use volley_plan::link::{Hand, Share};

use super::*;
use crate::Command;

fn change(at_ns: u64, share: &Share) -> Command {
    Command::Change { at_ns, share: share.clone(), to: None, over_ns: 0 }
}

/// What the first two of three agents get when the third is lost.
fn without_the_third(load: &str) -> Vec<Share> {
    let hands = Agent::alone(load, MS).shares(3).into_iter().take(2);
    let hands: Vec<Hand> = hands.map(|share| Hand { weight: 1, holds: Some(share.stripes) }).collect();
    let plan = plan(load);
    Share::all(&plan).dealt(&plan.load, &hands)
}

/// The times of arrivals at 100 a second, by number.
fn due(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    numbers.map(|n| n * 10 * MS).collect()
}

const LOAD: &str = "rate: 100/s\nduration: 10s\nhttp: { number_header: x-n }";

#[test]
fn case_11_the_share_of_a_lost_agent_goes_to_the_others_at_one_time() {
    for workers in [1, 3] {
        let agent = Agent::alone(LOAD, MS).with_workers(workers);
        let shares = without_the_third(LOAD);
        let staying = (0..2).map(|index| {
            let heard_ns = (3 + index as u64) * SECOND;
            agent.clone().of(index, 3).told(heard_ns, change(4505 * MS, &shares[index]))
        });
        let stop = Command::Stop { at_ns: 4505 * MS, drain_ns: 0 };
        let lost = agent.clone().of(2, 3).told(4 * SECOND, stop);
        let ran = Ran::together(staying.chain([lost]));
        assert_eq!(ran.times(), due(0..1000), "{workers} workers");
        assert_eq!(ran.numbers(), (0..1000).collect::<Vec<_>>());
        assert_eq!(ran.iterations(), [(100, 0); 10]);
    }
}

#[test]
fn a_change_that_comes_late_makes_misses_and_no_doubles() {
    let (agent, shares) = (Agent::alone(LOAD, MS), without_the_third(LOAD));
    let lease = Command::Lease { until_ns: 20 * SECOND };
    let late = agent.clone().of(0, 3).with_lease(4500 * MS).told(6050 * MS, change(4500 * MS, &shares[0]));
    let late = late.told(6105 * MS, lease);
    let ran = late.clone().run();
    let (before, after) = (&agent.shares(3)[0].stripes, &shares[0].stripes);
    let own = |n: &u64| if *n < 450 { before.contains(*n) } else { *n > 610 && after.contains(*n) };
    assert_eq!(ran.times(), due((0..1000).filter(own)));
    let missed: Vec<u64> = ran.iterations().iter().map(|(_, missed)| *missed).collect();
    let own_in = |numbers: std::ops::Range<u64>| after.count_in(numbers);
    assert_eq!(missed, [0, 0, 0, 0, own_in(450..500), own_in(500..600), own_in(600..611), 0, 0, 0]);
    // Together with the others each is one agent's.
    let other = agent.clone().of(1, 3).told(4 * SECOND, change(4500 * MS, &shares[1]));
    let stop = Command::Stop { at_ns: 4500 * MS, drain_ns: 0 };
    let lost = agent.of(2, 3).told(4 * SECOND, stop);
    let all = Ran::together([late, other, lost]);
    assert_eq!(all.numbers().len(), all.seen.len());
    assert!(all.iterations().iter().all(|(started, missed)| started + missed == 100));
}

#[test]
fn who_had_a_lease_beyond_a_change_that_it_heard_of_late_takes_up_what_it_gained() {
    for workers in [1, 3] {
        let (agent, shares) = (Agent::alone(LOAD, MS).with_workers(workers), without_the_third(LOAD));
        let ran = agent.clone().of(0, 3).told(6005 * MS, change(4500 * MS, &shares[0])).run();
        let (before, after) = (&agent.shares(3)[0].stripes, &shares[0].stripes);
        let own = |n: &u64| if *n < 450 { before.contains(*n) } else { after.contains(*n) };
        let own: Vec<u64> = (0..1000).filter(own).collect();
        assert_eq!((ran.numbers(), ran.seen.len()), (own.clone(), own.len()), "{workers} workers");
        let late = own.iter().filter(|n| (450..601).contains(*n) && !before.contains(**n)).count();
        let at_once = ran.times().iter().filter(|&&at_ns| at_ns == 6005 * MS).count();
        assert_eq!(at_once, late, "{workers} workers");
    }
}

#[test]
fn who_stands_still_over_a_change_goes_on_with_both_shares() {
    let (agent, shares) = (Agent::alone(LOAD, MS), without_the_third(LOAD));
    let (before, after) = (agent.shares(3)[0].stripes.clone(), &shares[0].stripes);
    let own = |n: &u64| if *n < 450 { before.contains(*n) } else { after.contains(*n) };
    let agent = agent.of(0, 3).told(3 * SECOND, change(4500 * MS, &shares[0])).stopped(4300 * MS..4700 * MS);
    let in_time = agent.clone().run();
    let expected: Vec<u64> = (0..1000)
        .filter(own)
        .map(|n| if (430..470).contains(&n) { 4700 * MS } else { n * 10 * MS })
        .collect();
    assert_eq!(in_time.times(), expected);
    // Its lease ran out meanwhile: neither share's arrivals of that time are sent.
    let lease = Command::Lease { until_ns: 20 * SECOND };
    let too_late = agent.with_lease(4600 * MS).told(4795 * MS, lease).run();
    let expected = due((0..1000).filter(own).filter(|n| !(430..480).contains(n)));
    assert_eq!(too_late.times(), expected);
    let missed: u64 = too_late.iterations().iter().map(|(_, missed)| missed).sum();
    assert_eq!(missed, before.count_in(430..450) + after.count_in(450..480));
}

#[test]
fn an_adjusted_rate_counts_from_its_time_for_all_agents() {
    let load = "rate: 10/s\nduration: 4s";
    let to = Some(Level::Rate("100/s".parse().unwrap()));
    for workers in [1, 2] {
        let agent = Agent::alone(load, MS).with_workers(workers);
        let agents = agent.shares(2).into_iter().map(|share| {
            let adjust = Command::Change { at_ns: 2 * SECOND, share: share.clone(), to, over_ns: 0 };
            agent.clone().with_share(share).told(SECOND, adjust)
        });
        let expected: Vec<u64> =
            (0..20).map(|n| n * 100 * MS).chain((0..200).map(|n| 2 * SECOND + n * 10 * MS)).collect();
        assert_eq!(Ran::together(agents).times(), expected, "{workers} workers");
    }
}

#[test]
fn adjusted_users_come_and_go_at_its_time() {
    let share = Share::all(&plan("users: 2\nduration: 6s"));
    let to = |at_s, users| {
        let to = Some(Level::Users(users));
        (
            at_s * SECOND - 700 * MS,
            Command::Change { at_ns: at_s * SECOND, share: share.clone(), to, over_ns: 0 },
        )
    };
    let [(up_ns, up), (down_ns, down)] = [to(2, 5), to(4, 1)];
    let ran = Agent::alone("users: 2\nduration: 6s", 100 * MS).told(up_ns, up).told(down_ns, down).run();
    assert_eq!(by_second(&ran.times(), 6), [20, 20, 50, 50, 10, 10]);
    assert_eq!(
        (ran.users()[..6].to_vec(), ran.measured().counters.connections_opened),
        (vec![2, 2, 5, 5, 1, 1], 5)
    );
}

#[test]
fn users_of_a_lost_agent_begin_anew_and_the_others_go_on() {
    let load = "users: 12\nduration: 10s\nhttp: { number_header: x-n }";
    let shares = without_the_third(load);
    let agent = Agent::alone(load, 100 * MS).with_workers(2);
    let takes_over = |index: usize| {
        let change = Command::Change {
            at_ns: 5 * SECOND,
            share: shares[index].clone(),
            to: None,
            over_ns: 2 * SECOND,
        };
        agent.clone().of(index, 3).told(4 * SECOND, change)
    };
    let lost = agent.clone().of(2, 3).told(SECOND, Command::Stop { at_ns: 4 * SECOND, drain_ns: 0 });
    let all = Ran::together([takes_over(0), takes_over(1), lost]);
    assert_eq!(all.numbers().len(), all.seen.len());
    for index in 0..2 {
        let ran = takes_over(index).run();
        // Four users of its own go on; two more begin, one second after each other.
        assert_eq!(by_second(&ran.times(), 10), [40, 40, 40, 40, 40, 50, 60, 60, 60, 60]);
        assert_eq!(ran.users()[..10], [4, 4, 4, 4, 4, 5, 6, 6, 6, 6]);
        assert_eq!((ran.measured().counters.connections_opened, ran.window.iterations().finished), (6, 490));
    }
}

#[test]
fn a_user_that_is_given_away_finishes_its_request_and_not_its_next_step() {
    let steps = "scenarios:\n  two:\n    steps:\n      - get: /a\n      - get: /b\n";
    let load = format!("users: 2\nduration: 3s\n{steps}");
    let agent = Agent::alone(&load, 100 * MS);
    let first = agent.shares(2).swap_remove(0);
    for heard_ms in [500, 1050] {
        let ran = agent.clone().told(heard_ms * MS, change(1050 * MS, &first)).run();
        let of = |path: &str| ran.seen.iter().filter(|seen| seen.path == path).count();
        assert_eq!(
            (of("/a"), of("/b"), ran.window.iterations().finished),
            (21, 20, 20),
            "heard at {heard_ms} ms"
        );
        assert_eq!(ran.users()[..3], [2, 2, 1]);
    }
}

#[test]
fn a_user_that_thinks_is_given_away_at_once() {
    let steps = "scenarios:\n  one:\n    steps:\n      - get: /a\n      - think: 30s\n      - get: /b\n";
    let agent = Agent::alone(&format!("users: 2\nduration: 60s\n{steps}"), 100 * MS);
    let first = agent.shares(2).swap_remove(0);
    let ran = agent.told(SECOND, change(2 * SECOND, &first)).run();
    assert_eq!(ran.users()[..4], [2, 2, 1, 1]);
    let connections: Vec<u32> = ran.window.seconds.values().map(|second| second.connections).collect();
    assert_eq!(connections[..4], [2, 2, 1, 1]);
}

#[test]
fn connections_beyond_the_new_bound_are_closed() {
    let text = "rate: 40/s\nduration: 6s\nconnections: 8";
    let slow_at_first = |seen: &Seen| Some(seen.at_ns + if seen.at_ns < 2 * SECOND { 190 * MS } else { MS });
    let agent = Agent::alone(text, 0).answered(slow_at_first);
    let mut fewer = Share::all(&plan(text));
    fewer.bounds.as_mut().unwrap().connections = Some(2);
    let ran = agent.told(SECOND, change(3 * SECOND, &fewer)).run();
    let connections: Vec<u32> = ran.window.seconds.values().map(|second| second.connections).collect();
    assert_eq!(connections[..5], [8, 8, 8, 2, 2]);
    assert_eq!((ran.measured().counters.ok, ran.measured().counters.connections_opened), (240, 8));
}

#[test]
fn more_may_be_in_flight_from_the_change_on() {
    let text = "rate: 10/s\nduration: 3s\nmax_in_flight: 2\ndrain: 20s";
    let mut more = Share::all(&plan(text));
    more.bounds.as_mut().unwrap().max_in_flight = 100;
    let ran = Agent::alone(text, 9 * SECOND).told(SECOND, change(1950 * MS, &more)).run();
    assert_eq!(ran.iterations(), [(2, 8), (0, 10), (10, 0)]);
}

#[test]
fn who_has_done_its_own_stays_while_it_may_get_more() {
    let text = "rate: 10/s\niterations: 50";
    let agent = Agent::alone(text, MS);
    let all = Share::all(&plan(text));
    let few = volley_plan::shape::StripeSet::new(all.stripes.stripes(), (0..5).collect()).unwrap();
    let few = Share { stripes: few, ..all.clone() };
    let lease = |until_ms| Command::Lease { until_ns: until_ms * MS };
    let agent = agent.with_share(few).with_lease(SECOND).told(900 * MS, lease(2950));
    let taken_over =
        agent.clone().told(2500 * MS, change(2950 * MS, &all)).told(2600 * MS, lease(9000)).run();
    let expected: Vec<u64> = (0..5).chain(30..50).map(|n| n * 100 * MS).collect();
    assert_eq!(taken_over.times(), expected);
    // With a lease beyond the last arrival it is certain that nothing more will come.
    let alone = agent.told(1500 * MS, lease(9000)).run();
    assert_eq!((alone.times().len(), alone.window.watermark_s), (5, 1));
}

#[test]
fn who_has_no_user_waits_for_some_while_iterations_are_granted() {
    let text = "users: 2\nrequests: 10";
    let all = Share::all(&plan(text));
    let none = volley_plan::shape::StripeSet::new(all.stripes.stripes(), vec![5]).unwrap();
    let grant = Command::Grant { from: 0, to: 10, last: true };
    let agent = Agent::alone(text, 100 * MS).with_share(Share { stripes: none, ..all.clone() });
    let ran = agent.told(500 * MS, change(SECOND, &all)).told(0, grant).run();
    assert_eq!((ran.measured().counters.ok, ran.times()[0], ran.window.latest_ns), (10, SECOND, 1500 * MS));
}

#[test]
fn a_change_that_comes_after_the_end_says_whose_the_last_arrivals_were() {
    let shares = without_the_third(LOAD);
    let agent = Agent::alone(&format!("{LOAD}\ndrain: 100ms"), MS);
    let before = agent.shares(3)[0].stripes.clone();
    let late = agent.of(0, 3).with_lease(8005 * MS).told(11 * SECOND, change(9 * SECOND, &shares[0]));
    let lease = Command::Lease { until_ns: 13 * SECOND };
    // Without a further word what was due after the change is undecided; with it, it is missed.
    let stop = Command::Stop { at_ns: 9500 * MS, drain_ns: 0 };
    for (word, until) in [(lease, 1000), (stop, 950)] {
        let ran = late.clone().told(12 * SECOND, word).run();
        let missed: u64 = ran.iterations().iter().map(|(_, missed)| missed).sum();
        let own = before.count_in(801..900) + shares[0].stripes.count_in(900..until);
        assert_eq!((missed, ran.seen.len() as u64), (own, before.count_in(0..801)), "until {until}");
    }
}

/// What happens to one of three agents in a run of ten seconds: when it stands still, and how late it hears of changes.
#[derive(Clone, Debug)]
struct Fate {
    stands_still: (u64, u64),
    hears_after_ms: [u64; 2],
}

fn fate() -> impl Strategy<Value = Fate> {
    let still = (0_u64..9000, prop_oneof![Just(0_u64), 0_u64..3000]);
    (still, prop::array::uniform2(0_u64..2500))
        .prop_map(|(stands_still, hears_after_ms)| Fate { stands_still, hears_after_ms })
}

/// An agent with its shares before and after each change; leases are renewed as a coordinator does it, never beyond a change
/// that it hasn't heard of.
fn fated(agent: Agent, shares: &[Share; 3], changes_ms: [u64; 2], fate: &Fate) -> Agent {
    let still = fate.stands_still.0 * MS..(fate.stands_still.0 + fate.stands_still.1) * MS;
    let mut agent = agent.with_share(shares[0].clone()).with_lease(1500 * MS).stopped(still);
    let heard_ms = [0, 1].map(|k| changes_ms[k] - 1000 + fate.hears_after_ms[k]);
    let heard_ms = [heard_ms[0], heard_ms[1].max(heard_ms[0])];
    for k in 0..2 {
        agent = agent.told(heard_ms[k] * MS, change(changes_ms[k] * MS, &shares[k + 1]));
    }
    for now_ms in (0..13_000).step_by(500) {
        let unknown = (0..2).filter(|&k| now_ms <= heard_ms[k]).map(|k| changes_ms[k]);
        let until_ms = unknown.fold(now_ms + 1500, u64::min);
        agent = agent.told(now_ms * MS + 1, Command::Lease { until_ns: until_ms * MS });
    }
    agent
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_arrival_is_sent_once_or_missed_by_one_agent(
        fates in prop::array::uniform3(fate()), first_ms in 1500_u64..5000, gap_ms in 0_u64..4000,
        weights in prop::array::uniform3(prop::array::uniform3(1_u32..9)), workers in 1_usize..3,
    ) {
        let text = "rate: 50/s\nduration: 10s\nmax_in_flight: 900\nhttp: { number_header: x-n }";
        let plan = plan(text);
        let mut deals: Vec<Vec<Share>> = Vec::new();
        for weights in weights {
            let holds = |agent: usize| deals.last().map(|shares| shares[agent].stripes.clone());
            let hands: Vec<Hand> =
                (0..3).map(|agent| Hand { weight: weights[agent], holds: holds(agent) }).collect();
            deals.push(Share::all(&plan).dealt(&plan.load, &hands));
        }
        let agents = (0..3).map(|agent| {
            let shares = [0, 1, 2].map(|deal: usize| deals[deal][agent].clone());
            let alone = Agent::alone(text, MS).with_workers(workers);
            fated(alone, &shares, [first_ms, first_ms + gap_ms], &fates[agent])
        });
        let ran = Ran::together(agents);
        let iterations = ran.iterations();
        prop_assert!(iterations.iter().all(|(started, missed)| started + missed == 50), "{:?}", iterations);
        let started: u64 = iterations.iter().map(|(started, _)| started).sum();
        prop_assert_eq!((iterations.len(), ran.numbers().len() as u64), (10, started));
    }
}
