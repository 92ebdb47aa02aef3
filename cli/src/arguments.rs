//! The command line as a whole.

use clap::{Parser, Subcommand};

use crate::{
    ab, agent, agents, completions, coordinator, man, plan, plans, probe, quick, report, run, runs, target,
    token,
};

/// What stands below the help of the whole.
const EXAMPLES: &str = "\
Examples:
  volley http://127.0.0.1:8080/                 50 connections for 10 s
  volley http://127.0.0.1:8080/ -c 10 -n 1000   exactly 1,000 requests
  volley http://127.0.0.1:8080/ -q 200 -z 30s   200 a second, whether or not
                                                the target keeps up
  volley run plan.yaml                          a plan, in this process

Exit codes: 0 passed; 1 could not run, or the measurement is invalid; 2 usage
or plan; 3 coordinator or agents unreachable; 4 refused; 99 threshold broken;
130 interrupted.";

/// Loads an HTTP server and measures what it does, from this process or from a fleet of agents.
///
/// With only a URL: 50 connections for 10 seconds.
#[derive(Debug, Parser)]
#[command(
    name = "volley",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    max_term_width = 80,
    after_help = EXAMPLES
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) quick: quick::Options,
}

/// What to do other than `volley URL`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a plan in this process, or on a coordinator
    Run(run::Options),
    /// Check plans, explain them, print their JSON Schema
    Plan(plan::Options),
    /// Take plans over HTTP, hand them to agents, merge and show what they measure
    Coordinator(coordinator::Options),
    /// Send requests for a coordinator
    Agent(agent::Options),
    /// Look at the runs of a coordinator, stop, adjust, label and remove them
    Runs(runs::Options),
    /// Fetch a run's report from a coordinator, in any form
    Report(report::Options),
    /// Look at the agents of a coordinator, and drain them
    Agents(agents::Options),
    /// Look at the library of plans of a coordinator, save and remove plans
    Plans(plans::Options),
    /// Send as ab does, by its flags, and report in its manner
    Ab(ab::Options),
    /// Serve the echo target, which answers by path: /bytes/2048, /delay/20ms, /status/503 and more
    Target(target::Options),
    /// Print a new token, for coordinators that listen beyond loopback
    Token(token::Options),
    /// Ask a service's /healthz or /readyz, for health checks in containers
    Probe(probe::Options),
    /// Print what a shell completes
    Completions(completions::Options),
    /// Print the manual page, or write all of them
    Man(man::Options),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    /// The help of a command and of all below it is no wider than a terminal, and says something of each option.
    fn check_help(command: &mut clap::Command, name: &str) {
        let help = command.render_long_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{name}: {} is told nothing of", argument.get_id());
        }
        assert!(command.get_about().is_some(), "{name} is told nothing of");
        for own in command.get_subcommands_mut() {
            let name = format!("{name} {}", own.get_name());
            check_help(own, &name);
        }
    }

    #[test]
    fn help_fits_a_terminal_and_tells_every_option() {
        let mut command = Arguments::command();
        command.build();
        check_help(&mut command, "volley");
        assert!(command.render_long_help().to_string().contains("Examples:"));
    }

    /// Says what came of the arguments: the beginning of the subcommand's debug form, or of the error.
    fn check(line: &str, expected: &str) {
        let words = std::iter::once("volley").chain(line.split_whitespace());
        let said = match Arguments::try_parse_from(words) {
            Ok(Arguments { command: Some(command), .. }) => format!("{command:?}"),
            Ok(Arguments { quick, .. }) => format!("{quick:?}"),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(expected), "{line}: {said}");
    }

    #[test]
    fn a_url_needs_no_subcommand() {
        check("http://127.0.0.1:1/", "url: Some(\"http://127.0.0.1:1/\")");
        check("-c 5 -n 10 http://x/", "connections: Some(5)");
        check("http://x/ -m PUT", "method: Some(\"PUT\")");
        check("http://x/ -X PUT", "method: Some(\"PUT\")");
        check("http://x/ -H a:b -H c:d", "headers: [\"a:b\", \"c:d\"]");
        check("http://x/ --disable-keepalive", "no_keep_alive: true");
        check("http://x/ --no-keep-alive", "no_keep_alive: true");
        check("https://x/ -k --cacert a --cert b --key c", "insecure: true, cacert: Some(\"a\")");
        check("https://x/ --tls-version 1.2 --tls-version 1.3", "tls_version: [\"1.2\", \"1.3\"]");
        check("https://x/ --no-resumption --server-name a", "no_resumption: true");
        check("http://x/ -4", "ipv4: true");
        check("http://x/ --ipv6", "ipv6: true");
        check("http://x/ --connect-to a:1 --connect-to b:2", "connect_to: [\"a:1\", \"b:2\"]");
        check("http://x/ --unix-socket a", "unix_socket: Some(\"a\")");
        check("http://x/ --source 10.0.0.1 --resolve 30s", "resolve: Some(\"30s\"), source: [\"10.0.0.1\"]");
        check("http://x/ --connect-timeout 1 --idle-timeout 2s", "idle_timeout: Some(\"2s\")");
        check("--ask-first http://x/", "ask_first: Some(\"true\")");
        check("http://x/ --ask-first=2s --body-size 1MiB", "ask_first: Some(\"2s\")");
        check("http://169.254.3.4/ --allow 169.254.3.4", "allow: [\"169.254.3.4\"]");
    }

    #[test]
    fn subcommands_take_their_own() {
        check("run plan.yaml --workers 3", "workers: Some(3)");
        check("run plan.yaml --allow any --allow-file f", "allow_file: Some(\"f\")");
        check("coordinator", "http: 127.0.0.1:7070");
        check("coordinator --store memory", "store: Some(\"memory\")");
        check("agent --coordinator h:1 --name n", "name: Some(\"n\")");
        check("plan check plan.yaml", "Check");
        check("plan check a.yaml b.yaml", "files: [\"a.yaml\", \"b.yaml\"]");
        check("plan explain a.yaml", "Explain");
        check("plan schema", "Schema");
        check("completions zsh", "Zsh");
        check("man d", "folder: Some(\"d\")");
        check("agents drain a", "Drain");
        check("plans put a b --new", "new: true");
        check("runs ls --all --state running", "all: true");
        check("runs label r1 a=b c-", "Label");
        check("token", "Token");
        check("probe http://127.0.0.1:1/healthz", "Probe");
        check("runs ls", "coordinator: \"http://127.0.0.1:7070\"");
        check("runs stop a-1 --coordinator http://h:1", "coordinator: \"http://h:1\"");
        check("report a-1 --format series.csv -o f", "output: Some(\"f\")");
        check("run plan.yaml --out d", "out: Some(\"d\")");
        check("http://x/ --out d", "out: Some(\"d\")");
        check("runs adjust a-1 --rate 500/s", "rate: Some(\"500/s\")");
        check("runs adjust a-1 --users 0", "users: Some(0)");
        check("coordinator --allow 10.0.0.0/8:80 --allow any", "allow: [\"10.0.0.0/8:80\", \"any\"]");
        check("agent --coordinator h:1 --label zone=eu --label a=b", "(\"zone\", \"eu\"), (\"a\", \"b\")");
        check("agent --coordinator h:1 --no-state --measure --weight 3", "no_state: true");
    }

    #[test]
    fn what_is_wrong_is_named() {
        check("", "Usage");
        check("http://x/ -n 30s", "for a duration use -z 30s");
        check("http://x/ -c 30s", "a whole number from 1 up");
        check("runs label r1 a", "KEY=VALUE");
        check("runs ls --all --limit 5", "cannot be used with");
        check("runs ls --limit 0", "1..=10000");
        check("plan check", "required");
        check("http://x/ -d a -D b", "cannot be used with");
        check("http://x/ -d a --body-size 1B", "cannot be used with");
        check("http://x/ -D a --body-size 1B", "cannot be used with");
        check("http://x/ -4 -6", "cannot be used with");
        check("http://x/ --unix-socket a --connect-to b:1", "cannot be used with");
        check("http://x/ --unix-socket a --source b", "cannot be used with");
        check("http://x/ -c none", "invalid value 'none'");
        check("agent", "--coordinator");
        check("http://x/ --workers 0", "invalid value '0'");
        check("runs adjust a-1", "required");
        check("runs adjust a-1 --rate 5/s --users 5", "cannot be used with");
        check("report a-1 --format pdf", "possible values: json, csv, series.csv");
        check("runs stop a/b", "a run's name");
        check("agent --coordinator h:1 --label zone", "NAME=VALUE");
        check("agent --coordinator h:1 --weight 0", "invalid value '0'");
        check("agent --coordinator h:1 --no-state --state d", "cannot be used with");
    }
}
