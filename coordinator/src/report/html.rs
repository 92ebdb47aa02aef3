//! A page for browsers, in one file.

use volley_web::ReportPage;

use super::distribution::distribution;
use super::{Recording, RenderError};
use crate::document::ns_to_ms;
use crate::view;

/// The page.
pub(super) fn page(recording: &Recording) -> Result<String, RenderError> {
    let points = distribution(&recording.whole.latency).into_iter();
    let page = ReportPage {
        page: view::run_page(recording.document.clone(), recording.ticks.clone()),
        distribution: points.map(|point| (point.share, ns_to_ms(point.value_ns))).collect(),
    };
    Ok(page.render()?)
}
