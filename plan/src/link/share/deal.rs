//! Dealing: what part of a load each hand gets, in whole numbers that add up, and moving as little as can be.

use std::cmp::Reverse;

use super::{Bounds, Hand};
use crate::model::{Load, Model};
use crate::shape::StripeSet;

/// What each hand gets of `stripes`.
pub(super) fn stripes(stripes: &StripeSet, load: &Load, hands: &[Hand]) -> Vec<StripeSet> {
    let kinds = Kinds::of(stripes, load);
    let order = order(hands, &kinds);
    let owners = owners(stripes, hands);
    let mut dealt = vec![Vec::new(); hands.len()];
    if owners.iter().all(Option::is_none) {
        for (stripe, hand) in stripes.held().iter().zip(order) {
            dealt[hand].push(*stripe);
        }
    } else {
        let held = counts(owners.iter().copied(), kinds.fuller, hands.len());
        let parts = counts(order.into_iter().map(Some), kinds.fuller, hands.len());
        let parts = suited(&parts, &held, hands);
        let (fuller, rest) = stripes.held().split_at(kinds.fuller);
        let (owners_of_fuller, owners_of_rest) = owners.split_at(kinds.fuller);
        deal_again(fuller, owners_of_fuller, &by_kind(&parts, 0), &mut dealt);
        deal_again(rest, owners_of_rest, &by_kind(&parts, 1), &mut dealt);
    }
    dealt.into_iter().map(|held| stripes.of_same(held)).collect()
}

/// What bounds each hand: its part of each bound, by the largest remainders.
pub(super) fn bounds(bounds: Option<Bounds>, hands: &[Hand]) -> Vec<Option<Bounds>> {
    let Some(Bounds { max_in_flight, connections }) = bounds else { return vec![None; hands.len()] };
    let max_in_flight = parts_of(max_in_flight, hands);
    let connections = connections.map(|connections| parts_of(connections, hands));
    let bounds_of = |hand: usize| Bounds {
        max_in_flight: max_in_flight[hand],
        connections: connections.as_ref().map(|parts| parts[hand]),
    };
    (0..hands.len()).map(|hand| Some(bounds_of(hand))).collect()
}

/// Stripes in rising order are of two kinds: in the closed model the first ones have a user more than the rest, which
/// may have none. In the open model all are alike.
struct Kinds {
    /// How many stripes there are.
    all: usize,
    /// How many, from the first on, have something to do.
    useful: usize,
    /// How many, from the first on, are of the first kind.
    fuller: usize,
}

impl Kinds {
    fn of(stripes: &StripeSet, load: &Load) -> Self {
        let all = stripes.held().len();
        let Model::Closed(closed) = &load.model else { return Self { all, useful: all, fuller: all } };
        let (users, count) = (closed.users.most(), stripes.stripes().count());
        let fuller = stripes.held().partition_point(|stripe| *stripe < users % count);
        Self { all, useful: if users < count { fuller } else { all }, fuller }
    }
}

/// The hand that gets each stripe, in the order of the stripes, where nobody holds any yet. It is even over each
/// beginning of that order, so in each kind of stripes as well as in all of them.
fn order(hands: &[Hand], kinds: &Kinds) -> Vec<usize> {
    match lifted(hands, kinds.useful) {
        None => Turns::by(own_weights(hands)).take(kinds.all).collect(),
        // Who got more than its part of the useful ones gets its part of the rest, which may have users one day.
        Some(weights) => {
            let useful = Turns::by(weights).take(kinds.useful);
            useful.chain(Turns::by(own_weights(hands)).take(kinds.all - kinds.useful)).collect()
        }
    }
}

/// Who holds each stripe; where several claim to, the first of them.
fn owners(stripes: &StripeSet, hands: &[Hand]) -> Vec<Option<usize>> {
    let mut owners = vec![None; stripes.stripes().count() as usize];
    for (hand, holds) in
        hands.iter().enumerate().rev().filter_map(|(hand, of)| Some((hand, of.holds.as_ref()?)))
    {
        for stripe in holds.held() {
            if let Some(owner) = owners.get_mut(*stripe as usize) {
                *owner = Some(hand);
            }
        }
    }
    stripes.held().iter().map(|stripe| owners[*stripe as usize]).collect()
}

/// How many stripes of each kind each hand has.
fn counts(owners: impl Iterator<Item = Option<usize>>, fuller: usize, hands: usize) -> Vec<[usize; 2]> {
    let mut counts = vec![[0, 0]; hands];
    for (place, owner) in owners.enumerate() {
        if let Some(hand) = owner {
            counts[hand][usize::from(place >= fuller)] += 1;
        }
    }
    counts
}

/// The same parts, those of hands with the same weight exchanged so that who holds more gets the larger one.
fn suited(parts: &[[usize; 2]], held: &[[usize; 2]], hands: &[Hand]) -> Vec<[usize; 2]> {
    let ranked = |counts: &[[usize; 2]]| {
        let mut ranked: Vec<usize> = (0..hands.len()).collect();
        ranked.sort_by_key(|hand| (hands[*hand].weight.max(1), Reverse(counts[*hand])));
        ranked
    };
    let mut suited = parts.to_vec();
    for (hand, part) in ranked(held).into_iter().zip(ranked(parts)) {
        suited[hand] = parts[part];
    }
    suited
}

fn by_kind(parts: &[[usize; 2]], kind: usize) -> Vec<usize> {
    parts.iter().map(|part| part[kind]).collect()
}

/// Deals stripes of one kind: hands keep of what they hold what their parts allow, and the rest goes to those that have
/// less.
fn deal_again(stripes: &[u32], owners: &[Option<usize>], parts: &[usize], dealt: &mut [Vec<u32>]) {
    let mut held = vec![0; parts.len()];
    owners.iter().flatten().for_each(|hand| held[*hand] += 1);
    let mut seen = vec![0; parts.len()];
    let mut lacks = parts.to_vec();
    let mut free = Vec::new();
    for (stripe, owner) in stripes.iter().zip(owners) {
        match *owner {
            Some(hand) if keeps(seen[hand], parts[hand], held[hand]) => {
                dealt[hand].push(*stripe);
                lacks[hand] -= 1;
                seen[hand] += 1;
            }
            owner => {
                owner.into_iter().for_each(|hand| seen[hand] += 1);
                free.push(*stripe);
            }
        }
    }
    let lacks = lacks.into_iter().map(|lack| lack as u64).collect();
    for (stripe, hand) in free.into_iter().zip(Turns::by(lacks)) {
        dealt[hand].push(stripe);
    }
}

/// Whether a hand keeps the stripe at `place` of those that it holds, so that what it gives away is spread over them.
fn keeps(place: usize, part: usize, held: usize) -> bool {
    let kept_before = |place: usize| place * part.min(held) / held;
    kept_before(place + 1) > kept_before(place)
}

fn own_weights(hands: &[Hand]) -> Vec<u64> {
    hands.iter().map(|hand| u64::from(hand.weight.max(1))).collect()
}

/// Weights by which each hand gets one of `whole` things at least: who is too light for one gets the weight of one, and
/// the others share what is left by their own. `None` where their own will do, and where there aren't enough things.
fn lifted(hands: &[Hand], whole: usize) -> Option<Vec<u64>> {
    let own = own_weights(hands);
    if whole < own.len() {
        return None;
    }
    let mut is_light = vec![false; own.len()];
    let (mut left, mut sum) = (whole as u64, own.iter().sum::<u64>());
    loop {
        // The products have 17 bits (of a bound) more than a weight.
        let light: Vec<_> =
            (0..own.len()).filter(|hand| !is_light[*hand] && own[*hand] * left < sum).collect();
        if light.is_empty() {
            break;
        }
        for hand in light {
            is_light[hand] = true;
            left -= 1;
            sum -= own[hand];
        }
    }
    let weights = own.iter().zip(&is_light).map(|(own, is_light)| if *is_light { sum } else { own * left });
    is_light.contains(&true).then(|| weights.collect())
}

/// `whole` in parts by weight, each of one at least where there are enough: rounded down, and the largest remainders up.
fn parts_of(whole: u32, hands: &[Hand]) -> Vec<u32> {
    let weights = lifted(hands, whole as usize).unwrap_or_else(|| own_weights(hands));
    let sum: u128 = weights.iter().copied().map(u128::from).sum();
    let product = |hand: usize| u128::from(whole) * u128::from(weights[hand]);
    // Not more than the whole, which is 32 bits wide.
    let mut parts: Vec<u32> = (0..weights.len()).map(|hand| (product(hand) / sum) as u32).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|hand| Reverse(product(*hand) % sum));
    let left = whole - parts.iter().sum::<u32>();
    for hand in by_remainder.into_iter().take(left as usize) {
        parts[hand] += 1;
    }
    parts
}

/// Whose turn it is, again and again: after any number of turns each hand has had its part of them by weight, give or
/// take less than one. With equal weights they take turns in their order. Endless, unless no hand has a weight.
///
/// This is earliest deadline first over the windows of a *proportionate fair* schedule (S. K. Baruah, N. K. Cohen,
/// C. G. Plaxton and D. A. Varvel, *Proportionate Progress*, Algorithmica 15, 1996): the turn number x + 1 of a hand may
/// come once its part is beyond x, and must have come by the time its part is x + 1.
struct Turns {
    weights: Vec<u128>,
    sum: u128,
    had: Vec<u128>,
    turn: u128,
    /// All weights are the same, so there is nothing to compare.
    is_even: bool,
}

impl Turns {
    fn by(weights: Vec<u64>) -> Self {
        let weights: Vec<u128> = weights.into_iter().map(u128::from).collect();
        let is_even = weights.iter().all(|weight| *weight > 0 && *weight == weights[0]);
        Self { sum: weights.iter().sum(), had: vec![0; weights.len()], weights, turn: 0, is_even }
    }
}

impl Iterator for Turns {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.turn += 1;
        if self.is_even {
            // The remainder is below the number of hands.
            return (self.turn - 1).checked_rem(self.weights.len() as u128).map(|hand| hand as usize);
        }
        let may = |hand: &usize| self.had[*hand] * self.sum < self.turn * self.weights[*hand];
        let due = |one: &usize, other: &usize| {
            let before = (self.had[*one] + 1) * self.weights[*other];
            before.cmp(&((self.had[*other] + 1) * self.weights[*one]))
        };
        let hand = (0..self.weights.len()).filter(may).min_by(due)?;
        self.had[hand] += 1;
        Some(hand)
    }
}
