//! Visits: the program under test, and then curl, against a fresh server of the animal each; what is not as it must be.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tempfile::TempDir;

use super::animal::{Animal, Curl};
use super::cage::{Cage, Counts};
use super::certificates;
use super::curl::Said;
use super::expected::Sums;
use crate::command::{Outcome, volley_run};
use crate::report::{self, Report};

/// Visits at the same time. They wait more than they work.
const VISITORS: usize = 6;

/// The large body that curl sends, as long as the plan's.
const LARGE_BYTES: usize = 10 << 20;

/// What was wrong with a visit.
pub struct Disagreement {
    name: &'static str,
    faults: Vec<String>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.name)?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "    {fault}"))
    }
}

/// Visits all of them, several at a time, and gives all disagreements in the animals' order.
#[must_use]
pub fn visit_all(animals: &[Animal]) -> Vec<Disagreement> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..VISITORS {
            scope.spawn(|| {
                while let Some((index, animal)) = take(animals, &next) {
                    let faults = faults(animal);
                    if !faults.is_empty() {
                        let disagreement = Disagreement { name: animal.name, faults };
                        found.lock().unwrap_or_else(PoisonError::into_inner).insert(index, disagreement);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn take<'a>(animals: &'a [Animal], next: &AtomicUsize) -> Option<(usize, &'a Animal)> {
    let index = next.fetch_add(1, Ordering::SeqCst);
    animals.get(index).map(|animal| (index, animal))
}

/// Both visits. One that can't be made, such as a report that can't be read, is a fault like the others.
fn faults(animal: &Animal) -> Vec<String> {
    let caught = |visit: fn(&Animal) -> Vec<String>| {
        panic::catch_unwind(AssertUnwindSafe(|| visit(animal)))
            .unwrap_or_else(|_| vec!["the visit could not be made; see above".to_owned()])
    };
    [caught(by_volley), caught(by_curl)].concat()
}

/// A server with the folder that its visitor is given.
struct Visit {
    cage: Cage,
    folder: TempDir,
}

impl Visit {
    fn new(animal: &Animal) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        certificates::write_into(folder.path());
        if animal.curl_arguments.iter().any(|argument| argument.contains("{folder}/large")) {
            fs::write(folder.path().join("large"), vec![b'x'; LARGE_BYTES]).expect("a folder of our own");
        }
        Self { cage: Cage::open(animal, folder.path()), folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the places of this visit into a text.
    fn fill(&self, text: &str) -> String {
        text.replace("{port}", &self.cage.port().to_string())
            .replace("{folder}", &self.path().display().to_string())
            .replace("{socket}", &self.path().join("socket").display().to_string())
    }
}

fn by_volley(animal: &Animal) -> Vec<String> {
    let visit = Visit::new(animal);
    let Animal { target, requests, users, plan, .. } = animal;
    let plan = format!("target: \"{target}\"\nusers: {users}\nrequests: {requests}\n{plan}");
    let outcome = volley_run(&visit.fill(&plan), visit.path());
    check_volley(animal, &outcome, visit.cage.counts())
}

fn check_volley(animal: &Animal, outcome: &Outcome, counts: &Counts) -> Vec<String> {
    let expected = &animal.expected;
    let sums = expected.sums(animal.requests);
    let mut faults = Vec::new();
    let mut hold = |holds: bool, fault: &dyn Fn() -> String| {
        if !holds {
            faults.push(fault());
        }
    };
    if outcome.stdout.is_empty() {
        return vec![format!("there is no report, but {:?} and {}", outcome.code, outcome.stderr)];
    }
    let document = outcome.json();
    let broken = report::faults(&document);
    let report = Report::new(document);
    let got = sums_of(&report);
    hold(got == sums, &|| format!("{got:?} and not {sums:?}"));
    let code = i32::from(sums.ok == 0);
    hold(outcome.code == Some(code), &|| format!("exit code {:?} and not {code}", outcome.code));
    hold(!outcome.stderr.contains("panic"), &|| outcome.stderr.clone());
    let (connections, requests) = (counts.connections(), counts.requests());
    let wanted = expected.connections(animal.requests);
    hold(wanted.contains(&connections), &|| format!("A is {connections} and not {wanted:?}"));
    let wanted = expected.requests(animal.requests);
    hold(wanted.contains(&requests), &|| format!("R is {requests} and not {wanted:?}"));
    if let Some((full, resumed)) = expected.handshakes {
        let got = counts.handshakes();
        hold(got == (full, resumed), &|| {
            format!("{got:?} handshakes, full and resumed, and not {:?}", (full, resumed))
        });
        let told = (report.count("handshakes"), report.count("handshakes_resumed"));
        hold(told == (full + resumed, resumed), &|| {
            format!("{told:?} handshakes and resumed ones are reported")
        });
    }
    faults.extend(broken);
    faults.extend(check_counts(&report, counts));
    faults
}

/// What a run says of connections and requests against what its target saw.
fn check_counts(report: &Report, counts: &Counts) -> Vec<String> {
    let mut faults = Vec::new();
    let (started, resent, never) =
        (report.count("started"), report.count("resent"), report.count("never_sent"));
    // What was written may have been read by nobody, but for what was answered.
    let most = (started + resent).saturating_sub(never);
    let least: u64 = sums_of(report).statuses.values().sum();
    let requests = counts.requests();
    if !(least..=most).contains(&requests) {
        faults.push(format!("R is {requests}, by the report it is from {least} to {most}"));
    }
    let opened = report.count("connections_opened");
    if opened != counts.connections() {
        faults.push(format!("{opened} connections_opened, the server counted {}", counts.connections()));
    }
    faults
}

fn sums_of(report: &Report) -> Sums {
    let list = |name: &str| report.document()[name].as_array().cloned().unwrap_or_default();
    let count = |entry: &serde_json::Value| entry["count"].as_u64().unwrap_or(0);
    let kind = |entry: &serde_json::Value| entry["kind"].as_str().unwrap_or_default().to_owned();
    let status =
        |entry: &serde_json::Value| u16::try_from(entry["status"].as_u64().unwrap_or(0)).unwrap_or(0);
    Sums {
        ok: report.count("ok"),
        errors: list("errors").iter().map(|entry| (kind(entry), count(entry))).collect(),
        statuses: list("statuses").iter().map(|entry| (status(entry), count(entry))).collect(),
        body_bytes: report.count("body_bytes"),
    }
}

fn by_curl(animal: &Animal) -> Vec<String> {
    if matches!(animal.curl, Curl::NotAsked { .. }) {
        return Vec::new();
    }
    let visit = Visit::new(animal);
    let mut said = Said::by_curl(animal, &visit.fill(&animal.target), |text| visit.fill(text));
    said.connections = visit.cage.counts().connections();
    said.requests = visit.cage.counts().requests();
    let differences = said.differences(animal);
    match animal.curl {
        Curl::Differs { said: told, .. } if differences.is_empty() => {
            vec![format!("curl does not differ any more: it says {said}, and not {told}")]
        }
        Curl::Differs { said: told, .. } if said.to_string() == told => Vec::new(),
        Curl::Differs { said: told, .. } => vec![format!("curl says {said}, and not {told}")],
        Curl::Same | Curl::NotAsked { .. } if differences.is_empty() => Vec::new(),
        Curl::Same | Curl::NotAsked { .. } => [vec![format!("curl says {said}")], differences].concat(),
    }
}
