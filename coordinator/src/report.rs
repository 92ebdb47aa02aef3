//! Reports of runs that are over, in every form: what people keep, and what other programs read.
//!
//! A [`Recording`] is all that is kept of a run; [`render`] is pure and makes any [`Form`] of it. A service answers with the
//! same bytes as a run within one process writes.

use std::sync::Arc;

use thiserror::Error;
use volley_stats::DecodeError;

mod distribution;
mod form;
mod hgrm;
mod hlog;
mod html;
mod markdown;
mod openmetrics;
mod recording;
mod series;
mod summary;
mod table;

pub use form::Form;
pub use markdown::escaped as markdown_escaped;
pub use recording::{Interval, Recording};

use crate::exposition::Exposition;

/// Why a report cannot be made.
#[derive(Debug, Error)]
pub enum RenderError {
    /// What is kept of the run cannot be read.
    #[error("what is kept of the run is damaged")]
    Damaged(#[from] DecodeError),
    /// The document is no JSON.
    #[error("the document cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A table cannot be written.
    #[error("the table cannot be written")]
    Table(#[from] csv::Error),
    /// A template fails.
    #[error("the template cannot be filled in")]
    Template(#[from] volley_web::RenderError),
    /// A histogram cannot be written.
    #[error("a histogram cannot be written: {0}")]
    Histogram(String),
    /// Whoever makes it has broken down.
    #[error("making the report broke off: {0}")]
    BrokenOff(String),
}

/// Makes a report of a run, beside the runtime: opening and writing thousands of histograms takes a while.
///
/// # Errors
/// See [`render`].
pub async fn rendered(form: Form, recording: Arc<Recording>) -> Result<String, RenderError> {
    let made = tokio::task::spawn_blocking(move || render(form, &recording)).await;
    made.unwrap_or_else(|error| Err(RenderError::BrokenOff(error.to_string())))
}

/// Makes a report of a run.
///
/// # Errors
/// Where what is kept of it is damaged; the other kinds are of writers that write to memory, of which none is known to fail.
pub fn render(form: Form, recording: &Recording) -> Result<String, RenderError> {
    let document = &recording.document;
    match form {
        Form::Json => Ok(serde_json::to_string_pretty(document)? + "\n"),
        Form::Csv => summary::csv_of(recording),
        Form::SeriesCsv => series::csv_of(&document.id, &recording.ticks),
        Form::Junit => Ok(document.junit().render()?),
        Form::Hgrm => Ok(hgrm::text(&recording.whole.latency)),
        Form::Hlog => hlog::text(recording),
        Form::OpenMetrics => openmetrics::exposition(recording).map(|of| Exposition::openmetrics(&of)),
        Form::Markdown => Ok(markdown::text(document)),
        Form::Html => html::page(recording),
    }
}

#[cfg(test)]
mod tests;
