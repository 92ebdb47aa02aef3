//! What the event stream says, resumes and ends with.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response as Answer;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use reqwest::{Method, Response as Received};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower::ServiceExt as _;
use volley_lifecycle::{Run, Settings};
use volley_plan::link::RunId;

use super::*;
use crate::api::{guarded, router};
use crate::live::{Head, Live};
use crate::store::SharedSeries;
use crate::testing::{Server, coordinator, json, new_run, plan};

/// Reads a stream to its end: (id, event, data) of each.
async fn events(mut response: Received) -> Vec<(u64, String, Value)> {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default().to_owned()
    };
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    blocks
        .map(|block| {
            let data = serde_json::from_str(&field(block, "data")).unwrap();
            (field(block, "id").parse().unwrap(), field(block, "event"), data)
        })
        .collect()
}

#[tokio::test]
async fn the_stream_tells_all_resumes_and_ends() {
    let server = Server::with_agent().await;
    let path = server.run("users: 1\nduration: 2s").await;
    let stream = format!("{path}/stream");
    // One reader from the start, while the run goes on; and one after its end.
    let live = events(server.get(&stream).await).await;
    let late = events(server.get(&stream).await).await;
    for seen in [&live, &late] {
        assert_eq!(
            seen.last().map(|(_, event, data)| (event.as_str(), data.clone())),
            Some(("end", serde_json::json!({})))
        );
        assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "ids rise");
        let ticks: Vec<_> = seen.iter().filter(|(_, event, _)| event == "tick").collect();
        let seconds: Vec<_> = ticks.iter().map(|(_, _, tick)| tick["second"].as_u64().unwrap()).collect();
        assert!(seconds.contains(&0) && seconds.contains(&1), "{seconds:?}");
        let last_state =
            seen.iter().rev().find(|(_, event, _)| event == "state").map(|(_, _, data)| data).unwrap();
        assert_eq!((&last_state["state"], &last_state["over"]), (&"finished".into(), &true.into()));
        assert_eq!(
            last_state["whole"]["ok"],
            ticks
                .iter()
                .filter(|(_, _, t)| t["complete"] == true)
                .map(|(_, _, t)| (t["second"].as_u64().unwrap(), t["ok"].as_u64().unwrap()))
                .collect::<BTreeMap<_, _>>()
                .values()
                .sum::<u64>()
        );
        assert!(
            seen.iter()
                .any(|(_, event, data)| event == "log" && data["text"].as_str().unwrap().contains("started"))
        );
    }
    let middle = late[late.len() / 2].0;
    let resume = |id: String| server.request(Method::GET, &stream).header("last-event-id", id).send();
    let rest = events(resume(middle.to_string()).await.unwrap()).await;
    assert_eq!(rest, late[late.len() / 2 + 1..]);
    assert_eq!(events(resume("nonsense".to_owned()).await.unwrap()).await, late);
    let done = resume(late.last().unwrap().0.to_string()).await.unwrap();
    assert_eq!(done.status(), StatusCode::NO_CONTENT);
    server.end().await;
}

/// An answer of the routes themselves, without sockets.
async fn answer(state: &AppState, path: &str) -> Answer {
    let gate = Arc::new(crate::access::Gate::new(None));
    let router = guarded(router().merge(crate::pages::router()), state.clone(), gate);
    let request = Request::get(path).header("host", "localhost");
    router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_says_that_it_is_there() {
    let (id, plan) = (RunId::new("r").unwrap(), Arc::new(plan("users: 1\nrequests: 1")));
    let (run, _) = Run::new(0, id.clone(), plan.clone(), 0, Settings::default(), Vec::new());
    let head = Head::new(id, plan, None, crate::document::Marks::default(), (Timestamp::UNIX_EPOCH, 0));
    // Nobody drives this run, so nothing is published of it.
    let live = Arc::new(Live::new(head, run, SharedSeries::default()));
    let closing = watch::Sender::new(false);
    let reader = Reader {
        changes: live.feed().changes(),
        feed: live.feed().clone(),
        closing: closing.subscribe(),
        last: 0,
        batch: VecDeque::new(),
        _permit: Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap(),
    };
    let mut chunks = respond(reader).into_body().into_data_stream();
    for rounds in 1..=3 {
        let begun = Instant::now();
        assert_eq!(chunks.next().await.unwrap().unwrap(), ":\n\n", "comment {rounds}");
        assert_eq!(begun.elapsed().as_secs(), 15);
    }
    closing.send_replace(true);
    assert!(chunks.next().await.is_none(), "it ends with the coordinator");
}

#[tokio::test]
async fn streams_are_bounded() {
    let coordinator = coordinator();
    let closing = watch::Sender::new(false);
    let state = AppState::new(coordinator.clone(), closing.subscribe(), 3);
    let waits = new_run("users: 1\nrequests: 1\nagents: { wait: 10m }");
    let run = coordinator.start_run(waits).await.unwrap();
    let path = format!("/api/v1/runs/{run}/stream");
    let body = answer(&state, &path).await.into_body();
    let held = state.streams.clone().acquire_many_owned(2).await.unwrap();
    assert_eq!(answer(&state, &path).await.status(), 503);
    drop((held, body));
    assert_eq!(answer(&state, &path).await.status(), 200, "a place is free again");
}

#[tokio::test]
async fn shutting_down_stops_runs_and_ends_streams() {
    let server = Server::with_agent().await;
    for path in ["/healthz", "/readyz", "/version", "/api/v1/healthz"] {
        assert_eq!(server.get(path).await.status(), StatusCode::OK, "{path}");
    }
    let path = server.run("users: 1\nduration: 600s").await;
    let stream = tokio::spawn(server.request(Method::GET, &format!("{path}/stream")).send());
    let poll = tokio::spawn(server.request(Method::GET, &format!("{path}?wait=60s")).send());
    let stream = stream.await.unwrap().unwrap();
    let ended = async {
        let seen = events(stream).await;
        let last = json(poll.await.unwrap().unwrap()).await;
        (seen.last().map(|(_, event, _)| event.clone()), last["stop_reason"].clone())
    };
    let (seen, ()) =
        tokio::time::timeout(Duration::from_secs(10), async { tokio::join!(ended, server.end()) })
            .await
            .expect("the end must not wait for streams and polls");
    assert_eq!(seen, (Some("end".to_owned()), "asked".into()));
}
