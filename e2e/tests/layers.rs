//! Holds the tree to its rules: which crate may use which, and how long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Each crate, and the crates of this workspace that it may use. Lower layers first; siblings never see each other.
const MAY_USE: &[(&str, &[&str])] = &[
    ("volley-stats", &[]),
    ("volley-plan", &["volley-stats"]),
    ("volley-proto", &["volley-plan", "volley-stats"]),
    ("volley-engine", &["volley-plan", "volley-stats"]),
    ("volley-lifecycle", &["volley-plan", "volley-stats"]),
    ("volley-agent", &["volley-engine", "volley-proto", "volley-plan", "volley-stats"]),
    ("volley-web", &[]),
    (
        "volley-coordinator",
        &["volley-lifecycle", "volley-proto", "volley-web", "volley-plan", "volley-stats"],
    ),
    ("volley-echo", &[]),
    (
        "volley-cli",
        &[
            "volley-agent",
            "volley-coordinator",
            "volley-echo",
            "volley-engine",
            "volley-plan",
            "volley-stats",
        ],
    ),
    (
        "volley-simulation",
        &["volley-agent", "volley-engine", "volley-lifecycle", "volley-plan", "volley-stats"],
    ),
    ("volley-e2e", &["volley-plan", "volley-proto", "volley-stats"]),
];

/// Crates from elsewhere that a crate must not use, since they belong to another layer.
const MUST_NOT_USE: &[(&str, &[&str])] = &[
    ("volley-stats", &["tokio", "tonic", "prost", "axum", "tracing"]),
    ("volley-plan", &["tokio", "tonic", "prost", "axum", "tracing"]),
    ("volley-engine", &["tonic", "prost", "axum"]),
    ("volley-lifecycle", &["tokio", "tonic", "prost", "axum", "tracing", "rand"]),
    ("volley-web", &["tokio", "tonic", "prost", "axum"]),
    // Chance there comes from seeds, and so does time.
    ("volley-simulation", &["tonic", "prost", "axum", "rand"]),
];

/// Most lines of a file of code.
const LINES_MAX: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each crate of the workspace with the names in its `[dependencies]`.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--format-version=1", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages.iter().map(|package| (text(&package["name"]), normal_dependencies(package))).collect()
}

/// `kind` is null for what is neither for tests nor for build scripts.
fn normal_dependencies(package: &Value) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().expect("a list of dependencies");
    all.iter()
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| text(&dependency["name"]))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

#[test]
fn crates_use_only_lower_layers() {
    let dependencies = dependencies();
    let known: BTreeSet<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = dependencies.keys().map(String::as_str).collect();
    assert_eq!(found, known, "a new crate needs its place among the layers");
    let mut wrong = Vec::new();
    for (name, may_use) in MAY_USE {
        let ours = dependencies[*name].iter().filter(|used| known.contains(used.as_str()));
        wrong.extend(
            ours.filter(|used| !may_use.contains(&used.as_str())).map(|used| format!("{name} -> {used}")),
        );
    }
    assert!(wrong.is_empty(), "edges that the layers don't have: {wrong:#?}");
}

#[test]
fn what_belongs_to_one_layer_stays_there() {
    let dependencies = dependencies();
    let mut wrong = Vec::new();
    for (name, must_not_use) in MUST_NOT_USE {
        let used = must_not_use.iter().filter(|used| dependencies[*name].contains(**used));
        wrong.extend(used.map(|used| format!("{name} -> {used}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every file of Rust code below a directory, but not what was built, fetched or generated.
fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir()
            && !matches!(name.as_str(), "target" | "node_modules" | "gen")
            && !name.starts_with('.')
        {
            rust_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn files_are_tidy() {
    let mut files = Vec::new();
    rust_files(&root(), &mut files);
    assert!(files.len() > 50, "only {} files were found", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let code = fs::read_to_string(&file).expect("code is UTF-8");
        wrong.extend(untidy(&code).map(|fault| format!("{}: {fault}", file.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn untidy(code: &str) -> impl Iterator<Item = String> {
    let lines = code.lines().count();
    let too_long = (lines > LINES_MAX).then(|| format!("{lines} lines, at most {LINES_MAX}"));
    let no_purpose =
        (!code.starts_with("//!")).then(|| "does not open by saying what it is for (`//!`)".to_owned());
    // Written apart, so that this file doesn't find itself.
    let left_over = ["todo", "unimplemented", "dbg"].into_iter().filter_map(|name| {
        let call = format!("{name}!(");
        code.contains(&call).then(|| format!("holds `{call}`"))
    });
    let found: Vec<String> = left_over.chain(too_long).chain(no_purpose).collect();
    found.into_iter()
}

#[test]
fn every_case_that_a_test_cites_is_told() {
    let told = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("CASES.md")).expect("CASES.md");
    let told: BTreeSet<u32> = told.lines().filter_map(heading).collect();
    let mut files = Vec::new();
    rust_files(&root(), &mut files);
    let code: Vec<String> =
        files.iter().map(|file| fs::read_to_string(file).expect("code is UTF-8")).collect();
    let cited: BTreeSet<u32> = code.iter().flat_map(|code| cited(code)).collect();
    assert!(cited.len() > 5, "only {cited:?} were found");
    let untold: Vec<_> = cited.difference(&told).collect();
    assert!(untold.is_empty(), "tests cite cases that CASES.md does not tell: {untold:?}");
}

/// The number of a heading such as `## 4 · A body …`.
fn heading(line: &str) -> Option<u32> {
    line.strip_prefix("## ")?.split_once(" · ")?.0.parse().ok()
}

/// The numbers of test functions such as `case_04_…`.
fn cited(code: &str) -> impl Iterator<Item = u32> {
    code.split("fn case_").skip(1).filter_map(|rest| rest.split_once('_')?.0.parse().ok())
}
