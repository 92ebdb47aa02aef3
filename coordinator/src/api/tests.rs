//! REST, the stream and the pages over real sockets.

use std::sync::Arc;

use reqwest::header::{HOST, LOCATION, ORIGIN};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use crate::store::suite;
use crate::testing::{Server, json};
use crate::{MemoryStore, Store as _};

mod fleet;
mod library;
mod pages;
mod spans;

/// Holds an answer against problem details with this status and a part of the detail.
async fn check_problem(response: Response, status: u16, part: &str) -> Value {
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.status().as_u16(), status);
    let problem = json(response).await;
    assert_eq!((&problem["status"], &problem["type"]), (&status.into(), &"about:blank".into()));
    assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
    problem
}

#[tokio::test]
async fn a_run_is_started_waited_for_listed_and_shown() {
    let server = Server::with_agent().await;
    let yaml = "target: http://127.0.0.1:1/\nusers: 2\nrequests: 100\nname: first";
    let json_plan = r#"{"target": "http://127.0.0.1:1/", "users": 2, "requests": 50, "name": "second"}"#;
    let mut locations = Vec::new();
    for (content_type, plan, note) in
        [("application/yaml", yaml, "?note=why%20not"), ("application/json", json_plan, "")]
    {
        let request = server.request(Method::POST, &format!("/api/v1/runs{note}"));
        let response = request.header("content-type", content_type).body(plan).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
        locations.push(response.headers()[LOCATION].to_str().unwrap().to_owned());
        let shown = json(server.get(&format!("{}?wait=60s", locations.last().unwrap())).await).await;
        assert_eq!(shown["state"], "finished", "{shown}");
        server.has_agent_in("idle").await;
    }
    let shown = json(server.get(&locations[0]).await).await;
    assert_eq!(
        (&shown["volley"], &shown["note"], &shown["whole"]["ok"]),
        (&2.into(), &"why not".into(), &100.into())
    );
    assert_eq!(shown["sentence"], "Finished: 100 of 100 requests sent, 0 failed, p99 1.00 ms.");
    assert!(shown["started_at"].as_str().unwrap().ends_with('Z'));
    let list = json(server.get("/api/v1/runs").await).await;
    let names: Vec<_> = list["runs"].as_array().unwrap().iter().map(|run| run["name"].clone()).collect();
    assert_eq!(names, ["second", "first"]);
    let agents = json(server.get("/api/v1/agents").await).await;
    assert_eq!((&agents["agents"][0]["name"], &agents["agents"][0]["state"]), (&"a".into(), &"idle".into()));
    server.end().await;
}

#[tokio::test]
async fn how_agents_were_is_told_by_second() {
    let server = Server::with_agent().await;
    let path = server.run("rate: 10/s\nduration: 2s\nwarmup: 1s").await;
    let shown = json(server.get(&format!("{path}?wait=60s")).await).await;
    assert_eq!((&shown["over"], &shown["agents"][0]["health"]["seconds"]), (&true.into(), &2.into()));
    let health = json(server.get(&format!("{path}/health")).await).await;
    let agent = &health["agents"][0];
    assert_eq!((&agent["name"], &agent["second"]), (&"a".into(), &serde_json::json!([0, 1, 2])));
    assert_eq!(agent["incarnation"], shown["agents"][0]["incarnation"]);
    assert_eq!(agent["lag_max_ns"], serde_json::json!([1_000_000, 1_000_000, 1_000_000]));
    assert_eq!((&health["next_from"], &health["run"]), (&Value::Null, &shown["id"]));
    let later = json(server.get(&format!("{path}/health?from=2")).await).await;
    assert_eq!(later["agents"][0]["second"], serde_json::json!([2]));
    let none = json(server.get(&format!("{path}/health?from=3")).await).await;
    assert_eq!(none["agents"], serde_json::json!([]));
    check_problem(server.get("/api/v1/runs/nobody/health").await, 404, "nobody").await;
    check_problem(server.get(&format!("{path}/health?from=-1")).await, 400, "from").await;
    server.end().await;
}

#[tokio::test]
async fn without_an_agent_the_answer_says_how_to_add_one() {
    let server = Server::start().await;
    let response = server.post("/api/v1/runs", "target: http://127.0.0.1:1/\nusers: 1\nrequests: 1").await;
    let command = format!("`volley agent --coordinator {}`", server.agents);
    check_problem(response, 503, &command).await;
    assert_eq!(json(server.get("/api/v1/runs").await).await["runs"], Value::Array(Vec::new()));
    server.end().await;
}

#[tokio::test]
async fn faults_of_a_plan_are_told_all_at_once_with_their_places() {
    let server = Server::with_agent().await;
    let response = server.post("/api/v1/runs", "target: nonsense\nusers: 0\nduraton: 5s\n").await;
    let problem = check_problem(response, 422, "faults").await;
    let errors = problem["errors"].as_array().unwrap();
    let places: Vec<_> =
        errors.iter().map(|e| (e["line"].as_u64().unwrap(), e["pointer"].as_str().unwrap())).collect();
    assert!(places.contains(&(1, "/target")) && places.contains(&(2, "/users")), "{places:?}");
    let misspelt = errors.iter().find(|error| error["line"] == 3).unwrap();
    assert!(misspelt["hint"].as_str().unwrap().contains("duration"), "{misspelt}");
    server.end().await;
}

#[tokio::test]
async fn hostile_bodies_are_refused_and_the_server_lives() {
    let server = Server::with_agent().await;
    let laughs: String = (0..40).map(|n| format!("a{n}: &a{n} [*a{n}, *a{n}]\n")).collect();
    let bodies: [(&str, Vec<u8>, u16); 8] = [
        ("nothing", Vec::new(), 422),
        ("no text", vec![0xff, 0xfe, 0x00], 422),
        ("a NUL", b"target: \0".to_vec(), 422),
        ("too much", vec![b'#'; (1 << 20) + 1], 413),
        ("much", vec![b'#'; 1 << 20], 422),
        ("deep", vec![b'['; 100_000], 422),
        ("aliases", laughs.into_bytes(), 422),
        ("a list", b"[1, 2]".to_vec(), 422),
    ];
    for (what, body, status) in bodies {
        let response = server.post("/api/v1/runs", body).await;
        assert_eq!(response.status().as_u16(), status, "{what}");
        check_problem(response, status, "").await;
    }
    let long = format!("/api/v1/runs?note={}", "x".repeat(1001));
    check_problem(server.post(&long, "").await, 400, "note").await;
    assert_eq!(server.get("/healthz").await.status(), StatusCode::OK);
    server.end().await;
}

#[tokio::test]
async fn a_run_is_stopped_once() {
    let server = Server::with_agent().await;
    let path = server.run("users: 1\nduration: 60s").await;
    let response = server.post(&format!("{path}/stop"), "").await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let shown = json(server.get(&format!("{path}?wait=10s")).await).await;
    assert_eq!(shown["over"], true, "{shown}");
    check_problem(server.post(&format!("{path}/stop"), "").await, 409, "over").await;
    server.end().await;
}

#[tokio::test]
async fn what_is_not_there_is_a_problem() {
    let server = Server::with_agent().await;
    for path in
        ["/api/v1/runs/nobody", "/api/v1/runs/a%20b", "/api/v1/runs/nobody/stream", "/api/v2", "/nowhere"]
    {
        check_problem(server.get(path).await, 404, "").await;
    }
    check_problem(server.post("/api/v1/runs/nobody/stop", "").await, 404, "nobody").await;
    for (method, path) in [
        (Method::DELETE, "/api/v1/runs"),
        (Method::GET, "/api/v1/runs/nobody/stop"),
        (Method::PUT, "/"),
        (Method::POST, "/api/v1/agents"),
    ] {
        let response = server.request(method, path).send().await.unwrap();
        assert!(
            response.headers().contains_key("allow"),
            "{path} must say what it takes (RFC 9110 section 15.5.6)"
        );
        check_problem(response, 405, path).await;
    }
    for wait in ["", "60", "-1s", "soon"] {
        let response = server.get(&format!("/api/v1/runs/nobody?wait={wait}")).await;
        check_problem(response, 400, "expected a duration like 60s").await;
    }
    check_problem(server.get("/api/v1/runs/nobody?wait=1s").await, 404, "nobody").await;
    server.end().await;
}

#[tokio::test]
async fn case_18_other_sites_and_names_are_refused() {
    let server = Server::with_agent().await;
    let plan = "target: http://127.0.0.1:1/\nusers: 1\nrequests: 1";
    let foreign = server.request(Method::POST, "/api/v1/runs").header(ORIGIN, "http://evil.test").body(plan);
    check_problem(foreign.send().await.unwrap(), 403, "Origin").await;
    let foreign = server.request(Method::POST, "/runs").header(ORIGIN, "null").body("plan=x");
    check_problem(foreign.send().await.unwrap(), 403, "Origin").await;
    let rebound = server.request(Method::GET, "/api/v1/runs").header(HOST, "evil.test");
    check_problem(rebound.send().await.unwrap(), 403, "Host").await;
    let own = server.request(Method::POST, "/api/v1/runs").header(ORIGIN, &server.base).body(plan);
    assert_eq!(own.send().await.unwrap().status(), StatusCode::CREATED);
    server.end().await;
}

#[tokio::test]
async fn pages_show_what_is_there_and_forms_start_and_stop_runs() {
    let server = Server::with_agent().await;
    let form = |body: &'static str| {
        let request = server.request(Method::POST, "/runs");
        request.header("content-type", "application/x-www-form-urlencoded").body(body).send()
    };
    let faulty = form("url=http%3A%2F%2F127.0.0.1%3A1%2F&users=many&requests=&duration=5").await.unwrap();
    assert_eq!(faulty.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let html = faulty.text().await.unwrap();
    assert!(html.contains("many") && html.contains("duration"), "what was typed stays, with all faults");
    let started = form("url=http%3A%2F%2F127.0.0.1%3A1%2F&users=1&requests=&duration=60s").await.unwrap();
    assert_eq!(started.status(), StatusCode::SEE_OTHER);
    let page = started.headers()[LOCATION].to_str().unwrap().to_owned();
    assert!(page.starts_with("/runs/"), "{page}");
    let html = server.get(&page).await.text().await.unwrap();
    assert!(html.contains("1 user closed"), "{html}");
    let queued = form("url=http%3A%2F%2F127.0.0.1%3A1%2F&users=1").await.unwrap();
    assert_eq!(queued.status(), StatusCode::SEE_OTHER);
    let queued = queued.headers()[LOCATION].to_str().unwrap();
    let html = server.get(queued).await.text().await.unwrap();
    assert!(html.contains("Queued, next in line"), "{html}");
    server.post(&format!("{queued}/stop"), "").await;
    for _ in 0..2 {
        let stopped = server.post(&format!("{page}/stop"), "").await;
        assert_eq!(
            (stopped.status(), stopped.headers()[LOCATION].to_str().unwrap()),
            (StatusCode::SEE_OTHER, page.as_str())
        );
    }
    let home = server.get("/").await;
    let headers = home.headers().clone();
    assert!(
        headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("default-src 'none'; script-src 'self'")
    );
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["cache-control"], "no-store");
    assert!(home.text().await.unwrap().contains(&page));
    assert!(
        server.get("/agents").await.text().await.unwrap().contains("volley agent --coordinator 127.0.0.1:")
    );
    let missing = server.get("/runs/nobody").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert!(missing.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    server.end().await;
}

#[tokio::test]
async fn assets_are_kept_by_browsers() {
    let server = Server::start().await;
    for asset in volley_web::assets() {
        let response = server.get(asset.path).await;
        assert_eq!(response.headers()["cache-control"], volley_web::ASSET_CACHE_CONTROL);
        assert_eq!(response.headers()["content-type"], asset.content_type);
        let etag = response.headers()["etag"].clone();
        assert_eq!(response.bytes().await.unwrap(), asset.bytes);
        let again = server.request(Method::GET, asset.path).header("if-none-match", etag);
        assert_eq!(again.send().await.unwrap().status(), StatusCode::NOT_MODIFIED);
    }
    server.end().await;
}

#[tokio::test]
async fn the_list_has_pages() {
    let store = MemoryStore::default();
    for n in 100..350 {
        store.create(&suite::document(&format!("r{n}"))).await.unwrap();
    }
    let server = Server::on(Arc::new(store)).await;
    let mut seen = Vec::new();
    let mut next = Some("/api/v1/runs".to_owned());
    while let Some(path) = next {
        let response = server.get(&path).await;
        let link = response.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
        let list = json(response).await;
        seen.extend(
            list["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()),
        );
        assert_eq!(list["total"], 250);
        let cursor = list["next_cursor"].as_str().map(|run| format!("/api/v1/runs?limit=100&cursor={run}"));
        assert_eq!(link, cursor.as_ref().map(|path| format!("<{path}>; rel=\"next\"")));
        next = cursor;
    }
    let all: Vec<_> = (100..350).rev().map(|n| format!("r{n}")).collect();
    assert_eq!(seen, all);
    let list = json(server.get("/api/v1/runs?limit=3&cursor=r102").await).await;
    assert_eq!((list["runs"].as_array().unwrap().len(), &list["next_cursor"]), (2, &Value::Null));
    for (query, part) in [
        ("limit=0", "1 to 10000"),
        ("limit=10001", "1 to 10000"),
        ("limit=x", "limit"),
        ("cursor=a/b", "cursor"),
    ] {
        check_problem(server.get(&format!("/api/v1/runs?{query}")).await, 400, part).await;
    }
    let home = server.get("/").await.text().await.unwrap();
    assert!(home.contains("/runs/r349") && !home.contains("/runs/r249\""), "a hundred are shown");
    assert!(home.contains("href=\"/?before=r250\"") && home.contains("250 in all"), "{home}");
    let last = server.get("/?before=r102").await.text().await.unwrap();
    assert!(last.contains("/runs/r101") && !last.contains("/runs/r102\"") && !last.contains("Older"));
    server.end().await;
}
