//! The sentence that a run's page opens with: what happened, with its numbers.

use volley_lifecycle::{Run, StopReason};
use volley_plan::words::{count, counted};
use volley_plan::{Model, Verdict};
use volley_stats::ErrorKind;

use super::Progress;
use crate::words::{milliseconds, request_rate, seconds};

/// Error kinds that are named where nothing succeeded.
const KINDS_NAMED: usize = 3;

/// Says where the run stands. Everything else in `progress` is filled in already.
pub(super) fn sentence(progress: &Progress, run: &Run) -> String {
    let wanted = u64::from(run.plan().agents.min);
    match progress.state.as_str() {
        "gathering" => format!("Waiting for {}.", counted(wanted, "agent")),
        "preparing" => format!("Preparing {}.", counted(progress.agents.len() as u64, "agent")),
        "running" if progress.run_s <= 0.0 => "About to start.".to_owned(),
        "running" if progress.run_s < progress.warmup_s => {
            format!("Warming up: {} of {}.", seconds(progress.run_s), seconds(progress.warmup_s))
        }
        "running" => {
            format!("Running: {}, {}.", amount_so_far(progress, run), request_rate(progress.last5.rate))
        }
        "draining" => format!("Draining: {}.", draining(progress)),
        _ => finished(progress, run),
    }
}

fn amount_so_far(progress: &Progress, run: &Run) -> String {
    let time = progress
        .planned_s
        .map(|planned| format!("{} of {}", seconds(progress.elapsed_s.min(planned)), seconds(planned)));
    let iterations = progress.planned_requests.map(|planned| started_of(progress, run, planned, ""));
    let missed = missed(progress);
    let amounts: Vec<_> = time.into_iter().chain(iterations).chain(missed).collect();
    amounts.join(", ")
}

/// How many iterations of the planned ones were started: `958 of 1,000 requests sent`.
fn started_of(progress: &Progress, run: &Run, planned: u64, were: &str) -> String {
    let (noun, verb) = match run.plan().iterations_noun() {
        "request" => ("requests", "sent"),
        _ => ("iterations", "started"),
    };
    let planned_word = if were.is_empty() { "" } else { "planned " };
    format!("{} of {} {planned_word}{noun} {were}{verb}", count(progress.accounts.started), count(planned))
}

fn missed(progress: &Progress) -> Option<String> {
    let missed = progress.accounts.missed;
    (missed > 0).then(|| format!("{} missed", count(missed)))
}

fn draining(progress: &Progress) -> String {
    let whole = &progress.whole;
    let ended = whole.ok + whole.failed + whole.cancelled + whole.unresolved;
    let waits = progress.agents.iter().filter(|agent| agent.state == "running").count();
    match (whole.started.saturating_sub(ended), waits) {
        (0, _) => "waiting for the last reports".to_owned(),
        (in_flight, 0) => {
            format!("{} in flight, reports of lost agents may come", counted(in_flight, "request"))
        }
        (in_flight, _) => format!("{} in flight when last heard", counted(in_flight, "request")),
    }
}

fn finished(progress: &Progress, run: &Run) -> String {
    let Some(outcome) = run.outcome() else { return String::new() };
    if let StopReason::CouldNotRun(_) = outcome.reason {
        return format!("Could not run: {}.", outcome.sentence);
    }
    if outcome.verdict == Verdict::Invalid {
        let account = if outcome.incomplete { format!("; {}", balance(progress)) } else { String::new() };
        return format!("Invalid: {}{account}.", with_kinds(&outcome.sentence, progress));
    }
    if outcome.incomplete {
        return format!("Incomplete: {}; {}.", lost(progress), balance(progress));
    }
    let opening = match outcome.reason {
        StopReason::Asked => format!("Stopped after {}", seconds(progress.elapsed_s)),
        _ => "Finished".to_owned(),
    };
    if let (Model::Open(_), Some(planned)) = (&run.plan().load.model, progress.accounts.planned) {
        return format!("{opening}: {}.", sent_on_time(progress, run, planned));
    }
    let failed = count(progress.whole.failed);
    format!("{opening}: {}, {failed} failed{}.", sent(progress, run), p99(progress))
}

/// The open model: what was due, what of it was sent, and how long it took from then.
fn sent_on_time(progress: &Progress, run: &Run, planned: u64) -> String {
    let failed = progress.whole.failed;
    let failed = (failed > 0).then(|| format!("{} failed", count(failed)));
    let sent = started_of(progress, run, planned, "were ");
    let parts: Vec<_> = [Some(sent), missed(progress), failed].into_iter().flatten().collect();
    let p99 = progress.whole.latency_ms.p99;
    let p99 = p99.map(|ms| format!("; p99 was {} from when they were due", milliseconds(ms)));
    format!("{}{}", parts.join(", "), p99.unwrap_or_default())
}

/// Names the kinds of error where there was nothing else: `nothing succeeded: 10 connection refused`.
fn with_kinds(reason: &str, progress: &Progress) -> String {
    const NOTHING: &str = "nothing succeeded";
    if progress.errors.is_empty() {
        return reason.to_owned();
    }
    let words =
        |kind: &str| ErrorKind::from_name(kind).map_or_else(|| kind.to_owned(), |k| k.words().to_owned());
    let named = progress.errors.iter().take(KINDS_NAMED);
    let mut named: Vec<_> =
        named.map(|error| format!("{} {}", count(error.count), words(&error.kind))).collect();
    let more = progress.errors.len().saturating_sub(KINDS_NAMED);
    if more > 0 {
        named.push(counted(more as u64, "further kind"));
    }
    reason.replacen(NOTHING, &format!("{NOTHING}: {}", named.join(", ")), 1)
}

fn lost(progress: &Progress) -> String {
    let said = progress.agents.iter().filter(|agent| agent.state == "lost").map(|agent| {
        let when = agent.lost_at_s.map(|at_s| format!(" at {}", seconds(at_s))).unwrap_or_default();
        format!("agent {} was lost{when}", agent.name)
    });
    said.collect::<Vec<_>>().join(", ")
}

/// The account of a run that lost an agent: `958 started + 42 unknown = 1,000`.
fn balance(progress: &Progress) -> String {
    let accounts = &progress.accounts;
    let terms = |list: &[(u64, &str)]| {
        let shown = list.iter().enumerate().filter(|(index, (n, _))| *index == 0 || *n > 0);
        shown.map(|(_, (n, word))| format!("{} {word}", count(*n))).collect::<Vec<_>>().join(" + ")
    };
    match accounts.planned {
        Some(planned) => {
            let list =
                [(accounts.started, "started"), (accounts.missed, "missed"), (accounts.unknown, "unknown")];
            let unresolved = match accounts.unresolved {
                0 => String::new(),
                n => format!(", {} of the started unresolved", count(n)),
            };
            format!("{} = {}{unresolved}", terms(&list), count(planned))
        }
        None => {
            let ended = accounts.ok + accounts.failed;
            let list = [
                (ended, "completed"),
                (accounts.cancelled, "cancelled"),
                (accounts.unresolved, "unresolved"),
            ];
            let open = if accounts.unknown_is_open { " and an unknown number unreported" } else { "" };
            format!("{} = {} started{open}", terms(&list), count(accounts.requests_started))
        }
    }
}

fn sent(progress: &Progress, run: &Run) -> String {
    let whole = &progress.whole;
    match progress.planned_requests {
        Some(planned) => started_of(progress, run, planned, ""),
        None => format!(
            "{} in {} ({})",
            counted(whole.ok + whole.failed, "request"),
            seconds(progress.elapsed_s),
            request_rate(whole.rate)
        ),
    }
}

fn p99(progress: &Progress) -> String {
    progress.whole.latency_ms.p99.map(|ms| format!(", p99 {}", milliseconds(ms))).unwrap_or_default()
}
