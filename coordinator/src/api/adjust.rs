//! Another level of load for a run that goes on.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use volley_plan::shape::Rate;
use volley_plan::{Level, MAX_USERS};

use super::{AppState, Problem, RunPath, json_body};
use crate::document::ns_to_s;

/// A level of load as it is asked for: one of the two.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = AdjustTo)]
pub(crate) struct Asked {
    /// Arrivals of the open model, such as `500/s`.
    rate: Option<String>,
    /// Users of the closed model.
    #[schema(maximum = 100_000)]
    users: Option<u32>,
}

impl Asked {
    /// A level of load as a form says it, whose fields are texts and may be empty.
    pub(crate) fn of_form(rate: &str, users: &str) -> Result<Self, Problem> {
        let rate = Some(rate.trim().to_owned()).filter(|rate| !rate.is_empty());
        let users = match users.trim() {
            "" => None,
            users => Some(users.parse().map_err(|_| faulty("users: expected a whole number"))?),
        };
        Ok(Self { rate, users })
    }

    /// The level that is meant.
    pub(crate) fn level(&self) -> Result<Level, Problem> {
        match (&self.rate, self.users) {
            (Some(rate), None) => {
                let hint = |hint| format!(" ({hint})");
                let rate = rate.parse::<Rate>().map_err(|error| {
                    let hint = error.hint(rate).map(hint).unwrap_or_default();
                    faulty(format!("rate: found {error}, expected a rate like 200/s{hint}"))
                })?;
                Ok(Level::Rate(rate))
            }
            (None, Some(users)) if users <= MAX_USERS => Ok(Level::Users(users)),
            (None, Some(_)) => Err(faulty(format!("users: expected at most {MAX_USERS}"))),
            (None, None) | (Some(_), Some(_)) => Err(faulty("expected either rate or users")),
        }
    }
}

fn faulty(detail: impl Into<String>) -> Problem {
    Problem::new(422, "The load cannot be adjusted", detail)
}

/// When the load changes.
#[derive(Serialize, ToSchema)]
#[schema(as = AdjustedAt)]
pub(super) struct Adjusted {
    /// From which run time on the load is another one.
    at_s: f64,
}

/// Adjust the load
///
/// Another rate or number of users, from some moment soon to the end of the planned time.
#[utoipa::path(
    post, path = "/runs/{id}/adjust", tag = "runs", params(("id" = String, Path, description = "The run")),
    request_body(content = Asked),
    responses(
        (status = 202, body = Adjusted), (status = 400, response = Problem), (status = 403, response = Problem),
        (status = 404, response = Problem), (status = 409, response = Problem), (status = 422, response = Problem)
    )
)]
pub(super) async fn adjust(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<Adjusted>), Problem> {
    let asked: Asked = json_body(body, r#"{"rate": "500/s"} or {"users": 20}"#)?;
    let at_ns = state.coordinator.adjust_run(&run, asked.level()?).await?;
    Ok((StatusCode::ACCEPTED, Json(Adjusted { at_s: ns_to_s(at_ns) })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Result<&str, &str>) {
        let asked: Asked = serde_json::from_str(body).unwrap();
        let said = asked.level().map(|level| level.to_string()).map_err(|problem| problem.detail);
        match (&said, expected) {
            (Ok(level), Ok(expected)) => assert_eq!(level, expected),
            (Err(detail), Err(part)) => assert!(detail.contains(part), "{detail}"),
            _ => panic!("{body}: {said:?}"),
        }
    }

    #[test]
    fn a_level_is_a_rate_or_a_number_of_users() {
        check(r#"{"rate": "500/s"}"#, Ok("500/s"));
        check(r#"{"users": 20}"#, Ok("20 users"));
        check("{}", Err("either rate or users"));
        check(r#"{"rate": "1/s", "users": 2}"#, Err("either rate or users"));
        check(r#"{"rate": "500"}"#, Err("expected a rate like 200/s"));
        check(r#"{"users": 4000000000}"#, Err("at most 100000"));
        assert!(serde_json::from_str::<Asked>(r#"{"user": 2}"#).is_err(), "what is misspelt is no wish");
    }

    #[test]
    fn a_form_leaves_a_field_empty() {
        let level = |rate, users| Asked::of_form(rate, users).and_then(|asked| asked.level());
        assert_eq!(level(" 5/s ", "").unwrap(), Level::Rate("5/s".parse().unwrap()));
        assert_eq!(level("", "7").unwrap(), Level::Users(7));
        assert!(level("", "many").unwrap_err().detail.contains("whole number"));
        assert!(level("", "").is_err());
    }
}
