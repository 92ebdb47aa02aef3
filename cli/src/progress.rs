//! How a run is going, on stderr: four lines that are drawn again and again on a terminal, one line every ten seconds
//! elsewhere.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use volley_coordinator::RunDocument;

use crate::format::{count, milliseconds, rate, seconds};
use crate::{logging, output};

/// How often a line comes where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// The width of a terminal that doesn't say its own.
const COLUMNS: usize = 80;

/// Where the progress goes.
pub(crate) struct Progress {
    form: Form,
    /// Lines of the run's log that were looked at.
    read: usize,
}

enum Form {
    /// On a terminal; how many lines are drawn.
    Block { drawn: usize },
    /// Elsewhere; when the last line came.
    Lines { last: Instant },
    /// Nothing is to be said.
    Quiet,
}

impl Progress {
    /// To stderr, in the form that suits it.
    pub(crate) fn to_stderr() -> Self {
        let block = io::stderr().is_terminal() && !logging::is_dumb();
        let form = if block { Form::Block { drawn: 0 } } else { Form::Lines { last: Instant::now() } };
        Self { form, read: 0 }
    }

    /// Nowhere.
    pub(crate) fn none() -> Self {
        Self { form: Form::Quiet, read: 0 }
    }

    /// Tells at once what the run's log has that is not as planned and was not told yet.
    pub(crate) fn tell(&mut self, document: &RunDocument) {
        if matches!(self.form, Form::Quiet) {
            return;
        }
        let news = news(document, &mut self.read);
        if !news.is_empty() {
            self.clear();
        }
        news.iter().for_each(|line| output::say(line));
    }

    /// Shows where the run stands, if it is time to.
    pub(crate) fn show(&mut self, document: &RunDocument) {
        match &mut self.form {
            Form::Block { drawn } => {
                let lines = block(document, columns());
                output::draw(&format!("{}{}\n", erase(*drawn), lines.join("\n")));
                *drawn = lines.len();
            }
            Form::Lines { last } if last.elapsed() >= LINE_EVERY => {
                output::say(&line(document));
                *last = Instant::now();
            }
            Form::Lines { .. } | Form::Quiet => {}
        }
    }

    /// Takes away what was drawn, so that something else can be written.
    pub(crate) fn clear(&mut self) {
        if let Form::Block { drawn } = &mut self.form {
            output::draw(&erase(std::mem::take(drawn)));
        }
    }
}

/// The warnings among the lines of a run's log beyond those that were `read`.
fn news(document: &RunDocument, read: &mut usize) -> Vec<String> {
    let new = document.log.iter().skip(*read).filter(|line| line.level == "warn");
    let told = new.map(|line| match line.at_s {
        at_s if at_s > 0.0 => format!("at {}: {}", seconds(at_s), line.text),
        _ => line.text.clone(),
    });
    let told = told.collect();
    // A coordinator that was killed may have forgotten the latest.
    *read = document.log.len();
    told
}

/// Up to the first of the lines drawn, and everything from there on away (ECMA-48: CUU, ED).
fn erase(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[0J") }
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

/// The four lines, none of which may wrap, since that would spoil the count of lines.
fn block(document: &RunDocument, columns: usize) -> Vec<String> {
    let progress = &document.progress;
    let (whole, last5) = (&progress.whole, &progress.last5);
    let (recent, all) = (&last5.latency_ms, &whole.latency_ms);
    let lines = [
        format!("{:<10}{}, {}", progress.state, time(document), agents(document)),
        format!("rate      {} in the last 5 s, {} in all", rate(last5.rate), rate(whole.rate)),
        format!(
            "latency   p50 {}, p99 {} in the last 5 s; p99 {}, max {} in all",
            milliseconds(recent.p50),
            milliseconds(recent.p99),
            milliseconds(all.p99),
            milliseconds(all.max)
        ),
        format!(
            "requests  {} ok, {} failed{}, {}",
            count(whole.ok),
            count(whole.failed),
            missed(document),
            asked(document)
        ),
    ];
    lines.into_iter().map(|line| line.chars().take(columns.saturating_sub(1)).collect()).collect()
}

fn line(document: &RunDocument) -> String {
    let progress = &document.progress;
    let (whole, last5) = (&progress.whole, &progress.last5);
    format!(
        "{}: {}, {} ok, {} failed{}, {}, p50 {}, p99 {}",
        progress.state,
        time(document),
        count(whole.ok),
        count(whole.failed),
        missed(document),
        rate(last5.rate),
        milliseconds(last5.latency_ms.p50),
        milliseconds(last5.latency_ms.p99)
    )
}

fn time(document: &RunDocument) -> String {
    let progress = &document.progress;
    if progress.run_s < progress.warmup_s {
        return format!("warm-up {} of {}", seconds(progress.run_s), seconds(progress.warmup_s));
    }
    let elapsed = seconds(progress.elapsed_s);
    progress.planned_s.map_or_else(|| elapsed.clone(), |planned| format!("{elapsed} of {}", seconds(planned)))
}

/// What is not as wished, where there is any: `, 5 missed`.
fn missed(document: &RunDocument) -> String {
    let missed = document.progress.whole.missed;
    if missed > 0 { format!(", {} missed", count(missed)) } else { String::new() }
}

fn agents(document: &RunDocument) -> String {
    let agents = &document.progress.agents;
    let lost = agents.iter().filter(|agent| agent.state == "lost").count();
    let plural = if agents.len() == 1 { "" } else { "s" };
    let all = format!("{} agent{plural}", agents.len());
    if lost > 0 { format!("{all}, {lost} lost") } else { all }
}

fn asked(document: &RunDocument) -> String {
    let started = count(document.progress.whole.started);
    let planned = document.progress.planned_requests;
    planned.map_or_else(
        || format!("{started} started"),
        |planned| format!("{started} of {} started", count(planned)),
    )
}

#[cfg(test)]
mod tests;
