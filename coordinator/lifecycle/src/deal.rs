//! Who gets which part of the load. Pure.

use volley_plan::link::{Hand, Incarnation, Share};
use volley_plan::shape::StripeSet;
use volley_plan::{Load, Plan, ShareBy};

use crate::state::AgentFacts;

/// Agents with their parts, and those for whom there is nothing to do.
pub(crate) struct Dealt {
    pub(crate) taken: Vec<(AgentFacts, Share)>,
    pub(crate) spare: Vec<AgentFacts>,
}

/// Somebody who gets a part of a load that is dealt anew.
pub(crate) struct Taker {
    pub(crate) agent: Incarnation,
    pub(crate) weight: u32,
    /// What it has already.
    pub(crate) holds: StripeSet,
}

/// How much of a load an agent gets beside others; `None` if it takes no part.
pub(crate) fn weight(plan: &Plan, facts: &AgentFacts) -> Option<u32> {
    match plan.agents.share_by {
        ShareBy::Weight => Some(facts.weight.unwrap_or(facts.workers)),
        ShareBy::Capacity => facts.capacity,
        ShareBy::Even => Some(1),
    }
}

/// How many agents can take part.
pub(crate) fn hands_max(plan: &Plan, load: &Load) -> usize {
    let most = Share::all(plan).hands_max(load).min(plan.agents.max.unwrap_or(u32::MAX));
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Deals a plan's load out to agents by their weights, and exactly: what they have adds up to what the plan says.
pub(crate) fn deal(plan: &Plan, agents: Vec<AgentFacts>) -> Dealt {
    let (mut able, mut spare): (Vec<_>, Vec<_>) =
        agents.into_iter().partition(|facts| weight(plan, facts).is_some());
    spare.splice(0..0, able.split_off(able.len().min(hands_max(plan, &plan.load))));
    let hand = |facts| Hand { weight: weight(plan, facts).unwrap_or(1), holds: None };
    let hands: Vec<_> = able.iter().map(hand).collect();
    let shares = Share::all(plan).dealt(&plan.load, &hands);
    Dealt { taken: able.into_iter().zip(shares).collect(), spare }
}

/// Deals the whole load anew, so that as little of it moves as their weights allow. Where `nobody_gives`, what is free is
/// dealt out and nobody loses anything.
pub(crate) fn deal_anew(plan: &Plan, load: &Load, takers: &[Taker], nobody_gives: bool) -> Vec<Share> {
    let hand = |taker: &Taker| Hand { weight: taker.weight, holds: Some(taker.holds.clone()) };
    let hands: Vec<_> = takers.iter().map(hand).collect();
    let mut shares = Share::all(plan).dealt(load, &hands);
    if nobody_gives {
        keep_what_is_held(&mut shares, takers);
    }
    shares
}

/// Rounding may have moved a stripe between those who had theirs; it goes back.
fn keep_what_is_held(shares: &mut [Share], takers: &[Taker]) {
    let mut held: Vec<u32> = Vec::new();
    let Some(stripes) = takers.first().map(|taker| taker.holds.stripes()) else { return };
    for taker in takers {
        held.extend_from_slice(taker.holds.held());
    }
    // Numbers that come from sets of the same stripes.
    let Ok(held) = StripeSet::new(stripes, held) else { return };
    for (share, taker) in shares.iter_mut().zip(takers) {
        share.stripes = share.stripes.without(&held).with(&taker.holds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use volley_plan::shape::Stripes;

    fn plan(load: &str) -> Plan {
        volley_plan::parse(&format!("target: http://h/\n{load}")).expect("a plan")
    }

    proptest! {
        #[test]
        fn whoever_is_gone_nobody_loses_anything(
            weights in prop::collection::vec(1u32..9, 2..7), gone in 0usize..7,
            load in prop::sample::select(&["users: 9\nduration: 9s", "rate: 9/s\nduration: 9s\nmax_in_flight: 9"][..]),
        ) {
            let plan = plan(load);
            let fresh: Vec<_> = weights.iter().map(|&weight| Hand { weight, holds: None }).collect();
            let shares = Share::all(&plan).dealt(&plan.load, &fresh);
            let taker = |(&weight, share): (&u32, &Share)| Taker {
                agent: Incarnation(0), weight, holds: share.stripes.clone(),
            };
            let mut takers: Vec<_> = weights.iter().zip(&shares).map(taker).collect();
            takers.remove(gone % weights.len());
            let anew = deal_anew(&plan, &plan.load, &takers, true);
            let mut all: Vec<u32> = anew.iter().flat_map(|share| share.stripes.held().to_vec()).collect();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..Stripes::default().count()), "each stripe once");
            for (taker, share) in takers.iter().zip(&anew) {
                prop_assert!(taker.holds.without(&share.stripes).is_empty());
            }
        }
    }
}
