//! The image: what its recipe names is there, and fits what is started from it.

use super::commands::port;
use super::{path, text};

/// The lines of the recipe whose instruction is this, without it.
fn instructions(name: &str) -> Vec<String> {
    let recipe = text("deploy/Dockerfile").replace("\\\n", " ");
    let found = recipe.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.map(|rest| rest.trim().to_owned()).collect()
}

/// The folder that services of the image keep their state in.
pub(crate) fn state_directory() -> String {
    let found = instructions("ENV")
        .into_iter()
        .find_map(|line| Some(line.split_once("STATE_DIRECTORY=")?.1.to_owned()));
    found.expect("ENV STATE_DIRECTORY")
}

/// The ports that the image tells of.
pub(crate) fn ports() -> Vec<u16> {
    instructions("EXPOSE")
        .iter()
        .flat_map(|line| line.split(' '))
        .map(|word| port(&format!(":{word}")))
        .collect()
}

#[test]
fn the_recipe_copies_what_is_there_and_starts_what_it_built() {
    for copied in instructions("COPY").iter().filter(|line| !line.starts_with("--")) {
        let words: Vec<_> = copied.split(' ').collect();
        let (_, sources) = words.split_last().expect("COPY has a destination");
        for source in sources {
            assert!(path(source).exists(), "COPY {source}");
        }
    }
    let program = "/usr/local/bin/volley";
    assert_eq!(instructions("ENTRYPOINT"), [format!("[\"{program}\"]")]);
    let copies = instructions("COPY");
    assert!(
        copies.iter().any(|line| line.ends_with(&format!("target/release/volley {program}"))),
        "{copies:?}"
    );
    let builds =
        instructions("RUN").into_iter().find(|line| line.contains("cargo build")).expect("it builds");
    assert!(builds.contains("--locked") && builds.contains("-p volley-cli"), "{builds}");
    assert!(text("cli/Cargo.toml").contains("name = \"volley-cli\""));
    let rust = text("Cargo.toml");
    let version =
        rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version of Rust");
    let stages = instructions("FROM");
    assert!(
        stages.iter().any(|stage| stage.starts_with(&format!("rust:{}-", version.trim_matches('"')))),
        "{stages:?}"
    );
    assert_eq!(instructions("VOLUME"), [state_directory()]);
    let user = instructions("USER").remove(0);
    assert!(!user.starts_with('0'), "it runs as root");
    let made = instructions("RUN").into_iter().find(|line| line.contains(&state_directory()));
    assert!(
        made.is_some_and(|made| made.contains(user.split(':').next().unwrap_or_default())),
        "its folder is its own"
    );
}
