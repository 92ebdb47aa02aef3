//! Plays the runs of many seeds, says what happened in them, and keeps one that fails.

use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use volley_simulation::{Scenario, keep, play, play_seeds, survey};

/// A seeded simulation of a whole fleet.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Threads; one a core where nothing is said.
    #[arg(long)]
    threads: Option<usize>,
    /// Show the scenario of the first seed, play it alone, and say what happened.
    #[arg(long, conflicts_with = "survey")]
    one: bool,
    /// Keep the scenario of the first seed, for a test that plays it again.
    #[arg(long, requires = "one")]
    keep: bool,
    /// Go on after a failure, and tell which kinds of them there are.
    #[arg(long)]
    survey: bool,
}

fn main() -> ExitCode {
    let Arguments { seeds, first, threads, one, keep: keeps, survey: kinds } = Arguments::parse();
    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    // A panic is a failure that is told of with its scenario, and those on the way to a smaller one are not.
    std::panic::set_hook(Box::new(|_| {}));
    let begun = Instant::now();
    if kinds {
        let kinds = survey(first, seeds);
        for (kind, (count, seed)) in &kinds {
            println!("{count} times, first with seed {seed}: {kind}");
        }
        return if kinds.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let played = if one {
        let scenario = Scenario::of_seed(first);
        println!("{scenario:#?}");
        if keeps {
            told_kept(&scenario);
        }
        play(&scenario)
    } else {
        play_seeds(first, seeds, threads)
    };
    match played {
        Ok(tally) => {
            let took_s = begun.elapsed().as_secs_f64();
            println!("{tally}");
            println!("{took_s:.1} s, {:.0} runs a second", tally.runs as f64 / took_s);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            told_kept(&failure.scenario);
            ExitCode::FAILURE
        }
    }
}

fn told_kept(scenario: &Scenario) {
    match keep(scenario) {
        Ok(path) => eprintln!("kept as {}", path.display()),
        Err(error) => eprintln!("it could not be kept: {error}"),
    }
}
