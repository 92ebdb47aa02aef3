//! Programs that people read reports with, as tests use them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The script; it says what each reader is.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/readers/reports.py");

/// A program of the environment that `make test` makes from `requirements.txt`.
///
/// # Panics
/// If it is missing there.
#[must_use]
pub fn of_python(program: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin").join(program);
    assert!(file.exists(), "{} is missing: run `make test`", file.display());
    file
}

/// Reads a folder with all forms of a report.
///
/// # Panics
/// If one of them cannot be read.
#[must_use]
pub fn read_reports(folder: &Path) -> Value {
    let folder = folder.to_str().expect("temporary folders have names in ASCII");
    python(&[folder], "")
}

/// The samples of an OpenMetrics text.
#[derive(Debug)]
pub struct Samples(Vec<Value>);

impl Samples {
    /// Reads them.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let samples = python(&["metrics"], text);
        Self(samples.as_array().expect("a list of samples").clone())
    }

    /// The sum of the samples of a name that have these labels.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &Value| labels.iter().all(|(label, value)| sample["labels"][label] == *value);
        let wanted = self.0.iter().filter(|sample| sample["name"] == name && has(sample));
        wanted.filter_map(|sample| sample["value"].as_f64()).sum()
    }
}

fn python(arguments: &[&str], input: &str) -> Value {
    let mut command = Command::new(of_python("python"));
    command.arg(SCRIPT).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().expect("a Python that can be run");
    let mut stdin = process.stdin.take().expect("its input is a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads all of it");
    drop(stdin);
    let output = process.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the readers found a fault, which they say above");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}
