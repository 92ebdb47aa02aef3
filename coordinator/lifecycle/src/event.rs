//! What goes into a run and what comes out: events, and the actions that follow from them.

use volley_plan::Level as LoadLevel;
use volley_plan::link::{Incarnation, Order, WindowFacts};

use crate::state::AgentFacts;

/// What happens to a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An idle agent is there, and is this run's while the run doesn't free it. It matters where
    /// [`Run::wants_agents`](crate::Run::wants_agents).
    Joined(AgentFacts),
    /// An agent was heard of, and has taken its orders up to this number.
    Pinged {
        /// Who.
        agent: Incarnation,
        /// The highest order such that it and all before it have been taken.
        acknowledged: u64,
        /// Run time 0 as the agent has it, on the coordinator's clock; `None` while it has none, or its clock is unknown.
        start_ns: Option<u64>,
    },
    /// An agent is to be relieved of its share: it is about to end, or somebody asked for that. It finishes what it has
    /// begun and delivers. May be said as often as one likes.
    Leaving {
        /// Who.
        agent: Incarnation,
    },
    /// An agent stands by.
    Ready {
        /// Who.
        agent: Incarnation,
    },
    /// An agent cannot or will not do its share, or what that was changed to. It matters before its part begins; later it is
    /// noted, and the agent's last word tells the rest.
    Refused {
        /// Who.
        agent: Incarnation,
        /// Why.
        reason: String,
    },
    /// An agent asks for a further grant.
    GrantWanted {
        /// Who.
        agent: Incarnation,
        /// The end of the last grant that it has taken.
        taken: u64,
        /// How many it would like.
        iterations: u64,
    },
    /// An agent delivered a window. One that [`Run::to_keep`](crate::Run::to_keep) gives something for is kept before this
    /// is said, and this is not said of one that could not be kept: it is delivered again.
    Window {
        /// Who.
        agent: Incarnation,
        /// What of it matters here.
        facts: WindowFacts,
    },
    /// Somebody asked for another level of load, see [`Run::can_adjust`](crate::Run::can_adjust).
    AdjustAsked {
        /// To what.
        to: LoadLevel,
    },
    /// Somebody asked for the run's end.
    StopAsked,
    /// A threshold that is to stop the run does not hold any more.
    ThresholdBroken {
        /// Which, and what it was, in words.
        words: String,
    },
    /// The target may not be loaded so hard any more: the coordinator was started again with other rules.
    Forbidden {
        /// Why, in a sentence.
        reason: String,
    },
    /// Results or orders could not be kept. Nothing that is delivered from now on is, until the run is over.
    StoreFailed {
        /// Why.
        reason: String,
    },
    /// [`Run::deadline_ns`](crate::Run::deadline_ns) has come.
    Time,
}

/// What is to be done, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Save the order, then send it; all orders that follow from one event together, with [`Run::record`] and the
    /// [records](crate::AgentShare::record) of the agents that they are for, as they are after it. Whoever carries actions
    /// out later than it takes events in saves with the run the records of all agents whose
    /// [last order](crate::AgentShare::last_order) is not saved yet, since the run tells of those orders already. `Order::Start` says its
    /// time on the coordinator's clock.
    ///
    /// [`Run::record`]: crate::Run::record
    Send {
        /// To whom.
        agent: Incarnation,
        /// Its number.
        number: u64,
        /// The order.
        order: Order,
    },
    /// Answer the ping with this lease.
    Renew {
        /// Whose.
        agent: Incarnation,
        /// Its end, in run time.
        until_ns: u64,
    },
    /// Tell the agent that its windows up to this one are kept.
    Acknowledge {
        /// Whom.
        agent: Incarnation,
        /// The highest sequence that is kept.
        sequence: u64,
    },
    /// Write a line of the event log.
    Note(Note),
    /// The agent is free for another run.
    Free {
        /// Who.
        agent: Incarnation,
    },
    /// The run is over; [`Run::outcome`](crate::Run::outcome) says how.
    Finished,
}

/// How a window is to be kept, see [`Run::to_keep`](crate::Run::to_keep).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToKeep {
    /// The sum of what its agent has reported, this window included: to be kept with it.
    pub reported: WindowFacts,
    /// It came after the end: shown apart, totals stay.
    pub late: bool,
}

/// How much a line of the event log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As planned.
    Info,
    /// Not as planned.
    Warn,
}

/// A line of the run's event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When, in run time; `None` before the start.
    pub at_run_ns: Option<u64>,
    /// How much it matters.
    pub level: Level,
    /// What happened, in a sentence.
    pub text: String,
}
