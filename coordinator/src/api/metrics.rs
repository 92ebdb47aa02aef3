//! What monitoring reads.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};

use super::AppState;

/// `GET /metrics`: OpenMetrics, or Prometheus' older text for whoever does not name that.
pub(super) async fn show(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let (kind, text) = state.shared().metrics().answer(&accepted.collect::<Vec<_>>().join(","));
    ([(header::CONTENT_TYPE, kind), (header::VARY, "accept")], text).into_response()
}
