//! The volley program: one binary, one module a subcommand.

mod ab;
mod access;
mod agent;
mod agents;
mod arguments;
mod at;
mod completions;
mod coordinator;
mod exit;
mod format;
mod github;
mod logging;
mod man;
mod notify;
mod output;
mod plan;
mod plans;
mod probe;
mod processor;
mod progress;
mod quick;
mod report;
mod rest;
mod run;
mod runs;
mod session;
mod signals;
mod state;
mod summary;
mod target;
#[cfg(test)]
mod testing;
mod token;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    logging::start(matches!(arguments.command, Some(Command::Coordinator(_) | Command::Agent(_))));
    let ended = match arguments.command {
        Some(Command::Ab(options)) => return ab::main(&options),
        Some(Command::Coordinator(options)) => coordinator::main(&options),
        Some(Command::Agent(options)) => agent::main(options),
        Some(Command::Run(options)) => run::main(&options),
        Some(Command::Runs(options)) => runs::main(&options),
        Some(Command::Agents(options)) => agents::main(&options),
        Some(Command::Plans(options)) => plans::main(&options),
        Some(Command::Report(options)) => report::main(&options),
        Some(Command::Token(_)) => token::main(),
        Some(Command::Probe(options)) => probe::main(options),
        Some(Command::Target(options)) => target::main(&options),
        Some(Command::Plan(options)) => plan::main(&options),
        Some(Command::Completions(options)) => completions::main(&options),
        Some(Command::Man(options)) => man::main(&options),
        None => quick::main(arguments.quick),
    };
    ended.unwrap_or_else(|failure| failure.report()).code()
}
