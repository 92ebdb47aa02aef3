//! What is let in with a token, over real sockets.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::header::{AUTHORIZATION, COOKIE, LOCATION, ORIGIN, SET_COOKIE, WWW_AUTHENTICATE};
use reqwest::{Method, Response};
use tonic::metadata::MetadataMap;

use volley_plan::AllowList;

use super::*;
use crate::Settings;
use crate::testing::{Server, json};

const TOKEN: &str = "a-token-of-this-test";

fn token() -> Token {
    Token::new(TOKEN).unwrap()
}

#[test]
fn a_gate_without_a_token_stands_open() {
    let gate = Gate::default();
    assert!(gate.is_open());
    assert_eq!(gate.check(&HeaderMap::new(), 0), Ok(()));
    assert!(gate.admit_call(&MetadataMap::new()).is_ok());
}

#[test]
fn a_bearer_goes_before_a_session_and_nothing_else_does() {
    let gate = Gate::new(Some(token()));
    let check = |lines: &[(&str, &str)], expected: Result<(), Refused>| {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.insert(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        assert_eq!(gate.check(&headers, 1_000), expected, "{lines:?}");
    };
    let session = format!("volley_session={}", session::make(&token(), 1, 1_000));
    let bearer = format!("Bearer {TOKEN}");
    check(&[], Err(Refused::Nothing));
    check(&[("authorization", &bearer)], Ok(()));
    check(&[("authorization", "Bearer another-token-of-it")], Err(Refused::Wrong));
    check(&[("cookie", &session)], Ok(()));
    check(&[("cookie", "volley_session=x")], Err(Refused::Wrong));
    check(&[("cookie", "other=x")], Err(Refused::Nothing));
    check(&[("authorization", "Bearer another-token-of-it"), ("cookie", &session)], Err(Refused::Wrong));
    // What a proxy before us has asked for.
    check(&[("authorization", "Basic eDp5"), ("cookie", &session)], Ok(()));
    check(&[("authorization", "Basic eDp5")], Err(Refused::Nothing));
}

#[test]
fn an_agent_shows_the_token_or_is_told_to() {
    let gate = Gate::new(Some(token()));
    let check = |shown: Option<Token>, expected: Option<&str>| {
        let mut metadata = MetadataMap::new();
        if let Some(token) = &shown {
            token.show(&mut metadata);
        }
        let refused = gate.admit_call(&metadata).err();
        match (&refused, expected) {
            (None, None) => {}
            (Some(status), Some(part)) => {
                assert_eq!(status.code(), tonic::Code::Unauthenticated);
                assert!(
                    status.message().contains(part) && status.message().contains("--token-file"),
                    "{status}"
                );
            }
            _ => panic!("{shown:?}: {refused:?}"),
        }
    };
    check(Some(token()), None);
    check(Some(Token::new("another-token-of-it").unwrap()), Some("shows another"));
    check(None, Some("shows none"));
}

/// The answer to a request with these headers.
async fn ask(server: &Server, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let request = server.request(method, path).body(body.to_owned());
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap()
}

#[tokio::test]
async fn case_18_nothing_is_told_without_the_token() {
    let server = Server::guarded(token()).await;
    let bearer = format!("Bearer {TOKEN}");
    for path in ["/api/v1/runs", "/api/v1/agents", "/api/v1/runs/x/stream", "/api/v1/nothing", "/agents"] {
        let refused = ask(&server, Method::GET, path, &[], "").await;
        assert_eq!(refused.status(), 401, "{path}");
        assert!(refused.headers()[WWW_AUTHENTICATE].to_str().unwrap().starts_with("Bearer"), "{path}");
        assert!(json(refused).await["detail"].as_str().unwrap().contains("Bearer"), "{path}");
        let wrong = ask(&server, Method::GET, path, &[("authorization", "Bearer x")], "").await;
        assert_eq!(wrong.status(), 401, "{path}");
        let told = ask(&server, Method::GET, path, &[("authorization", &bearer)], "").await;
        assert_ne!(told.status(), 401, "{path}");
    }
    for path in ["/healthz", "/readyz", "/version", "/api/v1/healthz", "/login"] {
        assert_eq!(ask(&server, Method::GET, path, &[], "").await.status(), 200, "{path}");
    }
    let asset = volley_web::assets()[0].path;
    assert_eq!(ask(&server, Method::GET, asset, &[], "").await.status(), 200);
    for (method, path) in
        [(Method::POST, "/api/v1/runs"), (Method::POST, "/runs"), (Method::PATCH, "/api/v1/agents/1")]
    {
        assert_eq!(ask(&server, method, path, &[], "users: 1").await.status(), 401, "{path}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_person_logs_in_and_out() {
    let server = Server::guarded(token()).await;
    let page = [("accept", "text/html")];
    let asked = ask(&server, Method::GET, "/runs/a-1?span=3-4", &page, "").await;
    assert_eq!(asked.status(), 401);
    let html = asked.text().await.unwrap();
    assert!(
        html.contains("/login?to=%2Fruns%2Fa-1%3Fspan%3D3-4") && html.contains("name=\"token\""),
        "{html}"
    );

    let form = [("content-type", "application/x-www-form-urlencoded")];
    let wrong = ask(&server, Method::POST, "/login", &form, "token=wrong&to=%2Fagents").await;
    assert_eq!(wrong.status(), 403);
    assert!(wrong.headers().get(SET_COOKIE).is_none());

    let entered = ask(&server, Method::POST, "/login", &form, &format!("token={TOKEN}&to=%2Fagents")).await;
    assert_eq!((entered.status().as_u16(), entered.headers()[LOCATION].as_bytes()), (303, &b"/agents"[..]));
    let cookie = entered.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN),
        "{cookie}"
    );
    let session = cookie.split(';').next().unwrap();
    let known = [("accept", "text/html"), (COOKIE.as_str(), session)];
    assert_eq!(ask(&server, Method::GET, "/agents", &known, "").await.status(), 200);
    let led_on = ask(&server, Method::GET, "/login?to=%2Fagents", &known, "").await;
    assert_eq!(led_on.headers()[LOCATION], "/agents");

    let left = ask(&server, Method::POST, "/logout", &known, "").await;
    assert!(left.headers()[SET_COOKIE].to_str().unwrap().starts_with("volley_session=; Path=/; Max-Age=0"));
    server.end().await;
}

#[tokio::test]
async fn a_stranger_can_make_nobody_hold_much() {
    let server = Server::guarded(token()).await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let check = async |bytes: usize, status: u16| {
        let body = format!("token={}", "x".repeat(bytes));
        assert_eq!(ask(&server, Method::POST, "/login", &form, &body).await.status(), status, "{bytes}");
    };
    check(4_000, 403).await;
    check(5_000, 413).await;
    let check = async |bytes: usize, status: u16| {
        let head = [("x-much", &*"x".repeat(bytes))];
        assert_eq!(ask(&server, Method::GET, "/healthz", &head, "").await.status(), status, "{bytes}");
    };
    check(50_000, 200).await;
    check(100_000, 431).await;
    let bearer = format!("Bearer {TOKEN}");
    let plan = "#".repeat(1 << 20);
    let known = [(AUTHORIZATION.as_str(), bearer.as_str())];
    assert_eq!(ask(&server, Method::POST, "/api/v1/runs", &known, &plan).await.status(), 422, "it was read");
    server.end().await;
}

#[tokio::test]
async fn with_a_token_any_host_may_be_named_and_other_sites_still_change_nothing() {
    let server = Server::guarded(token()).await;
    let bearer = format!("Bearer {TOKEN}");
    let named = |origin: &'static str| {
        vec![("host", "load.internal"), (AUTHORIZATION.as_str(), bearer.as_str()), (ORIGIN.as_str(), origin)]
    };
    for (origin, status) in
        [("https://load.internal", 422), ("http://load.internal", 422), ("https://evil.test", 403)]
    {
        let answer = ask(&server, Method::POST, "/api/v1/runs", &named(origin), "users: 1").await;
        assert_eq!(answer.status(), status, "{origin}");
    }
    server.end().await;
}

#[tokio::test]
async fn only_targets_of_the_list_are_loaded_and_only_so_hard() {
    let list = AllowList::parse(["127.0.0.1:1 max 100/s", "shop.test"]).unwrap();
    let settings = Settings { allow: Arc::new(list), ..Settings::default() };
    let server = Server::with(settings).await.and_agent().await;
    let post = async |plan: &str| {
        let answer = server.post("/api/v1/runs", plan.to_owned()).await;
        (answer.status().as_u16(), answer.headers().get(LOCATION).cloned(), json(answer).await)
    };
    let check = async |plan: &str, part: &str| {
        let (status, _, said) = post(plan).await;
        assert_eq!(status, 403, "{plan}: {said}");
        assert!(said["detail"].as_str().unwrap().contains(part), "{plan}: {said}");
    };
    check("target: http://127.0.0.1:2/\nrate: 10/s\nduration: 60s", "127.0.0.1:2").await;
    check("target: http://127.0.0.1:1/\nrate: 101/s\nduration: 60s", "100/s").await;
    check("target: http://127.0.0.1:1/\nusers: 1\nduration: 60s", "users can't be held").await;
    check("target: http://169.254.169.254/\nrate: 1/s\nduration: 60s", "metadata").await;
    let (status, location, said) = post("target: http://127.0.0.1:1/\nrate: 10/s\nduration: 60s").await;
    assert_eq!(status, 201, "{said}");
    let run = location.unwrap().to_str().unwrap().to_owned();
    let adjusted = server.post(&format!("{run}/adjust"), r#"{"rate": "101/s"}"#).await;
    assert_eq!(adjusted.status(), 403);
    server.post(&format!("{run}/stop"), "").await;
    server.end().await;
}

#[tokio::test]
async fn a_name_is_held_against_the_list_where_it_leads() {
    let check = async |rules: &[&str], plan: &str, status: u16, part: &str| {
        let list = AllowList::parse(rules).unwrap();
        let server =
            Server::with(Settings { allow: Arc::new(list), ..Settings::default() }).await.and_agent().await;
        let answer = server.post("/api/v1/runs", plan.to_owned()).await;
        assert_eq!(answer.status(), status, "{rules:?}");
        let location = answer.headers().get(LOCATION).cloned();
        let said = json(answer).await.to_string();
        assert!(said.contains(part), "{said}");
        (server, location.map(|location| location.to_str().unwrap().to_owned()))
    };
    let plan = "target: http://localhost:1/\nrate: 10/s\nduration: 60s";
    let (server, _) = check(&["10.0.0.0/8"], plan, 403, "localhost:1 leads to ").await;
    server.end().await;
    // One that no name server knows.
    let unknown = plan.replace("localhost", "no-such-host.invalid");
    let (server, _) = check(&["10.0.0.0/8"], &unknown, 403, "where it leads can't be told").await;
    server.end().await;
    let bounded = ["127.0.0.0/8 max 100/s", "[::1] max 100/s", "10.0.0.0/8"];
    let (server, run) = check(&bounded, plan, 201, "").await;
    let run = run.unwrap();
    server.is_running(&run).await;
    let adjusted = server.post(&format!("{run}/adjust"), r#"{"rate": "101/s"}"#).await;
    assert_eq!(adjusted.status(), 403);
    let adjusted = server.post(&format!("{run}/adjust"), r#"{"rate": "100/s"}"#).await;
    assert_eq!(adjusted.status(), 202);
    server.post(&format!("{run}/stop"), "").await;
    server.end().await;
}
