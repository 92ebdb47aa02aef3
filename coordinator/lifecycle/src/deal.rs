//! Who gets which part of the load.

use volley_plan::Plan;
use volley_plan::link::Share;

use crate::state::AgentFacts;

/// Agents with their parts, and those for whom there is nothing to do.
pub(crate) struct Dealt {
    pub(crate) taken: Vec<(AgentFacts, Share)>,
    pub(crate) spare: Vec<AgentFacts>,
}

/// Deals a plan's load out to agents, evenly and exactly: what they have adds up to what the plan says.
pub(crate) fn deal(plan: &Plan, mut agents: Vec<AgentFacts>) -> Dealt {
    let all = Share::all(plan);
    let most = usize::try_from(all.hands_max()).unwrap_or(usize::MAX);
    let spare = agents.split_off(agents.len().min(most));
    // No more than there are hands, whose number is 32 bits wide.
    let hands = u32::try_from(agents.len()).unwrap_or(u32::MAX);
    let taken = (0..).zip(agents).map(|(hand, facts)| (facts, all.dealt(hand, hands))).collect();
    Dealt { taken, spare }
}
