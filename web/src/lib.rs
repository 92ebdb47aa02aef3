//! The pages: view structs (strings and numbers), their templates, and the assets a browser loads.
//!
//! Knows no domain type and does no I/O. The coordinator fills a page's public fields and calls `render`; what
//! it sends down a run's event stream is made of the types in [`stream`], which [`RunPage`] takes as well, so
//! that a page rendered by the server and a page brought up to date by the script say the same.

mod accounts;
mod agents;
mod assets;
mod chart;
mod diff;
mod format;
mod home;
mod junit;
mod login;
mod message;
mod parts;
mod plans;
mod plot;
mod report;
mod rows;
mod run;
mod said;
pub mod stream;
mod table;
mod tables;
mod told;
mod view;

pub use agents::{Agent, AgentsPage, RunLink};
pub use askama::Error as RenderError;
pub use assets::{ASSET_CACHE_CONTROL, Asset, CONTENT_SECURITY_POLICY, assets};
pub use home::{Fault, HomePage, NewRun, RunFilter, RunRow, Sample};
pub use junit::{JunitCase, JunitEnd, JunitReport};
pub use login::LoginPage;
pub use message::MessagePage;
pub use plans::{Compared, NewPlan, PlanPage, PlanRow, PlanRun, PlanVersion, PlansPage};
pub use report::ReportPage;
pub use run::{AdjustForm, Fact, PlanLink, RunPage};
pub use told::SpanView;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod html;
#[cfg(test)]
mod pages_tests;
#[cfg(test)]
mod plans_tests;
#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod said_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod span_tests;
