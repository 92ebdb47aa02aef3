//! The documents' commands, run as a reader would: a document's blocks of shell, in one shell after the other, beside a real
//! coordinator, an agent and the echo target.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use volley_e2e::{Fleet, Process, Target, binary};

/// Documents whose blocks of shell can be run on one host. In the others they are for hosts that are elsewhere.
const DOCUMENTS: [&str; 9] = [
    "getting-started.md",
    "load-models.md",
    "reading-a-report.md",
    "command-line.md",
    "exit-codes.md",
    "ci.md",
    "reports.md",
    "ab.md",
    "rest.md",
];

/// The program under the name that documents call it by. A busy machine may make a run invalid because the generator was
/// late; that is no fault of a document.
const VOLLEY: &str = r#"#!/bin/sh
out=$(mktemp)
"$VOLLEY_BIN" "$@" > "$out"
code=$?
cat "$out"
if [ "$code" = 1 ] && grep -q '^Invalid: .*agent' "$out"; then code=0; fi
rm -f "$out"
exit "$code"
"#;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of shell of a document, as one script.
fn script(document: &str) -> String {
    let blocks = document.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.collect::<Vec<_>>().join("\n")
}

/// A folder with the program in it.
fn bin(folder: &Path) -> PathBuf {
    let bin = folder.join("bin");
    let program = bin.join("volley");
    fs::create_dir(&bin).and_then(|()| fs::write(&program, VOLLEY)).expect("a folder for the program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    bin
}

fn run(name: &str, script: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = format!("{}:{}", bin(folder.path()).display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("bash");
    shell.args(["-euxo", "pipefail", "-c", script]).current_dir(folder.path());
    shell.env("PATH", path).env("VOLLEY_BIN", fs::canonicalize(binary()).expect("the program"));
    for variable in ["VOLLEY_COORDINATOR", "VOLLEY_TOKEN", "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"] {
        shell.env_remove(variable);
    }
    let (status, stdout, stderr) = Process::start(&mut shell).wait(Duration::from_secs(60));
    assert!(status.success(), "docs/{name}: {status}\n{}\n{stderr}", String::from_utf8_lossy(&stdout));
}

#[test]
fn the_documents_commands_do_what_they_say() {
    let (fleet, target) = (Fleet::start(1), Target::start());
    let coordinator = fleet.coordinator.url.trim_start_matches("http://").to_owned();
    for name in DOCUMENTS {
        let script = script(&text(name));
        assert!(!script.is_empty(), "docs/{name} has no command");
        let script =
            script.replace("127.0.0.1:7070", &coordinator).replace("127.0.0.1:8080", target.authority());
        run(name, &script);
    }
    let asked = target.stats()["requests"].as_u64().unwrap_or(0);
    assert!(asked > 1_500, "the target got {asked} requests");
}
