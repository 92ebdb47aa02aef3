//! What the documents tell people to type.

use std::fs;

use volley_e2e::volley;

use super::commands::Line;
use super::{path, text};

/// The commands of the program in a document's blocks of shell, and in the remarks of a file.
fn commands(name: &str) -> Vec<Line> {
    let text = text(name);
    let mut is_shell = !name.ends_with(".md");
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_shell = line == "```sh";
        }
        let typed = line.trim_start_matches(['#', ' ']);
        let Some(rest) = typed.strip_prefix("volley ").filter(|_| is_shell) else { continue };
        // What stands behind goes to the shell, or is a remark.
        let rest = rest.split([';', '|', '>', '&', '#', '$']).next().unwrap_or_default();
        let words: Vec<_> = rest.split_whitespace().map(str::to_owned).collect();
        lines.push(Line::read(&format!("{name}: {line}"), &words));
    }
    lines
}

#[test]
fn the_documents_know_the_program() {
    let mut found = 0;
    for name in ["README.md", "docs/fleet.md", "docs/security.md", "deploy/kubernetes/kustomization.yaml"] {
        let commands = commands(name);
        assert!(!commands.is_empty(), "{name} has no command");
        found += commands.len();
    }
    assert!(found > 10, "only {found} commands were found");
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
