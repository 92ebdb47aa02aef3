//! Whole-system tests, one process of the program and more. `CASES.md` says what the numbered ones are about.

mod ab;
mod accounts;
mod agreement;
mod api;
mod bad_input;
mod bad_target;
mod browser;
mod case_01;
mod case_02;
mod case_04;
mod case_06;
mod case_07;
mod case_09;
mod case_11;
mod case_12;
mod case_13;
mod case_14;
mod case_15;
mod case_16;
mod case_19;
mod case_20;
mod case_21;
mod case_22;
mod case_23;
mod case_24;
mod case_25;
mod case_28;
mod case_29;
mod case_31;
mod case_37;
mod case_43;
mod case_45;
mod case_46;
mod case_47;
mod case_49;
mod command_line;
mod crash;
mod demo;
mod docs;
mod health;
mod hosts;
mod loss;
mod metrics;
mod restart;
mod soak;
mod thousand_agents;
mod truth;
mod zoo;

use volley_e2e::{Api, Report};

/// Plays a plan on agents that may still be busy with the end of an earlier run, and holds its report to the invariants.
fn play(api: &Api, agents: usize, plan: &str) -> Report {
    api.play(&format!("{plan}agents: {{ min: {agents}, wait: 20s }}\n")).checked()
}
