//! What the documents tell people to type.

use std::fs;

use volley_e2e::volley;

use super::commands::Line;
use super::stage::Stage;
use super::{path, text};

/// What a file tells people to type: a document's blocks of shell, and the remarks of another file that are set in. Lines
/// that go on are one.
fn typed(name: &str) -> Vec<String> {
    let is_document = name.ends_with(".md");
    let mut is_shell = false;
    let mut lines = Vec::new();
    for line in text(name).replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            is_shell = line == "```sh";
        } else if is_document && is_shell {
            lines.push(line.to_owned());
        } else if let Some(typed) = line.strip_prefix("#   ").filter(|_| !is_document) {
            lines.push(typed.to_owned());
        }
    }
    lines
}

/// The words behind the program's name, if this is a command of it: by its name, by its path, or in its image.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = command.split_whitespace().map(str::to_owned);
    let first = words.next()?;
    let is_program = |word: &str| word == "volley" || word.ends_with("/volley");
    if first == "docker" && words.next()? == "run" {
        words.find(|word| is_program(word))?;
    } else if !is_program(&first) {
        return None;
    }
    Some(words.collect())
}

/// The commands of the program that a file tells people to type.
fn commands(name: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in typed(name) {
        for command in line.split(['&', '(', ')', ';', '|']) {
            // What stands behind goes to the shell, or is a remark.
            let command = command.split(['>', '#', '$']).next().unwrap_or_default();
            lines.extend(words(command).map(|words| Line::read(&format!("{name}: {line}"), &words)));
        }
    }
    lines
}

#[test]
fn the_documents_know_the_program() {
    let mut found = 0;
    for (name, least) in [
        ("README.md", 10),
        ("docs/fleet.md", 5),
        ("docs/reports.md", 4),
        ("docs/security.md", 7),
        ("docs/ab.md", 2),
        ("deploy/kubernetes/kustomization.yaml", 1),
        ("deploy/compose.yaml", 1),
        ("deploy/systemd/volley-coordinator.service", 1),
    ] {
        let commands = commands(name);
        assert!(commands.len() >= least, "{name} has {} commands", commands.len());
        found += commands.len();
    }
    // The agent's token is the coordinator's, so nothing of the program is typed there.
    assert!(commands("deploy/systemd/volley-agent.service").is_empty() && found > 10);
}

/// The method and the path of a line of curl.
fn request(line: &str) -> (&str, String) {
    let words: Vec<_> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let given = words.iter().position(|word| *word == "-X").map(|at| words[at + 1]);
    let has_body = words.iter().any(|word| *word == "-d" || word.starts_with("--data"));
    let url = words.iter().find_map(|word| word.strip_prefix("http://")).expect("curl has a URL");
    let (_, path) = url.split_once('/').expect("a URL has a path");
    (given.unwrap_or(if has_body { "POST" } else { "GET" }), format!("/{path}"))
}

#[test]
fn what_the_documents_ask_by_curl_is_there() {
    let mut stage = Stage::new(None);
    let words = "coordinator --http 127.0.0.1:0 --agents 127.0.0.1:0 --token-file t --store s";
    let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
    let coordinator = stage.start(&Line::read("a test", &words), &[]);
    let api = coordinator.api();
    let mut found = 0;
    for name in ["README.md", "docs/fleet.md", "docs/security.md", "docs/plan.md", "docs/reports.md"] {
        for line in typed(name).iter().filter(|line| line.starts_with("curl ")) {
            let (method, path) = request(line);
            let (status, said) = match method {
                "GET" => api.ask(&path),
                "POST" => api.post(&path, "application/yaml", ""),
                "PATCH" => api.patch(&path, "{}"),
                other => panic!("{name}: {line}: {other}"),
            };
            assert!(
                status != 405 && !said.contains("there is nothing at"),
                "{name}: {line}: {status} {said}"
            );
            found += 1;
        }
        for path in text(name).split("/api/v1").skip(1) {
            let path = path.split(['`', ' ', '"', '\n', '?']).next().unwrap_or_default();
            let (_, said) = api.ask(&format!("/api/v1{path}"));
            assert!(!said.contains("there is nothing at"), "{name}: /api/v1{path}: {said}");
        }
    }
    assert!(found >= 3, "{found}");
    assert!(api.ask("/api/v1/run").1.contains("there is nothing at"), "this would be found out");
    coordinator.ends();
}

#[test]
fn links_between_documents_lead_somewhere() {
    let documents = fs::read_dir(path("docs"))
        .expect("docs/")
        .map(|entry| format!("docs/{}", entry.expect("a file").file_name().to_string_lossy()));
    for name in documents.chain(["README.md".to_owned()]) {
        let text = text(&name);
        let folder = path(&name).parent().expect("a folder").to_owned();
        for rest in text.split("](").skip(1) {
            let link = rest.split([')', '#']).next().unwrap_or_default();
            if !link.is_empty() && !link.contains("://") {
                assert!(folder.join(link).exists(), "{name}: {link}");
            }
        }
    }
}

#[test]
fn plans_in_documents_are_plans() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["README.md", "docs/fleet.md"] {
        let text = text(name);
        let plans: Vec<_> =
            text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!plans.is_empty(), "{name} has no plan");
        for plan in plans {
            let file = folder.path().join("plan.yaml");
            fs::write(&file, plan).expect("a plan");
            let checked = volley(&["plan", "check", file.to_str().expect("a path in UTF-8")]);
            assert_eq!(checked.code, Some(0), "{name}: {checked:?}\n{plan}");
        }
    }
}
