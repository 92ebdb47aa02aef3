//! What a coordinator can be told.

use std::sync::Arc;
use std::time::Duration;

use volley_plan::AllowList;
use volley_proto::Token;

/// The settings of a coordinator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The times that the decider works with.
    pub lifecycle: volley_lifecycle::Settings,
    /// How long runs that go on may take to finish when the coordinator is asked to end.
    pub shutdown_wait: Duration,
    /// What everybody must show who asks it for something, agents included. Without it, only loopback addresses may be
    /// listened on.
    pub token: Option<Token>,
    /// The targets that runs may load.
    pub allow: Arc<AllowList>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lifecycle: volley_lifecycle::Settings::default(),
            shutdown_wait: Duration::from_secs(12),
            token: None,
            allow: Arc::new(AllowList::anything()),
        }
    }
}

impl Settings {
    /// For a run whose only agent is in this process: nothing has to travel, so it starts as soon as all is ready.
    #[must_use]
    pub fn local() -> Self {
        let lifecycle = volley_lifecycle::Settings { lead_ns: 0, ..volley_lifecycle::Settings::default() };
        Self { lifecycle, ..Self::default() }
    }
}
