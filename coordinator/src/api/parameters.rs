//! Which parameters a path takes behind its `?`: those that the description of the API has, and no others. One that is
//! misspelt would otherwise change nothing, and start a run that nobody asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, ParameterIn};

use super::Problem;

/// The parameters of each path, by method.
type OfPath = BTreeMap<Method, BTreeSet<String>>;

/// The parameters of all paths that are described.
pub(super) struct Parameters {
    root: &'static str,
    paths: BTreeMap<String, OfPath>,
}

impl Parameters {
    /// Those of a description, whose paths stand below `root`.
    pub(super) fn of(document: &OpenApi, root: &'static str) -> Self {
        let paths = document.paths.paths.iter().map(|(path, item)| {
            let operations = [
                (Method::GET, &item.get),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ];
            let described = operations
                .into_iter()
                .filter_map(|(method, operation)| Some((method, queried(operation.as_ref()?))));
            (path.clone(), described.collect())
        });
        Self { root, paths: paths.collect() }
    }

    /// What is wrong with a query, if anything is.
    fn check(&self, path: &str, method: &Method, query: &str) -> Result<(), Problem> {
        let path = path.strip_prefix(self.root).unwrap_or(path);
        let Some(known) = self.paths.get(path).and_then(|path| path.get(method)) else { return Ok(()) };
        let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        let Some(unknown) = names.find(|name| !known.contains(&**name)) else { return Ok(()) };
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        let expected = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(Problem::bad_request(format!("unknown parameter {unknown}; expected {expected}")))
    }
}

fn queried(operation: &Operation) -> BTreeSet<String> {
    let all = operation.parameters.iter().flatten();
    let queried = all.filter(|parameter| parameter.parameter_in == ParameterIn::Query);
    queried.map(|parameter| parameter.name.clone()).collect()
}

/// Refuses a request with a parameter that its path doesn't take.
pub(super) async fn known(
    State(parameters): State<Arc<Parameters>>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let query = request.uri().query().unwrap_or_default();
    match parameters.check(path.as_str(), request.method(), query) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi;

    fn check(method: &Method, path: &str, query: &str, expected: Result<(), &str>) {
        let parameters = Parameters::of(&openapi::routes().1, "/api/v1");
        let checked = parameters.check(&format!("/api/v1{path}"), method, query);
        assert_eq!(
            checked.map_err(|problem| problem.detail),
            expected.map_err(str::to_owned),
            "{path}?{query}"
        );
    }

    #[test]
    fn a_path_takes_the_parameters_that_its_description_has() {
        check(&Method::GET, "/runs", "state=running&label=a%3Db&label=c%3Dd", Ok(()));
        check(&Method::GET, "/runs/{id}", "", Ok(()));
        let of_span = Err("unknown parameter step; expected from, to");
        check(&Method::GET, "/runs/{id}/span", "from=1&step=cart", of_span);
        let misspelt = "unknown parameter duraton; expected duration, iterations, label, note, plan, rate, users, version";
        check(&Method::POST, "/runs", "plan=a&duraton=1s", Err(misspelt));
        let none = Err("unknown parameter x; expected none");
        check(&Method::DELETE, "/runs/{id}", "x", none);
        check(&Method::GET, "/runs/{id}/report.html", "x=1", Ok(()));
    }
}
