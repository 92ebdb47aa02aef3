//! The library of plans over REST, and runs of its plans.

use reqwest::header::{ETAG, IF_MATCH, IF_NONE_MATCH, LOCATION};
use reqwest::{Method, Response};
use serde_json::Value;

use super::check_problem;
use crate::testing::{Server, json};

const PLAN: &str = "target: http://127.0.0.1:1/\nusers: 1\nrequests: 10\nname: inner\n";

async fn put(server: &Server, name: &str, text: &str, headers: &[(&str, &str)]) -> Response {
    let request = server.request(Method::PUT, &format!("/api/v1/plans/{name}")).body(text.to_owned());
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

#[tokio::test]
async fn a_plan_is_saved_shown_changed_and_removed() {
    let server = Server::start().await;
    let created = put(&server, "checkout", PLAN, &[("if-none-match", "*")]).await;
    assert_eq!(
        (created.status().as_u16(), &created.headers()[LOCATION]),
        (201, &"/api/v1/plans/checkout".parse().unwrap())
    );
    let tag = created.headers()[ETAG].to_str().unwrap().to_owned();
    let entry = json(created).await;
    assert_eq!((&entry["version"], &entry["load"]), (&1.into(), &"1 user closed, 10 requests".into()));
    let shown = server.get("/api/v1/plans/checkout").await;
    assert_eq!(
        (shown.headers()[ETAG].to_str().unwrap(), &shown.headers()["content-type"]),
        (&*tag, &"application/yaml".parse().unwrap())
    );
    assert_eq!(shown.text().await.unwrap(), PLAN);
    let known = server.request(Method::GET, "/api/v1/plans/checkout").header(IF_NONE_MATCH, &tag);
    assert_eq!(known.send().await.unwrap().status().as_u16(), 304);
    let second = PLAN.replace("10", "20");
    assert_eq!(put(&server, "checkout", &second, &[("if-match", &tag)]).await.status().as_u16(), 200);
    check_problem(put(&server, "checkout", PLAN, &[("if-match", &tag)]).await, 412, "version is 2").await;
    check_problem(put(&server, "checkout", PLAN, &[("if-none-match", "*")]).await, 412, "version is 2").await;
    check_problem(put(&server, "other", PLAN, &[("if-match", "*")]).await, 412, "no such plan").await;
    assert_eq!(server.get("/api/v1/plans/checkout?version=1").await.text().await.unwrap(), PLAN);
    let versions = json(server.get("/api/v1/plans/checkout/versions").await).await;
    let numbers: Vec<_> =
        versions["versions"].as_array().unwrap().iter().map(|v| v["version"].clone()).collect();
    assert_eq!(
        (numbers, &versions["versions"][1]["etag"]),
        (vec![2.into(), 1.into()], &Value::from(tag.clone()))
    );
    let list = json(server.get("/api/v1/plans").await).await;
    assert_eq!((list["plans"].as_array().unwrap().len(), &list["plans"][0]["name"]), (1, &"checkout".into()));
    let remove = |tag: &str| {
        server.request(Method::DELETE, "/api/v1/plans/checkout").header(IF_MATCH, tag.to_owned()).send()
    };
    check_problem(remove(&tag).await.unwrap(), 412, "version is 2").await;
    assert_eq!(remove("*").await.unwrap().status().as_u16(), 204);
    check_problem(server.get("/api/v1/plans/checkout").await, 404, "checkout").await;
    server.end().await;
}

#[tokio::test]
async fn a_faulty_plan_is_not_saved() {
    let server = Server::start().await;
    let problem = check_problem(
        put(&server, "a", "target: http://h/\nusers: 1\nrequests: 1\nuser: 1", &[]).await,
        422,
        "user",
    )
    .await;
    assert_eq!((&problem["errors"][0]["line"], &problem["errors"][0]["column"]), (&4.into(), &1.into()));
    check_problem(put(&server, "-a", PLAN, &[]).await, 400, "name").await;
    check_problem(put(&server, "a%2Fb", PLAN, &[]).await, 400, "name").await;
    check_problem(server.get("/api/v1/plans/a/versions").await, 404, "no plan a").await;
    check_problem(server.get("/api/v1/plans/a?version=0").await, 404, "version 0").await;
    let valid = json(server.post("/api/v1/plans:validate", PLAN).await).await;
    assert_eq!((&valid["iterations"], &valid["name"]), (&10.into(), &"inner".into()));
    check_problem(server.post("/api/v1/plans:validate", "{}").await, 422, "fault").await;
    assert_eq!(json(server.get("/api/v1/plans").await).await["plans"], Value::Array(Vec::new()));
    server.end().await;
}

#[tokio::test]
async fn a_plan_of_the_library_is_run_with_something_said_anew() {
    let server = Server::with_agent().await;
    put(&server, "checkout", PLAN, &[]).await;
    let path = "/api/v1/runs?plan=checkout&version=1&iterations=7&label=zone=eu&label=team=x&note=n";
    let started = server.post(path, "").await;
    assert_eq!(started.status().as_u16(), 201);
    let location = started.headers()[LOCATION].to_str().unwrap().to_owned();
    let run = json(server.get(&format!("{location}?wait=60s")).await).await;
    assert_eq!(
        (&run["whole"]["ok"], &run["labels"]["zone"], &run["labels"]["team"]),
        (&7.into(), &"eu".into(), &"x".into())
    );
    assert_eq!(run["library"], serde_json::json!({"name": "checkout", "version": 1}));
    for (query, many) in [
        ("plan=checkout", 1),
        ("plan=inner", 1),
        ("plan=other", 0),
        ("label=zone=eu&label=team=x", 1),
        ("label=zone=us", 0),
        ("state=finished", 1),
        ("state=running", 0),
    ] {
        let list = json(server.get(&format!("/api/v1/runs?{query}")).await).await;
        assert_eq!(list["runs"].as_array().unwrap().len(), many, "{query}");
    }
    for (query, status, part) in [
        ("plan=nobody", 404, "nobody"),
        ("plan=checkout&version=9", 404, "version 9"),
        ("version=1", 400, "plan"),
        ("plan=checkout&label=x", 400, "KEY=VALUE"),
        ("plan=checkout&rate=5", 422, "rate"),
        ("state=gone", 400, "unknown parameter state"),
    ] {
        check_problem(server.post(&format!("/api/v1/runs?{query}"), "").await, status, part).await;
    }
    check_problem(server.post("/api/v1/runs?plan=checkout", PLAN).await, 400, "no body").await;
    check_problem(server.get("/api/v1/runs?state=gone").await, 400, "expected one of queued").await;
    server.end().await;
}

#[tokio::test]
async fn a_request_that_comes_again_starts_nothing_more() {
    let server = Server::with_agent().await;
    let ask = |key: &'static str, path: &str, body: &str| {
        server.request(Method::POST, path).header("idempotency-key", key).body(body.to_owned()).send()
    };
    let (first, second) = tokio::join!(ask("k", "/api/v1/runs", PLAN), ask("k", "/api/v1/runs", PLAN));
    let locations = [first.unwrap(), second.unwrap()].map(|answer| {
        assert_eq!(answer.status().as_u16(), 201);
        answer.headers()[LOCATION].clone()
    });
    assert_eq!(locations[0], locations[1]);
    assert_eq!(json(server.get("/api/v1/runs").await).await["total"], 1);
    check_problem(ask("k", "/api/v1/runs", &PLAN.replace("10", "11")).await.unwrap(), 422, "another plan")
        .await;
    check_problem(ask("k", "/api/v1/runs?note=x", PLAN).await.unwrap(), 422, "another plan").await;
    check_problem(ask("", "/api/v1/runs", PLAN).await.unwrap(), 400, "Idempotency-Key").await;
    // What was refused is not remembered.
    check_problem(ask("l", "/api/v1/runs", "{}").await.unwrap(), 422, "").await;
    assert_eq!(ask("l", "/api/v1/runs", PLAN).await.unwrap().status().as_u16(), 201);
    server.end().await;
}
