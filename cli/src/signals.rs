//! Ctrl-C and SIGTERM.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals, caught from its making on.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

/// Which of them came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A person at the terminal pressed Ctrl-C.
    Interrupt,
    /// Whatever keeps services wants this one to end.
    Terminate,
}

impl Signals {
    /// Catches the signals.
    pub(crate) fn catch() -> anyhow::Result<Self> {
        let catch = |kind| signal(kind).context("signals can't be caught");
        Ok(Self { interrupt: catch(SignalKind::interrupt())?, terminate: catch(SignalKind::terminate())? })
    }

    /// Resolves at the next signal. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Ask {
        tokio::select! {
            _ = self.interrupt.recv() => Ask::Interrupt,
            _ = self.terminate.recv() => Ask::Terminate,
        }
    }
}
