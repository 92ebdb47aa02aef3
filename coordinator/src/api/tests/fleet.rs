//! Queued runs, adjusted loads and drained agents over real sockets.

use reqwest::header::{LOCATION, ORIGIN};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::check_problem;
use crate::testing::{Server, json};

#[tokio::test]
async fn a_run_that_has_to_wait_is_queued_and_says_why() {
    let server = Server::with_agent().await;
    let first = server.run("users: 1\nduration: 60s").await;
    let second = server.run("users: 1\nrequests: 5").await;
    let shown = json(server.get(&second).await).await;
    let id = first.rsplit('/').next().unwrap();
    assert_eq!((&shown["state"], &shown["queue"]["place"]), (&"queued".into(), &1.into()));
    let because = format!("run {id} loads 127.0.0.1:1");
    assert_eq!(shown["queue"]["because"], because);
    let listed = json(server.get("/api/v1/runs").await).await;
    assert_eq!(listed["runs"][0]["state"], "queued");
    let page = second.replace("/api/v1", "");
    assert!(server.get(&page).await.text().await.unwrap().contains(&because));
    assert!(server.get("/").await.text().await.unwrap().contains(&because));
    check_problem(server.post(&format!("{second}/adjust"), r#"{"users": 2}"#).await, 409, "queued").await;
    server.post(&format!("{first}/stop"), "").await;
    let shown = json(server.get(&format!("{second}?wait=60s")).await).await;
    assert_eq!(
        (&shown["state"], &shown["queue"], &shown["whole"]["ok"]),
        (&"finished".into(), &Value::Null, &5.into())
    );
    server.end().await;
}

#[tokio::test]
async fn a_load_is_adjusted_over_rest_and_by_the_form() {
    let server = Server::with_agent().await;
    let path = server.run("rate: 10/s\nduration: 60s").await;
    let adjust = format!("{path}/adjust");
    server.is_running(&path).await;
    for (body, part) in [
        (r#"{"rate": "10"}"#, "expected a rate like 200/s"),
        (r#"{"users": 3}"#, "can't be adjusted to 3 users"),
        (r#"{"rat": "10/s"}"#, "expected {\"rate\""),
        ("", "expected {\"rate\""),
    ] {
        check_problem(server.post(&adjust, body).await, 422, part).await;
    }
    let response = server.post(&adjust, r#"{"rate": "20/s"}"#).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let at_s = json(response).await["at_s"].as_f64().unwrap();
    let shown = json(server.get(&path).await).await;
    assert_eq!(shown["adjusted"], serde_json::json!([{"at_s": at_s, "rate": "20/s"}]));
    let log = server.get(&format!("{path}/log")).await;
    assert_eq!(log.headers()["content-type"], "application/x-ndjson");
    let log = log.text().await.unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["text"].as_str().unwrap().contains("adjusted to 20/s")), "{log}");
    let page = path.replace("/api/v1", "");
    let html = server.get(&page).await.text().await.unwrap();
    assert!(html.contains("Adjusted to <span") && html.contains("name=\"rate\" required"), "{html}");
    let form = |body: &'static str| {
        let request = server.request(Method::POST, &format!("{page}/adjust"));
        request.header("content-type", "application/x-www-form-urlencoded").body(body).send()
    };
    assert_eq!(form("rate=fast").await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    let adjusted = form("rate=30%2Fs").await.unwrap();
    assert_eq!(
        (adjusted.status(), adjusted.headers()[LOCATION].to_str().unwrap()),
        (StatusCode::SEE_OTHER, page.as_str())
    );
    assert_eq!(json(server.get(&path).await).await["adjusted"][1]["rate"], "30/s");
    server.post(&format!("{path}/stop"), "").await;
    json(server.get(&format!("{path}?wait=20s")).await).await;
    check_problem(server.post(&adjust, r#"{"rate": "20/s"}"#).await, 409, "over").await;
    check_problem(server.post("/api/v1/runs/nobody/adjust", r#"{"rate": "20/s"}"#).await, 404, "nobody")
        .await;
    check_problem(server.get("/api/v1/runs/nobody/log").await, 404, "nobody").await;
    server.end().await;
}

#[tokio::test]
async fn an_agent_is_drained_over_rest_and_by_its_button() {
    let server = Server::with_agent().await;
    let agent = json(server.get("/api/v1/agents").await).await["agents"][0].clone();
    let path = format!("/api/v1/agents/{}", agent["incarnation"].as_str().unwrap());
    let nothing = (&serde_json::json!({}), &Value::Null, &Value::Null, &false.into());
    assert_eq!((&agent["labels"], &agent["weight"], &agent["cpu"], &agent["drain"]), nothing);
    let change = |body: &'static str| server.request(Method::PATCH, &path).body(body).send();
    let drained = change(r#"{"drain": true}"#).await.unwrap();
    assert_eq!(drained.status(), StatusCode::OK);
    let drained = json(drained).await;
    assert_eq!((&drained["state"], &drained["drain"]), (&"draining".into(), &true.into()));
    let run = server.post("/api/v1/runs", "target: http://127.0.0.1:1/\nusers: 1\nrequests: 1").await;
    check_problem(run, 503, "no agent is connected").await;
    let html = server.get("/agents").await.text().await.unwrap();
    assert!(html.contains("value=\"false\"><button") && html.contains("draining"), "{html}");
    let button = server.request(Method::POST, &format!("{}/drain", path.replace("/api/v1", "")));
    let button = button.header("content-type", "application/x-www-form-urlencoded").body("drain=false");
    let pressed = button.send().await.unwrap();
    assert_eq!(
        (pressed.status(), &pressed.headers()[LOCATION]),
        (StatusCode::SEE_OTHER, &"/agents".parse().unwrap())
    );
    server.has_agent_in("idle").await;
    let run = server.run("rate: 10/s\nduration: 60s").await;
    server.is_running(&run).await;
    assert_eq!(
        change(r#"{"drain": true}"#).await.unwrap().status(),
        StatusCode::ACCEPTED,
        "its run has yet to let it go"
    );
    for (body, part) in
        [("{}", "drain"), (r#"{"drain": 1}"#, "expected"), (r#"{"drain": true, "x": 1}"#, "unknown")]
    {
        check_problem(change(body).await.unwrap(), 422, part).await;
    }
    for nobody in ["00000000000000ff", "1", "zz"] {
        let request =
            server.request(Method::PATCH, &format!("/api/v1/agents/{nobody}")).body(r#"{"drain": true}"#);
        check_problem(request.send().await.unwrap(), 404, "agent").await;
    }
    let foreign =
        server.request(Method::PATCH, &path).header(ORIGIN, "http://evil.test").body(r#"{"drain": true}"#);
    check_problem(foreign.send().await.unwrap(), 403, "Origin").await;
    server.end().await;
}
