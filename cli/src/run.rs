//! `volley run`: a plan to its end, in this process or on a coordinator, with the same output.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::{Builder, Runtime};
use volley_agent::{Listening, Spin};
use volley_coordinator::RunDocument;
use volley_coordinator::report::Form;
use volley_plan::{AllowList, Plan, Verdict};

use crate::access::{AllowOptions, TokenOptions};
use crate::exit::{Exit, Failure};
use crate::github::GitHub;
use crate::processor::CpuTime;
use crate::progress::Progress;
use crate::rest::Rest;
use crate::session::{Local, Remote, Session};
use crate::signals::Signals;
use crate::summary::summary;
use crate::{logging, output, plan, report};

/// How often the progress is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What to run, and where.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley run plan.yaml\n  \
    volley run plan.yaml --coordinator http://load.internal:7070 --junit out.xml")]
pub(crate) struct Options {
    /// A plan in YAML or JSON
    plan: PathBuf,
    /// The coordinator to run it on, such as http://127.0.0.1:7070 [default: this process]
    #[arg(long, value_name = "URL", env = "VOLLEY_COORDINATOR", hide_env_values = true)]
    coordinator: Option<String>,
    #[command(flatten)]
    token: TokenOptions,
    #[command(flatten)]
    allow: AllowOptions,
    /// Worker threads, in a run of this process [default: one a core]
    #[arg(long, value_name = "N", help_heading = "This process")]
    workers: Option<NonZeroUsize>,
    /// Whether to keep a processor awake while few requests are in flight, in a run of this process: auto, on or off
    #[arg(long, value_name = "WHEN", help_heading = "This process")]
    spin: Option<Spin>,
    #[command(flatten)]
    told: TellOptions,
}

/// How a run and its results are told.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct TellOptions {
    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,
    /// Write a JUnit report too: a test case for the run, and one for each threshold
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the results in every form into this folder: JSON, CSV, JUnit, HdrHistogram's, OpenMetrics, Markdown, HTML
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Say nothing of how it goes, and print nothing but the results
    #[arg(long)]
    quiet: bool,
}

impl TellOptions {
    /// Nothing is to be said of how it goes.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// How this process sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineOptions {
    /// Worker threads; one a core where it isn't given.
    pub(crate) workers: Option<NonZeroUsize>,
    /// Whether idle workers spin before they sleep.
    pub(crate) spin: Spin,
    /// The folder for files that the plan names.
    pub(crate) files: Option<PathBuf>,
    /// Who is told of each request, if somebody is.
    pub(crate) listener: Option<Listening>,
}

/// Runs it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    let text = plan::read(&options.plan)?;
    let plan = plan::parse(&options.plan, &text)?;
    // An empty variable is what scripts have that set it for no run.
    match options.coordinator.as_deref().filter(|url| !url.is_empty()) {
        None => {
            let (workers, spin) = (options.workers, options.spin.unwrap_or_default());
            let engine =
                EngineOptions { workers, spin, files: Some(plan::folder(&options.plan)), listener: None };
            in_this_process(plan, engine, options.allow.list_here()?, &options.told)
        }
        Some(_) if options.workers.is_some() || options.spin.is_some() || options.allow.are_given() => {
            let sentence = "--workers, --spin and --allow are for a run in this process; coordinators and agents have \
                            their own";
            Err(Failure::new(Exit::Usage, sentence))
        }
        Some(url) => {
            let rest = Rest::new(url, options.token.token()?.as_ref())?;
            let remote = Remote::new(rest, options.plan.clone(), text);
            runtime()?.block_on(play(remote, &options.told))
        }
    }
}

/// Runs a plan in this process: the same lifecycle, grants, merge and verdict as on a coordinator, without the network
/// between them.
pub(crate) fn in_this_process(
    plan: Plan,
    engine: EngineOptions,
    allow: Arc<AllowList>,
    told: &TellOptions,
) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let played = runtime.block_on(play(Local::new(plan, engine, allow), told));
    // A name look-up must not hold up the end.
    runtime.shutdown_background();
    played
}

/// A runtime on this thread.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("no runtime")
}

async fn play(mut session: impl Session, told: &TellOptions) -> Result<Exit, Failure> {
    // Before the load: nobody wants to learn after an hour that it can't be.
    told.out.as_deref().map_or(Ok(()), report::make)?;
    let mut signals = Signals::catch()?;
    tokio::select! {
        started = session.start() => started?,
        _ = signals.next() => return Ok(Exit::Interrupted),
    }
    let mut progress = if told.quiet { Progress::none() } else { Progress::to_stderr() };
    let end = follow(&mut session, &mut signals, &mut progress).await;
    progress.clear();
    let (document, interrupted) = match end? {
        End::Over { document, interrupted } => (document, interrupted),
        End::Left => return Ok(Exit::Interrupted),
    };
    if told.json {
        let text = serde_json::to_string_pretty(&document).context("the results can't be written as JSON")?;
        output::print(&format!("{text}\n"))?;
    } else {
        let cpu = session.is_local().then(CpuTime::of_this_process).flatten();
        output::print(&summary(&document, cpu, logging::colours(&io::stdout())))?;
    }
    write_reports(&mut session, &document, told).await?;
    Ok(if interrupted { Exit::Interrupted } else { exit(&document) })
}

/// Writes what is asked for beside the results: by flags, or by GitHub's variables.
async fn write_reports(
    session: &mut impl Session,
    document: &RunDocument,
    told: &TellOptions,
) -> Result<(), Failure> {
    if let Some(file) = &told.junit {
        report::write(file, &document.junit().render().context("the JUnit report can't be made")?)?;
    }
    if let Some(folder) = &told.out {
        report::write_all(folder, &session.reports(Form::ALL).await?)?;
    }
    let github = GitHub::here();
    if let Some(file) = &github.summary {
        for (_, text) in session.reports(&[Form::Markdown]).await? {
            report::append(file, &text)?;
        }
    }
    github.notes(document).iter().for_each(|note| output::say(note));
    Ok(())
}

/// How following a run ended.
enum End {
    /// With the run.
    Over { document: Box<RunDocument>, interrupted: bool },
    /// At the second Ctrl-C.
    Left,
}

async fn follow(
    session: &mut impl Session,
    signals: &mut Signals,
    progress: &mut Progress,
) -> Result<End, Failure> {
    let mut interrupted = false;
    loop {
        let document = tokio::select! {
            document = session.wait(LOOK_EVERY) => document?,
            _ = signals.next() => {
                if interrupted {
                    return Ok(End::Left);
                }
                interrupted = true;
                progress.clear();
                output::say("stopping; Ctrl-C again leaves at once");
                // A coordinator that is away may take its time for it.
                tokio::select! {
                    stopped = session.stop() => stopped?,
                    _ = signals.next() => return Ok(End::Left),
                }
                continue;
            }
        };
        if document.progress.over {
            return Ok(End::Over { document: Box::new(document), interrupted });
        }
        progress.tell(&document);
        progress.show(&document);
    }
}

/// The exit code that a run's end means.
pub(crate) fn exit(document: &RunDocument) -> Exit {
    let progress = &document.progress;
    let reason = progress.stop_reason.as_deref();
    let no_agent = reason == Some("could_not_run") && progress.agents.is_empty();
    // Whoever waits for what it measures waits in vain, though nothing is wrong with it.
    let called_off = reason == Some("asked") && progress.run_s <= 0.0;
    match progress.verdict {
        _ if no_agent => Exit::Unreachable,
        _ if called_off => Exit::CouldNot,
        Some(Verdict::Passed | Verdict::None) => Exit::Passed,
        Some(Verdict::Failed) => Exit::Broken,
        // A run that is over has a verdict; one without can't be trusted either.
        Some(Verdict::Invalid) | None => Exit::CouldNot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary;

    #[test]
    fn a_run_that_somebody_else_called_off_is_no_success() {
        let check = |reason: &str, verdict: Verdict, run_s: f64, expected: Exit| {
            let mut document: RunDocument =
                serde_json::from_value(summary::tests::document()).expect("a document");
            let progress = &mut document.progress;
            (progress.stop_reason, progress.verdict, progress.run_s) =
                (Some(reason.to_owned()), Some(verdict), run_s);
            assert_eq!(exit(&document), expected, "{reason} {verdict:?} after {run_s} s");
        };
        check("duration_over", Verdict::None, 5.0, Exit::Passed);
        check("asked", Verdict::None, 5.0, Exit::Passed);
        check("asked", Verdict::None, 0.0, Exit::CouldNot);
        check("asked", Verdict::Invalid, 5.0, Exit::CouldNot);
        check("could_not_run", Verdict::Invalid, 0.0, Exit::Unreachable);
        check("duration_over", Verdict::Failed, 5.0, Exit::Broken);
    }
}
