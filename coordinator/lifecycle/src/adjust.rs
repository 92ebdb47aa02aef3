//! Another level of load, while the run goes on.

use thiserror::Error;
use volley_plan::link::{Order, Share};
use volley_plan::words::counted;
use volley_plan::{Adjust, AdjustError, Level, Load, Model};

use crate::agent::AgentState;
use crate::change::{Change, seconds};
use crate::deal::deal_anew;
use crate::event::{Action, Level as NoteLevel};
use crate::planned::Planned;
use crate::run::Run;
use crate::state::State;

/// Most times that a run is adjusted: everybody who joins is told all of them.
const MAX_ADJUSTS: usize = 1_000;

/// Why a run can't be adjusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CannotAdjust {
    /// Its load hasn't begun, or it is not known yet how far it is.
    #[error("the run is {0}; it can be adjusted while it is running")]
    NotRunning(&'static str),
    /// Its load has ended, or will have before anything could change; or all its agents are on their way out.
    #[error("the run's load is over, or will be before it could be adjusted")]
    Over,
    /// It has been adjusted as often as can be.
    #[error("the run has been adjusted {MAX_ADJUSTS} times, which is the most")]
    TooOften,
    /// An agent without a user would keep the iterations that it has leave for.
    #[error(
        "{} would leave one of {} without any, and nobody else can do the iterations that it was granted",
        counted(u64::from(*.users), "user"),
        counted(u64::from(*.agents), "agent")
    )]
    FewUsers {
        /// As many as were asked for.
        users: u32,
        /// Agents that run.
        agents: u32,
    },
    /// This load can't have this level.
    #[error(transparent)]
    Load(AdjustError),
}

impl Run {
    /// Whether [`Event::AdjustAsked`](crate::Event::AdjustAsked) would be followed, as of the run's latest event. When it
    /// has been, [`Self::adjusted`] ends with it and says from when on.
    ///
    /// # Errors
    /// [`CannotAdjust`] says why not.
    pub fn can_adjust(&self, to: Level) -> Result<(), CannotAdjust> {
        self.try_adjust(self.seen_ns, to).map(|_| ())
    }

    /// The run time from which on the load would be another one, and that load.
    fn try_adjust(&self, now_ns: u64, to: Level) -> Result<(Adjust, Load), CannotAdjust> {
        match self.state {
            State::Running { .. } => {}
            State::Draining { .. } | State::Finished { .. } => return Err(CannotAdjust::Over),
            _ => return Err(CannotAdjust::NotRunning(self.state.name())),
        }
        if self.adjusted.len() >= MAX_ADJUSTS {
            return Err(CannotAdjust::TooOften);
        }
        let adjust = Adjust { at_ns: self.safe_ns(now_ns), to };
        match self.load.adjusted(adjust) {
            Ok(load) if self.is_any_left(adjust.at_ns) && self.can_anybody_take() => {
                self.check_users(to, &load)?;
                Ok((adjust, load))
            }
            Ok(_) | Err(AdjustError::Over) => Err(CannotAdjust::Over),
            Err(error) => Err(CannotAdjust::Load(error)),
        }
    }

    /// Where iterations are granted, every agent that runs must keep a user.
    fn check_users(&self, to: Level, load: &Load) -> Result<(), CannotAdjust> {
        let (Some(_), Level::Users(users)) = (&self.ledger, to) else { return Ok(()) };
        let shares = deal_anew(&self.plan, load, &self.takers(None), false);
        let agents = u32::try_from(shares.len()).unwrap_or(u32::MAX);
        let has_any = |share: &Share| share.stripes.count_in(0..u64::from(users)) > 0;
        if shares.iter().all(has_any) { Ok(()) } else { Err(CannotAdjust::FewUsers { users, agents }) }
    }

    pub(crate) fn adjust_asked(&mut self, now_ns: u64, to: Level, out: &mut Vec<Action>) {
        match self.try_adjust(now_ns, to) {
            Ok((adjust, load)) => self.adjust(now_ns, adjust, load, out),
            Err(why) => {
                self.note(now_ns, NoteLevel::Warn, format!("adjusting to {to} was refused: {why}"), out);
            }
        }
    }

    fn adjust(&mut self, now_ns: u64, adjust: Adjust, load: Load, out: &mut Vec<Action>) {
        let Adjust { at_ns, to } = adjust;
        self.load_is(load);
        self.adjusted.push(adjust);
        self.change(now_ns, &Change { at_ns, to: Some(to), nobody_gives: false, joiner: None }, out);
        // Those that are getting ready were told to do so for the load as it was.
        for agent in self.agents_that(AgentState::waits) {
            let Some(share) = self.agents.get(&agent).map(|agent| agent.prepared.clone()) else { continue };
            self.send(now_ns, agent, Order::Change { at_ns, share, to: Some(to), over_ns: 0 }, out);
        }
        self.note(now_ns, NoteLevel::Info, format!("adjusted to {to} from {} on", seconds(at_ns)), out);
    }

    /// What is planned is another load than before, the same up to now.
    pub(crate) fn load_is(&mut self, load: Load) {
        match &mut self.planned {
            Planned::Arrivals(arrivals) => {
                if let Model::Open(open) = &load.model {
                    arrivals.adjust(open, self.seed);
                }
            }
            planned @ (Planned::Iterations(_) | Planned::UserTime { .. }) => {
                *planned = Planned::of(&load, self.seed);
            }
        }
        self.load = load;
    }
}
