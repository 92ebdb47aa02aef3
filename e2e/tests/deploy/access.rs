//! What is asked of whom, by real processes: tokens, addresses that are open to others, targets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use volley_e2e::{Outcome, volley, volley_with};

use super::commands::Line;
use super::stage::{Service, Stage, TOKEN};

/// A command, shown this token in its environment.
fn with_token(arguments: &[&str], token: &str) -> Outcome {
    volley_with(arguments, |command| {
        command.env("VOLLEY_TOKEN", token);
    })
}

/// It ends with this code, and says so much of why.
fn check(outcome: &Outcome, code: i32, parts: &[&str]) {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    for part in parts {
        assert!(outcome.stderr.contains(part), "{part}: {outcome:?}");
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A coordinator with a token, and an agent of it that may load what `allow` says.
fn fleet(stage: &mut Stage, allow: &str) -> (Service, Service) {
    let line = "coordinator --http 127.0.0.1:0 --agents 127.0.0.1:0 --token-file t --store s --allow any";
    let coordinator = stage.start(&Line::read("a test", &words(line)), &[]);
    let line = format!("agent --coordinator c:1 --token-file t --name one --allow {allow}");
    let agent = stage.start(&Line::read("a test", &words(&line)), &[]);
    coordinator.is_joined(Some("one"));
    (coordinator, agent)
}

#[test]
fn case_18_no_address_beyond_loopback_without_a_token() {
    for arguments in [
        &["coordinator", "--http", "0.0.0.0:0", "--store", "memory"][..],
        &["coordinator", "--agents", "[::]:0", "--http", "127.0.0.1:0", "--store", "memory"],
        &["agent", "--coordinator", "127.0.0.1:1", "--http", "0.0.0.0:0"],
    ] {
        let refused = volley_with(arguments, |command| {
            command.env_remove("VOLLEY_TOKEN");
        });
        check(&refused, 2, &["without a token", "volley token", "--token-file"]);
    }
    check(&with_token(&["coordinator", "--http", "0.0.0.0:0"], "too short"), 2, &["VOLLEY_TOKEN"]);
}

#[test]
fn tokens_are_made_at_random() {
    let [first, second] = [0, 1].map(|_| volley(&["token"]).exited(0).stdout);
    assert!(first != second && first.trim().len() == 64, "{first} {second}");
}

#[test]
fn a_token_that_everybody_can_read_is_warned_of() {
    let stage = Stage::new(None);
    let file = stage.file("token");
    for (mode, expected) in [(0o644, true), (0o600, false)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a mode");
        let listed = volley(&["runs", "ls", "--coordinator", "http://127.0.0.1:1", "--token-file", &file]);
        assert_eq!(listed.stderr.contains("every user of this host"), expected, "{mode:o}: {listed:?}");
    }
}

#[test]
fn only_those_with_the_token_get_anything_done() {
    let mut stage = Stage::new(None);
    let (coordinator, agent) = fleet(&mut stage, "any");
    let (url, agents) = (coordinator.url(), stage.coordinator());
    let target = stage.start(&Line::read("a test", &words("target --listen 127.0.0.1:0")), &[]);
    let plan = stage.file("plan.yaml");
    fs::write(&plan, format!("target: {}/\nusers: 1\nrequests: 7\n", target.url())).expect("a plan");
    let other = "another-token-than-it";
    check(&volley(&["agent", "--coordinator", &agents, "--no-state"]), 4, &["--token-file"]);
    check(&with_token(&["agent", "--coordinator", &agents, "--no-state"], other), 4, &["another"]);
    let run = ["run", &plan, "--coordinator", &url];
    check(&volley(&run), 4, &["401", "--token-file"]);
    check(&with_token(&run, other), 4, &["401"]);
    check(&with_token(&["runs", "ls", "--coordinator", &url], other), 4, &["401"]);
    let done = with_token(&run, TOKEN).exited(0);
    assert!(done.stdout.contains("7 started"), "{done:?}");
    assert!(!format!("{done:?}").contains(TOKEN), "{done:?}");
    let file = stage.file("token");
    let listed = volley(&["runs", "ls", "--coordinator", &url, "--token-file", &file]).exited(0);
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
    agent.ends();
    coordinator.ends();
    target.ends();
}

#[test]
fn an_agent_asks_its_own_list() {
    let mut stage = Stage::new(None);
    let (coordinator, agent) = fleet(&mut stage, "10.0.0.0/8");
    let plan = stage.file("plan.yaml");
    fs::write(&plan, "target: http://127.0.0.1:9/\nusers: 1\nrequests: 7\n").expect("a plan");
    let refused = with_token(&["run", &plan, "--coordinator", &coordinator.url()], TOKEN);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("127.0.0.1:9 is not on the allow-list"), "{refused:?}");
    agent.ends();
    coordinator.ends();
}
