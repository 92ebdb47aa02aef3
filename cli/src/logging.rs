//! The log: to stderr. Services tell what they do, other commands only what is wrong, unless `VOLLEY_LOG` says otherwise
//! (`VOLLEY_LOG=debug`, or by crate).

use std::io;

use tracing_subscriber::EnvFilter;

const VARIABLE: &str = "VOLLEY_LOG";

/// Starts it. A filter that can't be read is said and left out.
pub(crate) fn start(is_service: bool) {
    let usual = if is_service { "info" } else { "warn" };
    let given = std::env::var(VARIABLE).unwrap_or_else(|_| usual.to_owned());
    let filter = EnvFilter::try_new(&given).unwrap_or_else(|error| {
        crate::output::say(&format!("volley: {VARIABLE}={given}: {error}"));
        EnvFilter::new(usual)
    });
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    log.with_ansi(colours(&io::stderr())).init();
}

/// Whether colours are welcome at this stream.
pub(crate) fn colours(stream: &impl io::IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && !is_dumb()
}

/// Whether the terminal can do no more than print lines.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty())
}
