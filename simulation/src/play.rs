//! Playing scenarios: one, or those of many seeds; making those that fail smaller, and keeping them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::books::Wrong;
use crate::scenario::Scenario;
use crate::tally::Tally;
use crate::trace::Trace;
use crate::world::World;

/// Most times that a failing scenario is made smaller.
const MAX_ROUNDS: usize = 60;
/// So much of what was wrong tells kinds of failures apart.
const MAX_KIND_CHARS: usize = 40;

/// A scenario in which something was as it must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The scenario, made as small as may be.
    pub scenario: Scenario,
    /// What was wrong, in a sentence.
    pub wrong: String,
    /// What happened last.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        let Scenario { seed, plan, hosts, events } = &self.scenario;
        writeln!(f, "\nseed {seed}, the plan:\n{plan}")?;
        hosts.iter().enumerate().try_for_each(|(number, host)| writeln!(f, "host {number}: {host:?}"))?;
        events.iter().try_for_each(|event| writeln!(f, "at {} ms: {:?}", event.at_ms, event.what))?;
        write!(f, "\n{}", self.wrong)
    }
}

/// Plays a scenario.
///
/// # Errors
/// [`Failure`] tells what must not be.
pub fn play(scenario: &Scenario) -> Result<Tally, Box<Failure>> {
    attempt(scenario, Trace::default()).map_err(|_| Box::new(told(smallest(scenario.clone()))))
}

/// A panic is a failure like others.
fn attempt(scenario: &Scenario, trace: Trace) -> Result<Tally, Wrong> {
    let played = catch_unwind(AssertUnwindSafe(|| World::new(scenario, trace).play()));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Wrong(format!("it panicked: {}", text.unwrap_or_default())))
    })
}

/// Takes away one thing after the other while it still fails.
fn smallest(mut scenario: Scenario) -> Scenario {
    for _ in 0..MAX_ROUNDS {
        let fails = |smaller: &Scenario| attempt(smaller, Trace::default()).is_err();
        let Some(smaller) = scenario.smaller().find(fails) else { break };
        scenario = smaller;
    }
    scenario
}

fn told(scenario: Scenario) -> Failure {
    let trace = Trace::kept();
    let wrong = match attempt(&scenario, trace.clone()) {
        Err(Wrong(wrong)) => wrong,
        Ok(_) => "it failed once and did not fail again: something in it depends on chance".to_owned(),
    };
    Failure { scenario, wrong, trace: trace.lines() }
}

/// Plays the scenarios of so many seeds from `first` on, on as many threads; stops at the first that fails.
///
/// # Errors
/// [`Failure`] tells what must not be.
pub fn play_seeds(first: u64, seeds: u64, threads: usize) -> Result<Tally, Box<Failure>> {
    let next = AtomicU64::new(first);
    let result = Mutex::new(Ok(Tally::default()));
    let lock = || result.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first.saturating_add(seeds) || lock().is_err() {
                return;
            }
            match play(&Scenario::of_seed(seed)) {
                Ok(tally) => {
                    if let Ok(sum) = &mut *lock() {
                        sum.add(&tally);
                    }
                }
                Err(failure) => *lock() = Err(failure),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Plays the scenarios of so many seeds from `first` on, and tells the kinds of failures among them: what was wrong, without
/// its numbers, how often, and a seed with it.
#[must_use]
pub fn survey(first: u64, seeds: u64) -> BTreeMap<String, (u64, u64)> {
    let mut kinds = BTreeMap::new();
    for seed in first..first.saturating_add(seeds) {
        if let Err(Wrong(wrong)) = attempt(&Scenario::of_seed(seed), Trace::default()) {
            let kind: String = wrong.chars().filter(|c| !c.is_ascii_digit()).take(MAX_KIND_CHARS).collect();
            kinds.entry(kind).or_insert((0, seed)).0 += 1;
        }
    }
    kinds
}

/// The folder of scenarios that once failed.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

/// The scenarios that once failed, by their files' names.
///
/// # Errors
/// Where the folder or a file can't be read, or holds something else.
pub fn kept() -> io::Result<Vec<(String, Scenario)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let scenario = serde_json::from_str(&fs::read_to_string(&path)?)?;
            all.push((path.display().to_string(), scenario));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(all)
}

/// Keeps a scenario where a test plays it again; gives the file's name.
///
/// # Errors
/// Where the file can't be written.
pub fn keep(scenario: &Scenario) -> io::Result<PathBuf> {
    let path = folder().join(format!("{:016x}.json", scenario.seed));
    fs::write(&path, serde_json::to_string_pretty(scenario)? + "\n")?;
    Ok(path)
}
