//! Parts of a run's results over REST, and what people change of runs.

use reqwest::Method;
use serde_json::{Value, json as value};

use super::check_problem;
use crate::testing::{Server, json};

/// A run of two seconds of warm-up and eight that are measured, ten iterations in each.
async fn finished(server: &Server) -> String {
    let path = server.run("rate: 10/s\nduration: 8s\nwarmup: 2s").await;
    let run = json(server.get(&format!("{path}?wait=60s")).await).await;
    assert_eq!((&run["over"], &run["whole"]["ok"]), (&true.into(), &80.into()));
    path
}

#[tokio::test]
async fn a_span_has_its_own_numbers() {
    let server = Server::with_agent().await;
    let path = finished(&server).await;
    let span = async |query: &str| json(server.get(&format!("{path}/span?{query}")).await).await;
    let gist = |span: &Value| {
        let whole = &span["run"]["whole"];
        value!([
            span["from_s"],
            span["to_s"],
            whole["ok"],
            whole["planned"],
            whole["rate_s"],
            whole["latency_ms"]["50"]
        ])
    };
    let all = span("").await;
    assert_eq!((&all["run"]["whole"]["ok"], &all["run"]["whole"]["rate"]), (&80.into(), &10.0.into()));
    assert_eq!(gist(&span("from=4&to=6").await), value!([4, 6, 20, 20, 2.0, 2.0]));
    assert_eq!(
        gist(&span("from=1&to=4").await),
        value!([1, 4, 20, 20, 2.0, 2.0]),
        "of two parts, the measured one"
    );
    assert_eq!(gist(&span("from=0&to=2").await), value!([0, 2, 20, 20, 2.0, 2.0]), "the warm-up by itself");
    let part = span("from=4&to=6").await;
    assert_eq!((&part["run"]["steps"][0]["ok"], &part["run"]["state"]), (&20.into(), &"finished".into()));
    for (query, part) in [
        ("from=5&to=5", "after from"),
        ("from=-1", "from"),
        ("to=x", "to"),
        ("from=10", "the run was over at 10 s"),
        ("from=90&to=95", "the run was over at 10 s"),
        ("from=1&step=cart", "unknown parameter step; expected from, to"),
    ] {
        check_problem(server.get(&format!("{path}/span?{query}")).await, 400, part).await;
    }
    check_problem(server.get("/api/v1/runs/nobody/span").await, 404, "nobody").await;
    server.end().await;
}

#[tokio::test]
async fn series_histograms_errors_and_log_are_of_spans() {
    let server = Server::with_agent().await;
    let path = finished(&server).await;
    let get = async |rest: &str| json(server.get(&format!("{path}/{rest}")).await).await;
    let points = async |query: &str| {
        let series = get(&format!("series?{query}")).await;
        let points = series["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| value!([p["second"], p["span_s"], p["ok"], p["warmup"]]));
        value!([series["every_s"], points.collect::<Vec<_>>()])
    };
    assert_eq!(
        points("from=1&to=4").await,
        value!([1, [[1, 1, 10, true], [2, 1, 10, false], [3, 1, 10, false]]])
    );
    assert_eq!(
        points("every=5s").await,
        value!([5, [[0, 2, 20, true], [2, 3, 30, false], [5, 5, 50, false]]])
    );
    let in_all = value!([60, [[0, 2, 20, true], [2, 8, 80, false]]]);
    assert_eq!(points("every=60s").await, in_all, "a point ends with the warm-up, and with the run");
    let run = json(server.get(&path).await).await;
    let step = run["steps"][0]["name"].as_str().unwrap().replace(' ', "%20");
    assert_eq!(points(&format!("every=60s&step={step}")).await, in_all);
    let histogram = get("histogram?from=4&to=6").await;
    assert_eq!(
        (&histogram["count"], &histogram["max_ms"], &histogram["of"]),
        (&20.into(), &2.0.into(), &"latency".into())
    );
    assert!(histogram["hdr"].as_str().unwrap().starts_with("HISTEw"), "V2 in base64: {histogram}");
    assert_eq!(get("histogram?of=lag").await["count"], 80);
    assert_eq!(get("errors").await["errors"], value!([]));
    let lines = async |query: &str| {
        let text = server.get(&format!("{path}/log?{query}")).await.text().await.unwrap();
        text.lines().count()
    };
    let all = lines("").await;
    assert!(all > 0 && lines("from=9999").await == 0 && lines("to=9999").await == all);
    for (rest, status, part) in [
        ("series?every=0s", 400, "whole seconds"),
        ("series?every=1500ms", 400, "whole seconds"),
        ("series?every=5", 400, "whole seconds"),
        ("series?step=nobody", 404, "nobody"),
        ("errors?scenario=nobody", 404, "nobody"),
        ("histogram?of=nothing", 400, "expected one of latency"),
        ("errors?from=x", 400, "from"),
        ("log?from=x", 400, "from"),
    ] {
        check_problem(server.get(&format!("{path}/{rest}")).await, status, part).await;
    }
    server.end().await;
}

#[tokio::test]
async fn what_people_say_of_a_run_may_change_at_any_time() {
    let server = Server::with_agent().await;
    let path = server.run("users: 1\nduration: 60s").await;
    let patch = |body: &str| server.request(Method::PATCH, &path).body(body.to_owned()).send();
    let marked = json(patch(r#"{"note": "n", "labels": {"a": "1", "b": "2"}}"#).await.unwrap()).await;
    assert_eq!((&marked["note"], &marked["labels"]), (&"n".into(), &value!({"a": "1", "b": "2"})));
    check_problem(server.request(Method::DELETE, &path).send().await.unwrap(), 409, "stopped first").await;
    server.is_running(&path).await;
    assert_eq!(server.post(&format!("{path}/stop?force=true"), "").await.status().as_u16(), 202);
    let over = json(server.get(&format!("{path}?wait=20s")).await).await;
    assert_eq!(
        (&over["over"], &over["note"], &over["labels"]),
        (&true.into(), &"n".into(), &value!({"a": "1", "b": "2"}))
    );
    let marked = json(patch(r#"{"note": null, "labels": {"a": null}}"#).await.unwrap()).await;
    assert_eq!((&marked["note"], &marked["labels"]), (&Value::Null, &value!({"b": "2"})));
    let list = json(server.get("/api/v1/runs?label=b=2").await).await;
    assert_eq!(list["runs"][0]["labels"], value!({"b": "2"}));
    check_problem(patch(r#"{"notes": 1}"#).await.unwrap(), 422, "notes").await;
    check_problem(patch(r#"{"labels": {"": "x"}}"#).await.unwrap(), 422, "a key has").await;
    assert_eq!(server.request(Method::DELETE, &path).send().await.unwrap().status().as_u16(), 204);
    check_problem(server.get(&path).await, 404, "").await;
    check_problem(patch("{}").await.unwrap(), 404, "").await;
    check_problem(server.get(&format!("{path}/stream")).await, 404, "").await;
    server.end().await;
}

#[tokio::test]
async fn the_api_says_what_it_is() {
    let server = Server::start().await;
    let described = json(server.get("/openapi.json").await).await;
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"), "{described}");
    assert!(
        described["paths"]["/runs/{id}/span"]["get"].is_object()
            && described["paths"]["/plans:validate"].is_object()
    );
    server.end().await;
}
