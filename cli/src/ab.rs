//! `volley ab`: a run from ApacheBench's flags, told in ApacheBench's report.
//!
//! The run is one like any other in this process. Beside it `ears` keep a record of each single request, since ab's numbers
//! are those of single requests and not read off histograms, and `report` makes ab's lines of the records. How the real ab
//! words, rounds and orders them was found by running it; `e2e/tests/system/ab.rs` holds the two side by side.

mod address;
mod breakage;
mod ears;
mod milestones;
mod options;
mod play;
mod record;
mod refusal;
mod report;
mod request;
mod tables;
mod times;
mod tls_lines;
mod usage;
mod words;

use std::fs;
use std::net::ToSocketAddrs as _;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use volley_coordinator::RunDocument;
use volley_plan::{Destination, Plan, Verdict};

use crate::exit::Failure;
use crate::{output, run};
use ears::Ears;
use milestones::Milestones;
use options::Asked;
use play::How;
use record::{End, Record};
use refusal::Refusal;
use report::Setup;

/// In place of ab's first lines, which name its authors: as many.
const BANNER: &str = concat!(
    "This is Volley ",
    env!("CARGO_PKG_VERSION"),
    ", which reports in the manner of ApacheBench 2.3\n",
    "It is no part of the Apache HTTP Server; the numbers are Volley's own.\n",
    "Licensed under MIT or Apache-2.0\n",
);
/// ab's exit codes for its usage, for a name that leads nowhere, and for Ctrl-C and most else.
const USAGE_CODE: u8 = 22;
const NO_NAME_CODE: u8 = 50;
const FAILURE_CODE: u8 = 1;

/// The words of the command line, which are ab's and read by its rules.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// ab's flags and a URL; `-h` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS AND URL")]
    words: Vec<String>,
}

/// Runs it; exits as ab does.
pub(crate) fn main(options: &Options) -> ExitCode {
    let code = match options::read(&options.words) {
        Ok(Asked::Run(options)) => run_and_report(&options).unwrap_or_else(|refusal| refusal.report()),
        Ok(Asked::Version) => told(BANNER, 0),
        Ok(Asked::Help) => told(usage::USAGE, 0),
        Ok(Asked::Usage) => {
            output::draw(usage::USAGE);
            USAGE_CODE
        }
        Err(refusal) => refusal.report(),
    };
    ExitCode::from(code)
}

fn told(text: &str, code: u8) -> u8 {
    print(text).map_or_else(|refusal| refusal.report(), |()| code)
}

fn print(text: &str) -> Result<(), Refusal> {
    Ok(output::print(text)?)
}

fn run_and_report(options: &options::Options) -> Result<u8, Refusal> {
    let plan = request::plan(options)?;
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let ears = Arc::new(Ears::new(workers, !options.goes_on, options.verbosity));
    let mut milestones = Milestones::new(options.requests, options.is_quiet);
    print(&opening(options, milestones.are_told()))?;
    resolve(&plan)?;
    let runtime = run::runtime().map_err(Failure::from)?;
    let played = runtime.block_on(play::play(plan, workers, &ears, &mut milestones));
    runtime.shutdown_background();
    let (document, how) = played?;
    if document.progress.stop_reason.as_deref() == Some("could_not_run") {
        return Err(Refusal::plain(document.progress.sentence));
    }
    let records = ears.take_records();
    check_accounts(&records, &document)?;
    if let (How::Broken, Some(broken)) = (how, ears.broken()) {
        return broken_off(&records, broken);
    }
    if how == How::Done {
        milestones.pass(records.len(), output::say);
        if milestones.are_told() {
            output::say(&format!("Finished {} requests", records.len()));
        } else {
            print("..done\n")?;
        }
    }
    print(&report::report(&records, &setup(options, &ears, &records, &document)))?;
    warn(&records, &document);
    write_tables(options, &records, &document)?;
    Ok(if how == How::Interrupted { FAILURE_CODE } else { 0 })
}

/// What is printed before the run.
fn opening(options: &options::Options, has_milestones: bool) -> String {
    let through = options.proxy.as_ref().map(|proxy| format!(" [through {proxy}]")).unwrap_or_default();
    let end = if has_milestones { "\n" } else { "..." };
    format!("{BANNER}\nBenchmarking {}{through} (be patient){end}", options.address.host)
}

/// Whether the name that is connected to leads anywhere.
fn resolve(plan: &Plan) -> Result<(), Refusal> {
    for destination in plan.destinations() {
        let Destination::Remote(remote) = destination else { continue };
        if let Err(error) = (remote.host.as_str(), remote.port).to_socket_addrs() {
            let why = error.to_string();
            let why = why.rsplit_once(": ").map_or(why.as_str(), |(_, why)| why);
            let sentence = format!("apr_sockaddr_info_get() for {}: {why} (670002)", remote.host);
            return Err(Refusal::bare(sentence).with_code(NO_NAME_CODE));
        }
    }
    Ok(())
}

/// The run's own books and the records must tell of the same number of requests.
fn check_accounts(records: &[Record], document: &RunDocument) -> Result<(), Refusal> {
    let progress = &document.progress;
    let counted = progress.whole.ok + progress.whole.failed;
    if counted == records.len() as u64 && progress.account_faults.is_empty() {
        return Ok(());
    }
    let faults = progress.account_faults.join("; ");
    Err(Refusal::plain(format!(
        "{counted} requests were counted and {} recorded, so there is no report to trust {faults}",
        records.len()
    )))
}

/// Something broke, and there is no report.
fn broken_off(records: &[Record], broken: ears::Broken) -> Result<u8, Refusal> {
    let (sentence, code) = breakage::breakage(broken.kind);
    output::say(&sentence);
    let is_done = |record: &&Record| record.ended_ns <= broken.ended_ns && record.end != End::Receive;
    let done = records.iter().filter(|record| record.end != End::Connect).filter(is_done).count();
    if done > 0 {
        print(&format!("Total of {done} requests completed\n"))?;
    }
    Ok(code)
}

fn setup(options: &options::Options, ears: &Ears, records: &[Record], document: &RunDocument) -> Setup {
    let first = ears.first();
    let name = (!options.address.is_literal() && !options.hides_name).then(|| options.address.host.clone());
    Setup {
        software: first.software,
        host: options.address.host.clone(),
        port: options.address.port,
        tls: first.tls.map(|tls| tls_lines::lines(&tls, name)),
        path: options.address.path.clone(),
        concurrency: options.concurrency,
        taken_s: taken_s(records, document),
        keeps_alive: options.keeps_alive,
        sends_body: options.body.is_some(),
        lengths_may_differ: options.lengths_may_differ,
        shows_deviations: options.shows_deviations,
        shows_percentiles: options.shows_percentiles,
    }
}

/// Up to when the load went on: to the last request, or to the end that time or somebody made.
fn taken_s(records: &[Record], document: &RunDocument) -> f64 {
    let latest_ns = records.iter().map(|record| record.ended_ns).max().unwrap_or(0);
    let latest_s = times::float(latest_ns) / 1e9;
    match document.progress.stop_reason.as_deref() {
        Some("duration_over" | "asked") => document.progress.stop_s.unwrap_or(latest_s).max(latest_s),
        _ => latest_s,
    }
}

/// Says so where the generator itself spoilt the measurement, which ab has no line for.
fn warn(records: &[Record], document: &RunDocument) {
    let has_answers = records.iter().any(|record| record.end == End::Whole);
    if document.progress.verdict == Some(Verdict::Invalid) && has_answers {
        output::say(&format!("volley: {}", document.progress.sentence));
    }
}

/// The files of `-e` and `-g`.
fn write_tables(
    options: &options::Options,
    records: &[Record],
    document: &RunDocument,
) -> Result<(), Refusal> {
    if records.is_empty() {
        return Ok(());
    }
    if let Some(file) = &options.csv_file {
        write(file, "CSV", &tables::csv(records))?;
    }
    if let Some(file) = &options.gnuplot_file {
        let started = document.started_at.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
        let table = tables::gnuplot(records, started.unwrap_or(Timestamp::UNIX_EPOCH), &TimeZone::system());
        write(file, "gnuplot", &table)?;
    }
    Ok(())
}

fn write(file: &str, what: &str, text: &str) -> Result<(), Refusal> {
    fs::write(file, text).map_err(|error| Refusal::bare(format!("Cannot open {what} output file: {error}")))
}
