//! The command line as a whole.

use clap::{Parser, Subcommand};

use crate::{agent, coordinator, plan, probe, quick, report, run, runs, target, token};

/// Loads an HTTP server and measures what it does, from this process or from a fleet of agents.
///
/// With only a URL: 50 connections for 10 seconds.
#[derive(Debug, Parser)]
#[command(
    name = "volley",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 passed; 1 could not run, or the measurement is invalid; 2 usage or plan; 3 coordinator \
                  or agents unreachable; 4 refused; 99 threshold broken; 130 interrupted."
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
    /// Take plans over HTTP, hand them to agents, merge and show what they measure
    Coordinator(coordinator::Options),
    /// Send requests for a coordinator
    Agent(agent::Options),
    /// Run a plan in this process, or on a coordinator
    Run(run::Options),
    /// Look at the runs of a coordinator, stop and adjust them
    Runs(runs::Options),
    /// Fetch a run's report from a coordinator, in any form
    Report(report::Options),
    /// Ask a service's /healthz or /readyz, for health checks in containers
    Probe(probe::Options),
    /// Print a new token, for coordinators that listen beyond loopback
    Token(token::Options),
    /// Serve the echo target, which answers by path: /bytes/2048, /delay/20ms, /status/503 and more
    Target(target::Options),
    /// Look at plans
    Plan(plan::Options),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
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
