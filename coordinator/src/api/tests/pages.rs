//! The pages over real sockets: what their forms change, and what they show of it.

use form_urlencoded::Serializer;
use reqwest::header::LOCATION;
use reqwest::{Method, Response};
use serde_json::{Value, json as value};

use crate::testing::{Server, json};

const PLAN: &str = "target: http://127.0.0.1:1/\nusers: 1\nrequests: 10\nname: inner\n";

async fn send(server: &Server, path: &str, fields: &[(&str, &str)]) -> Response {
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = server.request(Method::POST, path);
    request.header("content-type", "application/x-www-form-urlencoded").body(body).send().await.unwrap()
}

/// Sends a form that is taken, and gives where it leads.
async fn taken(server: &Server, path: &str, fields: &[(&str, &str)]) -> String {
    let response = send(server, path, fields).await;
    assert_eq!(response.status().as_u16(), 303, "{path}: {}", response.text().await.unwrap());
    response.headers()[LOCATION].to_str().unwrap().to_owned()
}

/// Sends a form that is refused, and checks what the page says then.
async fn refused(server: &Server, path: &str, fields: &[(&str, &str)], status: u16, says: &[&str]) {
    let response = send(server, path, fields).await;
    let found = response.status().as_u16();
    let html = response.text().await.unwrap();
    assert_eq!(found, status, "{path}: {html}");
    for text in says {
        assert!(html.contains(text), "{text} is missing in\n{html}");
    }
}

async fn page(server: &Server, path: &str, says: &[&str], says_not: &[&str]) {
    let html = server.get(path).await.text().await.unwrap();
    for text in says {
        assert!(html.contains(text), "{text} is missing in {path}:\n{html}");
    }
    for text in says_not {
        assert!(!html.contains(text), "{text} is in {path}:\n{html}");
    }
}

#[tokio::test]
async fn a_page_tells_the_seconds_that_its_address_names() {
    let server = Server::with_agent().await;
    let api = server.run("rate: 10/s\nduration: 6s").await;
    json(server.get(&format!("{api}?wait=60s")).await).await;
    let path = api.replace("/api/v1", "");
    let says = ["Numbers are of 2 s to 4 s.", "20 started; ended: 20 ok + 0 failed", "value=\"2\"", "2–4 s"];
    page(&server, &format!("{path}?from=2&to=4"), &says, &["60 started = 60 ok"]).await;
    page(&server, &path, &["60 started = 60 ok + 0 failed"], &["Numbers are of 2 s"]).await;
    for query in ["from=4&to=2", "from=x&to=2"] {
        let response = server.get(&format!("{path}?{query}")).await;
        assert_eq!(response.status().as_u16(), 400, "{query}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_run_is_noted_found_run_again_and_deleted() {
    let server = Server::with_agent().await;
    let api = server.run("users: 1\nrequests: 10\nname: first").await;
    json(server.get(&format!("{api}?wait=60s")).await).await;
    let path = api.replace("/api/v1", "");
    let fields = [("note", "after <b>the</b> fix"), ("labels", "zone=eu, branch=x=y")];
    assert_eq!(taken(&server, &format!("{path}/note"), &fields).await, path);
    let says = ["after &#60;b&#62;the", "zone=eu</a>", "value=\"branch=x=y, zone=eu\""];
    page(&server, &path, &says, &["<b>the"]).await;
    refused(&server, &format!("{path}/note"), &[("labels", "zone")], 422, &["KEY=VALUE"]).await;
    let again = taken(&server, &format!("{path}/again"), &[]).await;
    assert_ne!(again, path);
    let of_again = json(server.get(&format!("/api/v1{again}?wait=60s")).await).await;
    let found = value!([of_again["name"], of_again["note"], of_again["labels"]]);
    assert_eq!(found, value!(["first", null, { "branch": "x=y", "zone": "eu" }]));
    page(&server, "/?label=zone%3Deu&state=finished", &[&path, &again], &[]).await;
    page(&server, "/?plan=first", &[&path, &again, "name=\"plan\" value=\"first\""], &[]).await;
    page(&server, "/?label=zone%3Dus", &["No run is like that"], &[&path]).await;
    page(&server, "/?label=zone", &["expected KEY=VALUE", "value=\"zone\""], &[&path]).await;
    assert_eq!(taken(&server, &format!("{path}/delete"), &[]).await, "/");
    page(&server, "/", &[&again], &[&format!("{path}\"")]).await;
    assert_eq!(server.get(&path).await.status().as_u16(), 404);
    server.end().await;
}

#[tokio::test]
async fn a_run_that_goes_on_is_not_deleted() {
    let server = Server::with_agent().await;
    let api = server.run("users: 1\nduration: 60s").await;
    let path = api.replace("/api/v1", "");
    refused(&server, &format!("{path}/delete"), &[], 409, &["it is to be stopped first"]).await;
    assert_eq!(taken(&server, &format!("{path}/stop"), &[]).await, path);
    server.end().await;
}

#[tokio::test]
async fn plans_are_saved_compared_run_and_removed() {
    let server = Server::with_agent().await;
    page(&server, "/plans", &["No plan is kept yet", "curl -T plan.yaml http://127.0.0.1:"], &[]).await;
    let typed = PLAN.replace('\n', "\r\n");
    assert_eq!(taken(&server, "/plans", &[("name", "checkout"), ("text", &typed)]).await, "/plans/checkout");
    let text = server.get("/api/v1/plans/checkout").await.text().await.unwrap();
    assert_eq!(text, PLAN, "line ends are those of a file");
    let other = PLAN.replace("10", "20");
    let fields = [("version", "1"), ("text", &other)];
    assert_eq!(taken(&server, "/plans/checkout", &fields).await, "/plans/checkout");
    let says = ["requests: 20\nname: inner\n</textarea>", "1 user closed, 20 requests", "Run version 2"];
    page(&server, "/plans/checkout", &says, &["id=\"changes\""]).await;
    let says = ["from version 1 to version 2: 1 line added, 1 removed", "<code>requests: 20</code>"];
    page(&server, "/plans/checkout?version=2&against=1", &says, &[]).await;
    let run = taken(&server, "/plans/checkout/run", &[("version", "1")]).await;
    let document = json(server.get(&format!("/api/v1{run}?wait=60s")).await).await;
    assert_eq!(document["library"], value!({ "name": "checkout", "version": 1 }));
    page(&server, &run, &["<a href=\"/plans/checkout?version=1\">checkout, version 1</a>"], &[]).await;
    page(&server, "/plans", &[&run, "title=\"version 1, ", "1 user closed, 20 requests"], &[]).await;
    page(&server, "/plans/checkout", &[&run], &["It has not been run yet"]).await;
    assert_eq!(taken(&server, "/plans/checkout/delete", &[("version", "2")]).await, "/plans");
    assert_eq!(server.get("/plans/checkout").await.status().as_u16(), 404);
    page(&server, &run, &["checkout, version 1"], &[]).await;
    server.end().await;
}

#[tokio::test]
async fn what_cannot_be_saved_stays_in_the_editor_with_the_reason() {
    let server = Server::start().await;
    let faulty = "target: http://127.0.0.1:1/\nusers: 0\nduration: 1\n";
    let says =
        ["Nothing was saved:", "<code>2:8 users</code>", "<code>3:11 duration</code>", "duration: 1\n<"];
    refused(&server, "/plans", &[("name", "checkout"), ("text", faulty)], 422, &says).await;
    let says = ["a plan&#39;s name is 1 to 100", "value=\"a b\""];
    refused(&server, "/plans", &[("name", "a b"), ("text", PLAN)], 400, &says).await;
    taken(&server, "/plans", &[("name", "checkout"), ("text", PLAN)]).await;
    let again = [("name", "checkout"), ("text", PLAN)];
    refused(&server, "/plans", &again, 409, &["there is a plan checkout already"]).await;
    let fields = [("version", "1"), ("text", faulty)];
    refused(&server, "/plans/checkout", &fields, 422, &["Nothing was done:", "2:8 users", "users: 0\n"])
        .await;
    let versions = json(server.get("/api/v1/plans/checkout/versions").await).await;
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(1));
    refused(&server, "/plans/checkout/run", &[], 503, &["Nothing was done:"]).await;
    server.end().await;
}

#[tokio::test]
async fn whoever_was_overtaken_is_told_and_overwrites_knowingly() {
    let server = Server::start().await;
    let [theirs, mine] = ["20", "30"].map(|count| PLAN.replace("10", count));
    taken(&server, "/plans", &[("name", "checkout"), ("text", PLAN)]).await;
    taken(&server, "/plans/checkout", &[("version", "1"), ("text", &theirs)]).await;
    let says = [
        "Somebody else has saved version 2 meanwhile.",
        "requests: 30\nname: inner\n</textarea>",
        "from version 2 to what you typed: 1 line added, 1 removed",
        "<input type=\"hidden\" name=\"version\" value=\"2\">\n<textarea",
    ];
    refused(&server, "/plans/checkout", &[("version", "1"), ("text", &mine)], 412, &says).await;
    taken(&server, "/plans/checkout", &[("version", "2"), ("text", &mine)]).await;
    assert_eq!(server.get("/api/v1/plans/checkout").await.text().await.unwrap(), mine);
    refused(&server, "/plans/checkout/delete", &[("version", "2")], 412, &["by now"]).await;
    let list = json(server.get("/api/v1/plans").await).await;
    assert_eq!(list["plans"][0]["version"], Value::from(3));
    server.end().await;
}
