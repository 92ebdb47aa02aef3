//! Tells systemd how a service is, where it wants to know (sd_notify(3), `Type=notify`).

use sd_notify::NotifyState;

/// The service does its work from now on.
pub(crate) fn ready() {
    tell(NotifyState::Ready);
}

/// It is about to end.
pub(crate) fn stopping() {
    tell(NotifyState::Stopping);
}

fn tell(state: NotifyState<'_>) {
    // Where nobody wants to know, nothing is done, and that is no error.
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "systemd can't be told how this service is");
    }
}
