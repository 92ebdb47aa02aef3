//! Who gets which part of the load.

use volley_plan::link::{ArrivalShare, Share};
use volley_plan::shape::Stripes;
use volley_plan::{Model, Plan};

use crate::planned::all_users;
use crate::state::AgentFacts;

/// Agents with their parts, and those for whom there is nothing to do.
pub(crate) struct Dealt {
    pub(crate) taken: Vec<(AgentFacts, Share)>,
    pub(crate) spare: Vec<AgentFacts>,
}

/// Deals a plan's load out to agents, evenly and exactly: what they have adds up to what the plan says.
pub(crate) fn deal(plan: &Plan, mut agents: Vec<AgentFacts>) -> Dealt {
    let most = usize::try_from(agents_most(plan)).unwrap_or(usize::MAX);
    let spare = agents.split_off(agents.len().min(most));
    // No more than `agents_most`, which is 32 bits wide.
    let hands = u32::try_from(agents.len()).unwrap_or(u32::MAX);
    let taken = (0..).zip(agents).map(|(hand, facts)| (facts, share(plan, hand, hands))).collect();
    Dealt { taken, spare }
}

/// How many agents can have a part: each needs a user, or a stripe, an iteration in flight and a connection.
fn agents_most(plan: &Plan) -> u32 {
    match &plan.load.model {
        Model::Closed(closed) => closed.users.most(),
        Model::Open(open) => {
            let connections = plan.http.connections.unwrap_or(u32::MAX);
            open.max_in_flight.min(connections).min(Stripes::default().count())
        }
    }
}

fn share(plan: &Plan, hand: u32, hands: u32) -> Share {
    match &plan.load.model {
        Model::Closed(closed) => Share::Users(all_users(closed).dealt(hand, hands)),
        Model::Open(open) => Share::Arrivals(ArrivalShare {
            stripes: Stripes::default().all().dealt(hand as usize, hands as usize),
            max_in_flight: part(open.max_in_flight, hand, hands),
            connections: plan.http.connections.map(|connections| part(connections, hand, hands)),
        }),
    }
}

/// One hand's part of a whole number.
fn part(whole: u32, hand: u32, hands: u32) -> u32 {
    whole / hands + u32::from(hand < whole % hands)
}
