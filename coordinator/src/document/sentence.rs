//! The sentence that a run's page opens with: what happened, with its numbers.

use volley_lifecycle::{Run, StopReason};
use volley_plan::words::{count, counted};
use volley_plan::{Model, Verdict};
use volley_stats::ErrorKind;

use super::{AgentDocument, Progress, Standing, ThresholdTotals};
use crate::words::{milliseconds, request_rate, seconds};

/// An agent that was not heard of for so long is told to be silent, in seconds: three pings.
const SILENT_S: f64 = 1.5;
/// Error kinds that are named where nothing succeeded.
const KINDS_NAMED: usize = 3;
/// Broken thresholds that are named; the rest are counted.
const THRESHOLDS_NAMED: usize = 3;

/// Says where the run stands. Everything else in `progress` is filled in already.
pub(super) fn sentence(progress: &Progress, run: &Run) -> String {
    let wanted = u64::from(run.plan().agents.min);
    match progress.state.as_str() {
        "gathering" => format!("Waiting for {}.", counted(wanted, "agent")),
        "preparing" => format!("Preparing {}.", counted(progress.agents.len() as u64, "agent")),
        "resuming" => "The coordinator was started again; waiting for word from the agents.".to_owned(),
        "running" if progress.run_s <= 0.0 => "About to start.".to_owned(),
        "running" if progress.run_s < progress.warmup_s => {
            format!("Warming up: {} of {}.", seconds(progress.run_s), seconds(progress.warmup_s))
        }
        "running" => {
            let (amount, rate) = (amount_so_far(progress, run), request_rate(progress.last5.rate));
            format!(
                "Running: {amount}, {rate}{}.",
                silence(&progress.agents, "; rates stand still until then")
            )
        }
        "draining" => format!("Draining: {}{}.", draining(progress), silence(&progress.agents, "")),
        _ => finished(progress, run),
    }
}

/// Whom nothing is heard of that is still to say something; `so` is what follows from it.
fn silence(agents: &[AgentDocument], so: &str) -> String {
    let works = |agent: &&AgentDocument| matches!(agent.state.as_str(), "running" | "leaving");
    let silent_s = |agent: &AgentDocument| agent.last_seen_s.filter(|s| *s >= SILENT_S);
    let mut silent: Vec<_> =
        agents.iter().filter(works).filter_map(|agent| Some((silent_s(agent)?, &agent.name))).collect();
    silent.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((longest_s, name)) = silent.first() else { return String::new() };
    let others = match silent.len() - 1 {
        0 => String::new(),
        n => format!(" and {}", counted(n as u64, "other agent")),
    };
    format!("; waiting for word from agent {name}{others}, silent for {}{so}", seconds(*longest_s))
}

fn amount_so_far(progress: &Progress, run: &Run) -> String {
    let time = progress
        .planned_s
        .map(|planned| format!("{} of {}", seconds(progress.elapsed_s.min(planned)), seconds(planned)));
    // A request that waits for a connection has been started, and not yet been sent.
    let is_open = matches!(run.plan().load.model, Model::Open(_));
    let verb = if is_open { "started" } else { sent_word(run) };
    let started =
        |planned| format!("{} {verb}", started_of(progress, planned, "", run.plan().iterations_noun()));
    let iterations = progress.planned_requests.map(started);
    let missed = missed(progress);
    let amounts: Vec<_> = time.into_iter().chain(iterations).chain(missed).collect();
    amounts.join(", ")
}

/// How many iterations of the planned ones were started: `958 of 1,000 requests`.
fn started_of(progress: &Progress, planned: u64, which: &str, noun: &str) -> String {
    format!("{} of {} {which}{noun}s", count(progress.accounts.started), count(planned))
}

/// What becomes of an iteration in the closed model, where each user has its connection.
fn sent_word(run: &Run) -> &'static str {
    if run.plan().iterations_noun() == "request" { "sent" } else { "started" }
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
    if outcome.reason == StopReason::Asked && progress.run_s <= 0.0 && outcome.verdict == Verdict::None {
        return "Stopped before it began.".to_owned();
    }
    if outcome.verdict == Verdict::Invalid {
        let is_open = outcome.incomplete || matches!(outcome.reason, StopReason::StoreFailed(_));
        let account = if is_open { format!("; {}", balance(progress)) } else { String::new() };
        return format!("Invalid: {}{account}.", with_kinds(&outcome.sentence, progress));
    }
    let judged = judged(progress);
    if outcome.incomplete {
        let incomplete = if judged.is_empty() { "Incomplete: " } else { "incomplete: " };
        return format!("{judged}{incomplete}{}; {}.", lost(progress), balance(progress));
    }
    let opening = match outcome.reason {
        StopReason::Asked => format!("stopped after {}: ", seconds(progress.elapsed_s)),
        StopReason::ThresholdBroken => {
            format!("stopped by that after {}: ", seconds(progress.elapsed_s))
        }
        _ if judged.is_empty() => "finished: ".to_owned(),
        _ => String::new(),
    };
    let opening = if judged.is_empty() { capitalized(&opening) } else { format!("{judged}{opening}") };
    if let (Model::Open(_), Some(planned)) = (&run.plan().load.model, progress.accounts.planned) {
        let noun = run.plan().iterations_noun();
        return format!("{opening}{}.", started_on_time(progress, planned, noun));
    }
    let failed = count(progress.whole.failed);
    format!("{opening}{}, {failed} failed{}.", sent(progress, run), p99(progress))
}

/// What the thresholds came to: `Failed: p99 was 412 ms, the limit is 300 ms; `. Empty where there are none.
fn judged(progress: &Progress) -> String {
    let broken = |of: &&ThresholdTotals| of.standing != Standing::Holds;
    match progress.verdict {
        Some(Verdict::Passed) => "Passed: ".to_owned(),
        Some(Verdict::Failed) => {
            let mut named: Vec<_> = progress.thresholds.iter().filter(broken).map(broken_in_words).collect();
            let more = named.len().saturating_sub(THRESHOLDS_NAMED);
            named.truncate(THRESHOLDS_NAMED);
            if more > 0 {
                named.push(format!("{} more", counted(more as u64, "threshold")));
            }
            format!("Failed: {}; ", named.join(", "))
        }
        Some(Verdict::Invalid | Verdict::None) | None => String::new(),
    }
}

fn broken_in_words(of: &ThresholdTotals) -> String {
    let over = of.over_s.map(|over_s| format!(" over {}", seconds(over_s))).unwrap_or_default();
    let metric = &of.metric;
    if of.standing == Standing::NoData {
        return format!("{metric}{over} had no data");
    }
    let bound = if of.expect.contains('>') { "the least" } else { "the limit" };
    format!("{metric}{over} was {}, {bound} is {}", of.value_words, of.limit_words)
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The open model: what was due, what of it was started, and how long it took from then. What was started was sent as
/// well where all of it has an end, and no end came before its request was on the wire.
fn started_on_time(progress: &Progress, planned: u64, noun: &str) -> String {
    let whole = &progress.whole;
    let all_sent = whole.cancelled == 0 && whole.unresolved == 0 && whole.never_sent == 0;
    let (noun, verb) = if noun == "request" && all_sent { (noun, "sent") } else { ("iteration", "started") };
    let some = |n: u64, words: String| (n > 0).then_some(words);
    let parts = [
        Some(format!("{} were {verb}", started_of(progress, planned, "planned ", noun))),
        missed(progress),
        some(whole.cancelled, format!("{} cut off by the end", counted(whole.cancelled, "request"))),
        some(whole.failed, format!("{} failed", count(whole.failed))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    // Latency is of ok requests; where others were cut off, which may be the slow ones, that is to be seen.
    let of = if whole.cancelled > 0 { " of those that succeeded" } else { "" };
    let p99 = whole.latency_ms.p99;
    let p99 = p99.map(|ms| format!("; p99{of} was {} from when they were due", milliseconds(ms)));
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

/// The account of a run of which something is unknown: `958 started + 42 unknown = 1,000`.
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
        Some(planned) => {
            let started = started_of(progress, planned, "", run.plan().iterations_noun());
            format!("{started} {}", sent_word(run))
        }
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

#[cfg(test)]
mod tests {
    use volley_plan::Accounts;
    use volley_web::stream::Percentiles;

    use super::*;
    use crate::document::Whole;

    fn check(noun: &str, whole: Whole, expected: &str) {
        let accounts = Accounts { started: 200, missed: whole.missed, ..Accounts::default() };
        let progress = Progress { accounts, whole, ..Progress::default() };
        assert_eq!(started_on_time(&progress, 200 + accounts.missed, noun), expected);
    }

    #[test]
    fn an_open_run_says_no_more_than_what_became_of_its_iterations() {
        let latency_ms = Percentiles { p99: Some(5.0), ..Percentiles::default() };
        let good = Whole { started: 200, ok: 200, latency_ms, ..Whole::default() };
        let p99 = "p99 was 5.00 ms from when they were due";
        check("request", good.clone(), &format!("200 of 200 planned requests were sent; {p99}"));
        check("iteration", good.clone(), &format!("200 of 200 planned iterations were started; {p99}"));
        let failed = Whole { ok: 197, failed: 3, missed: 5, ..good.clone() };
        let said = format!("200 of 205 planned requests were sent, 5 missed, 3 failed; {p99}");
        check("request", failed.clone(), &said);
        // Those that found no connection were not sent.
        let refused = Whole { never_sent: 3, ..failed };
        let said = format!("200 of 205 planned iterations were started, 5 missed, 3 failed; {p99}");
        check("request", refused, &said);
        let cut = "p99 of those that succeeded was 5.00 ms from when they were due";
        let said =
            format!("200 of 200 planned iterations were started, 110 requests cut off by the end; {cut}");
        for noun in ["request", "iteration"] {
            check(noun, Whole { ok: 90, cancelled: 110, ..good.clone() }, &said);
        }
        let said = "200 of 200 planned iterations were started, 1 request cut off by the end, 199 failed";
        check("request", Whole { started: 200, failed: 199, cancelled: 1, ..Whole::default() }, said);
    }
}
