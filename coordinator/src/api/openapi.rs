//! What the API is, as OpenAPI 3.1: made from the handlers, served at `/openapi.json`.

use axum::Router;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, Ref, RefOr};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{AppState, Problem, adjust, agents, health, log, ops, plans, reports, runs, spans, stream};

/// What stands above the paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Volley",
        description = "Load generation: plans, runs and the agents that carry them out. Durations are numbers with their \
                       unit at the end of their name; times are RFC 3339 in UTC; errors are problem details (RFC 9457). \
                       Where the coordinator has a token, every request shows it: `Authorization: Bearer TOKEN`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/api/v1")),
    components(responses(Problem), schemas(Problem)),
    modifiers(&Token),
    security((), ("token" = [])),
    // A route for each form, which are one path here.
    paths(reports::report),
    tags(
        (name = "runs", description = "Runs and their results"),
        (name = "plans", description = "The library of plans"),
        (name = "agents", description = "The fleet"),
        (name = "operation", description = "How the coordinator is")
    )
)]
struct Head;

/// The token that a coordinator may have.
struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// What any request may be answered, for reasons that are not its own.
fn may_be_answered_everywhere(document: &mut Document) {
    let problem = || RefOr::Ref(Ref::from_response_name("Problem"));
    for path in document.paths.paths.values_mut() {
        let operations = [&mut path.get, &mut path.put, &mut path.post, &mut path.patch, &mut path.delete];
        for operation in operations.into_iter().flatten() {
            for status in ["401", "403", "408", "500"] {
                operation.responses.responses.entry(status.to_owned()).or_insert_with(problem);
            }
        }
    }
}

/// The routes below `/api/v1`, and what they are.
pub(super) fn routes() -> (Router<AppState>, Document) {
    let (router, mut document) = OpenApiRouter::with_openapi(Head::openapi())
        .routes(routes!(runs::list, runs::create))
        .routes(routes!(runs::show, runs::mark, runs::remove))
        .routes(routes!(runs::stop))
        .routes(routes!(adjust::adjust))
        .routes(routes!(stream::stream))
        .routes(routes!(spans::span))
        .routes(routes!(spans::series))
        .routes(routes!(spans::histogram))
        .routes(routes!(spans::errors))
        .routes(routes!(health::show))
        .routes(routes!(log::show))
        .routes(routes!(plans::list))
        .routes(routes!(plans::validate))
        .routes(routes!(plans::show, plans::put, plans::remove))
        .routes(routes!(plans::versions))
        .routes(routes!(agents::list))
        .routes(routes!(agents::change))
        .routes(routes!(ops::healthz))
        .routes(routes!(ops::readyz))
        .routes(routes!(ops::version))
        .split_for_parts();
    may_be_answered_everywhere(&mut document);
    (router.merge(reports::routes()), document)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs};

    use serde_json::{Map, Value, json};

    use super::*;

    fn openapi() -> Document {
        routes().1
    }

    /// Set to write what is committed anew.
    const WRITE: &str = "VOLLEY_WRITE";

    /// What is committed under `docs/` is what the code says.
    fn check(file: &str, made: &Value) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(file);
        let text = format!("{made:#}\n");
        if env::var_os(WRITE).is_some() {
            fs::write(&path, &text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "docs/{file} is out of date; {WRITE}=1 in this test's environment writes it anew"
        );
    }

    #[test]
    fn the_committed_description_of_the_api_is_current() {
        check("openapi.json", &serde_json::to_value(openapi()).unwrap());
    }

    #[test]
    fn the_committed_schema_of_reports_is_current() {
        check("report.schema.json", &report_schema());
    }

    /// The JSON Schema (2020-12, as OpenAPI 3.1 has it) of a run's document.
    fn report_schema() -> Value {
        let text = serde_json::to_string(&openapi()).unwrap().replace("#/components/schemas/", "#/$defs/");
        let document: Value = serde_json::from_str(&text).unwrap();
        let all = document["components"]["schemas"].as_object().unwrap();
        let mut needed = Map::new();
        need("RunDocument", all, &mut needed);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "The report of a Volley run, version 2",
            "$ref": "#/$defs/RunDocument",
            "$defs": needed,
        })
    }

    /// A schema and those that it refers to.
    fn need(name: &str, all: &Map<String, Value>, needed: &mut Map<String, Value>) {
        if needed.contains_key(name) {
            return;
        }
        let schema = &all[name];
        needed.insert(name.to_owned(), schema.clone());
        let text = schema.to_string();
        for part in text.split("#/$defs/").skip(1) {
            need(part.split('"').next().unwrap(), all, needed);
        }
    }

    #[test]
    fn a_reports_schema_holds_of_a_report() {
        let schema = jsonschema::validator_for(&report_schema()).unwrap();
        let sample: Value = serde_json::from_str(include_str!("../document/sample_v2.json")).unwrap();
        let faults: Vec<_> = schema.iter_errors(&sample).map(|error| error.to_string()).collect();
        assert_eq!(faults, [""; 0]);
        let mut wrong = sample;
        wrong["whole"]["ok"] = json!("many");
        assert!(!schema.is_valid(&wrong));
    }
}
