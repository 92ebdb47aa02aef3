//! Dealing: that parts add up, are in proportion, leave nobody idle, and move no more than they must.

use super::*;
use proptest::prelude::*;

fn load(lines: &str) -> (Load, Share) {
    let plan = crate::parse(&format!("target: http://h/\n{lines}")).expect("a plan");
    let all = Share::all(&plan);
    (plan.load, all)
}

fn fresh(weights: &[u32]) -> Vec<Hand> {
    weights.iter().map(|weight| Hand { weight: *weight, holds: None }).collect()
}

fn holding(weights: &[u32], shares: &[Share]) -> Vec<Hand> {
    let holds = shares.iter().map(|share| Some(share.stripes.clone())).chain(std::iter::repeat(None));
    weights.iter().zip(holds).map(|(weight, holds)| Hand { weight: *weight, holds }).collect()
}

fn users(load: &Load, shares: &[Share]) -> Vec<u32> {
    let Model::Closed(closed) = &load.model else { panic!("a closed load") };
    shares.iter().map(|share| share.users(closed)).collect()
}

/// Checks how many users each hand gets.
fn check_users(lines: &str, weights: &[u32], expected: &[u32]) {
    let (load, all) = load(lines);
    assert_eq!(users(&load, &all.dealt(&load, &fresh(weights))), expected, "{lines} by {weights:?}");
}

#[test]
fn users_are_shared_out_exactly() {
    check_users("users: 10\nrequests: 10", &[1, 1, 1], &[4, 3, 3]);
    check_users("users: 10\nrequests: 10", &[4, 4, 8], &[3, 2, 5]);
    check_users("users: 10\nrequests: 10", &[1, 1000], &[1, 9]);
    check_users("users: 3\nrequests: 10", &[1000, 0, 1], &[1, 1, 1]);
    check_users("users: 2\nrequests: 10", &[1, 1, 1], &[1, 1, 0]);
    check_users("users: 10000\nrequests: 10000", &[1, 1, 1], &[3334, 3333, 3333]);
    check_users("users: 100000\nrequests: 100000", &[3, 1], &[75_000, 25_000]);
    check_users("users: 7\nrequests: 10", &[], &[]);
}

#[test]
fn equal_weights_are_dealt_like_cards() {
    let (load, all) = load("users: 10\nrequests: 10");
    for hands in [1, 2, 3, 7, 11] {
        let shares = all.dealt(&load, &fresh(&vec![8; hands]));
        for (hand, share) in shares.iter().enumerate() {
            assert_eq!(share.stripes, all.stripes.cards(hand, hands), "hand {hand} of {hands}");
        }
    }
    let Model::Closed(closed) = &load.model else { panic!("a closed load") };
    let second = &all.dealt(&load, &fresh(&[1, 1, 1]))[1];
    assert_eq!(second.user_numbers(closed).collect::<Vec<_>>(), [1, 4, 7]);
    let workers = second.dealt(&load, &fresh(&[1, 1]));
    assert_eq!(workers[1].user_numbers(closed).collect::<Vec<_>>(), [4]);
}

#[test]
fn more_users_of_a_later_load_are_even_too() {
    let (before, all) = load("users: 10\nduration: 10s");
    let shares = all.dealt(&before, &fresh(&[1, 1, 1]));
    let (more, _) = load("users: 20\nduration: 10s");
    assert_eq!(users(&more, &shares), [7, 7, 6]);
    // Who was too light for a user of ten, and got one, doesn't get a tenth of a thousand.
    let shares = all.dealt(&before, &fresh(&[1, 99]));
    let (many, _) = load("users: 1000\nduration: 10s");
    assert_eq!((users(&before, &shares), users(&many, &shares)), (vec![1, 9], vec![10, 990]));
}

#[test]
fn what_bounds_arrivals_is_shared_out_exactly() {
    let (load, all) = load("rate: 10/s\nduration: 1s\nmax_in_flight: 11\nconnections: 4");
    assert_eq!((all.hands_max(&load), all.slots_max(&load)), (4, 4));
    let of = |weights: &[u32]| {
        let share = |share: &Share| {
            let bounds = share.bounds.expect("an open load");
            (share.stripes.held().len(), bounds.max_in_flight, bounds.connections)
        };
        all.dealt(&load, &fresh(weights)).iter().map(share).collect::<Vec<_>>()
    };
    assert_eq!(of(&[1, 1, 1]), [(840, 4, Some(2)), (840, 4, Some(1)), (840, 3, Some(1))]);
    assert_eq!(of(&[2, 1]), [(1680, 7, Some(3)), (840, 4, Some(1))]);
    assert_eq!(of(&[1, 1_000_000]), [(1, 1, Some(1)), (2519, 10, Some(3))]);
}

/// Checks that of any first so many stripes, each hand has its part by weight, give or take less than one.
fn check_evenness(weights: &[u32]) {
    let (load, all) = load("rate: 10/s\nduration: 1s");
    let shares = all.dealt(&load, &fresh(weights));
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    for end in 1..=2520_u64 {
        for (weight, share) in weights.iter().zip(&shares) {
            let (held, part) = (share.stripes.count_in(0..end) * sum, end * u64::from(*weight));
            assert!(held.abs_diff(part) < sum, "{held} of {end} by {weight} of {weights:?}");
        }
    }
}

#[test]
fn arrivals_of_unequal_hands_interleave() {
    for weights in
        [&[4, 2, 1][..], &[1, 1000], &[7, 7, 8], &[16, 1, 1, 1, 1, 1, 2, 9], &[5, 4, 3, 2, 1, 1, 1]]
    {
        check_evenness(weights);
    }
    check_evenness(&[&[1000][..], &[1; 100]].concat());
}

#[test]
fn who_is_left_takes_over_and_a_joiner_takes_no_more_than_its_part() {
    let (load, all) = load("rate: 10/s\nduration: 1s");
    let three = all.dealt(&load, &fresh(&[1, 1, 1]));
    let two = all.dealt(&load, &holding(&[1, 1], &three[..2]));
    for (share, before) in two.iter().zip(&three) {
        assert_eq!(
            (share.stripes.held().len(), before.stripes.without(&share.stripes).is_empty()),
            (1260, true)
        );
    }
    // What the lost one had goes to both in turns.
    let taken = two[0].stripes.without(&three[0].stripes);
    assert_eq!(taken.held()[..3], [2, 8, 14]);
    let again = all.dealt(&load, &holding(&[1, 1, 1], &two));
    for (share, before) in again.iter().zip(&two) {
        assert!(share.stripes.without(&before.stripes).is_empty(), "who stays gets nothing new");
    }
    assert_eq!(again[2].stripes.held().len(), 840);
}

#[test]
fn the_larger_part_goes_to_who_holds_more() {
    let (load, all) = load("users: 10\nduration: 1s");
    let shares = all.dealt(&load, &fresh(&[1, 1, 1]));
    let hands = [
        Hand { weight: 1, holds: None },
        Hand { weight: 1, holds: Some(shares[2].stripes.clone()) },
        Hand { weight: 1, holds: Some(shares[1].stripes.clone()) },
        Hand { weight: 1, holds: Some(shares[0].stripes.clone()) },
    ];
    assert_eq!(users(&load, &all.dealt(&load, &hands)), [2, 3, 2, 3]);
}

#[test]
fn shares_of_earlier_versions_are_read() {
    let check = |written: &str, held: &[u32], bounds: Option<Bounds>| {
        let share: Share = serde_json::from_str(written).expect(written);
        assert_eq!((share.stripes.held(), share.bounds), (held, bounds), "{written}");
        let again = serde_json::to_string(&share).expect("can be written");
        assert_eq!(serde_json::from_str::<Share>(&again).expect("reads back"), share);
    };
    check(r#"{"users":3,"first_user":4}"#, &[4, 5, 6], None);
    check(r#"{"users":3,"first_user":1,"every":4}"#, &[1, 5, 9], None);
    check(r#"{"users":2,"first_user":2519,"every":2}"#, &[1, 2519], None);
    let bounds = |connections| Some(Bounds { max_in_flight: 7, connections });
    let stripes = r#""stripes":{"stripes":2520,"held":[3,8]}"#;
    check(&format!(r#"{{{stripes},"max_in_flight":7,"connections":5}}"#), &[3, 8], bounds(Some(5)));
    check(&format!(r#"{{{stripes},"max_in_flight":7,"connections":null}}"#), &[3, 8], bounds(None));
    check(
        &format!(r#"{{{stripes},"bounds":{{"max_in_flight":7,"connections":5}}}}"#),
        &[3, 8],
        bounds(Some(5)),
    );
    check(&format!("{{{stripes}}}"), &[3, 8], None);
    for bad in [r#"{"stripes":{"stripes":5,"held":[5]}}"#, r#"{"users":3}"#, "{}"] {
        serde_json::from_str::<Share>(bad).expect_err(bad);
    }
}

/// Stripes by kind, as dealing tells them apart: those with one user more than the rest, and the rest.
fn kinds(load: &Load, stripes: &StripeSet) -> [Vec<u32>; 2] {
    let bound = match &load.model {
        Model::Closed(closed) => closed.users.most() % stripes.stripes().count(),
        Model::Open(_) => u32::MAX,
    };
    let (fuller, rest) = stripes.held().iter().partition(|stripe| **stripe < bound);
    [fuller, rest]
}

/// What must hold of any deal.
fn check_deal(load: &Load, all: &Share, hands: &[Hand], shares: &[Share]) -> Result<(), TestCaseError> {
    let mut held: Vec<u32> = shares.iter().flat_map(|share| share.stripes.held()).copied().collect();
    held.sort_unstable();
    prop_assert_eq!(held.as_slice(), all.stripes.held(), "disjoint, and all of it");
    let sum =
        |of: fn(&Bounds) -> u32| shares.iter().filter_map(|share| share.bounds.as_ref()).map(of).sum::<u32>();
    let whole = all.bounds.map(|bounds| (bounds.max_in_flight, bounds.connections.unwrap_or(0)));
    let parts = (sum(|bounds| bounds.max_in_flight), sum(|bounds| bounds.connections.unwrap_or(0)));
    prop_assert_eq!(parts, whole.unwrap_or((0, 0)));
    let has_all = hands.len() <= all.hands_max(load) as usize;
    let weight: u64 = hands.iter().map(|hand| u64::from(hand.weight.max(1))).sum();
    for (hand, share) in hands.iter().zip(shares) {
        if has_all {
            prop_assert!(share.slots_max(load) > 0 && !share.stripes.is_empty(), "{:?} idles", hand);
        }
        let exact = u64::from(hand.weight.max(1)) as f64 / weight as f64 * all.stripes.held().len() as f64;
        let off = (share.stripes.held().len() as f64 - exact).abs();
        // Those that are too light for one thing are lifted to it, at the cost of the others.
        let is_lifted = hands.iter().any(|hand| u64::from(hand.weight.max(1)) * 10 < weight);
        prop_assert!(off < 1.0 || is_lifted, "{} stripes off", off);
        let Some(holds) = &hand.holds else { continue };
        for (held, dealt) in kinds(load, holds).iter().zip(kinds(load, &share.stripes)) {
            let kept = dealt.iter().filter(|stripe| holds.contains(u64::from(**stripe))).count();
            prop_assert_eq!(kept, held.len().min(dealt.len()), "no more moves than has to");
        }
    }
    Ok(())
}

fn any_load() -> impl Strategy<Value = String> {
    prop_oneof![
        (10_u32..8_000).prop_map(|users| format!("users: {users}\nduration: 1s")),
        (10_u32..500, 10_u32..100).prop_map(|(more, connections)| {
            format!(
                "rate: 1/s\nduration: 1s\nmax_in_flight: {}\nconnections: {connections}",
                more + connections
            )
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_deal_is_exact_and_moves_little(
        lines in any_load(),
        weights in prop::collection::vec(prop_oneof![1..9_u32, any::<u32>()], 1..12),
        later in prop::collection::vec((0..12_usize, prop_oneof![1..9_u32, any::<u32>()]), 1..12),
    ) {
        let (load, all) = load(&lines);
        let shares = all.dealt(&load, &fresh(&weights));
        check_deal(&load, &all, &fresh(&weights), &shares)?;
        prop_assert_eq!(&all.dealt(&load, &holding(&weights, &shares)), &shares, "the same hands get the same again");
        // Some stay, with whatever weight, and some are new.
        let mut taken = std::collections::BTreeSet::new();
        let hands: Vec<_> = later
            .into_iter()
            .map(|(from, weight)| {
                let holds = shares.get(from).filter(|_| taken.insert(from)).map(|share| share.stripes.clone());
                Hand { weight, holds }
            })
            .collect();
        let again = all.dealt(&load, &hands);
        check_deal(&load, &all, &hands, &again)?;
        let workers = again[0].dealt(&load, &fresh(&[1, 1, 1]));
        check_deal(&load, &again[0], &fresh(&[1, 1, 1]), &workers)?;
    }
}
