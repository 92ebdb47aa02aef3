//! Bad input at every door: plans, REST, the agents' link.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use volley_e2e::{Coordinator, Fleet, Reply, Server, volley};
use volley_plan::link::{FromAgent, Hello, Incarnation, ToAgent};

use crate::play;

#[test]
fn a_run_without_an_agent_says_how_to_add_one() {
    let coordinator = Coordinator::start();
    let plan = "target: http://127.0.0.1:1/\nusers: 1\nrequests: 1\n";
    let command = format!("volley agent --coordinator {}", coordinator.agents_address);
    let (status, body) = coordinator.api().post("/api/v1/runs", "application/yaml", plan);
    assert!(status == 503 && body.contains(&command), "{status} {body}");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("plan.yaml");
    fs::write(&file, plan).expect("the plan can be written");
    let file = file.to_str().expect("a path in UTF-8");
    let outcome = volley(&["run", file, "--coordinator", &coordinator.url]).exited(3);
    assert!(outcome.stderr.contains(&command), "{outcome:?}");
    coordinator.goodbye();
    let outcome = volley(&["run", file, "--coordinator", "http://127.0.0.1:1"]).exited(3);
    assert!(outcome.stderr.contains("127.0.0.1:1 can't be reached"), "{outcome:?}");
}

#[test]
fn a_run_waits_for_its_agents_where_the_plan_says_so() {
    let coordinator = Coordinator::start();
    let server = Server::start(|_| Reply::ok("hello"));
    let plan = |wait| {
        format!("target: {}\nusers: 2\nrequests: 10\nagents: {{ min: 2, wait: {wait} }}\n", server.url("/"))
    };
    let api = coordinator.api();
    let id = api.start(&plan("60s"));
    let _one = coordinator.agent("one");
    assert_eq!(api.run(&id).text("state"), "gathering");
    let _two = coordinator.agent("two");
    let report = api.finished(&id).checked();
    assert_eq!((server.requests(), report.count("ok"), report.agents().len()), (10, 10, 2));
    drop(_two);
    // The rest of what was asked for never comes.
    let begun = Instant::now();
    let report = api.play(&plan("500ms"));
    assert_eq!(
        (report.text("verdict"), report.text("stop_reason")),
        ("invalid", "could_not_run"),
        "{report:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(server.requests(), 10);
}

/// Joins as an agent would that speaks another version of the vocabulary.
fn join_with_protocol(agents_address: &str, protocol: u32) -> ToAgent {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let url = format!("http://{agents_address}");
        let endpoint = tonic::transport::Endpoint::from_shared(url).expect("a URL");
        let channel = endpoint.connect().await.expect("a connection");
        let hello = Hello {
            protocol,
            version: "9.9.9".to_owned(),
            incarnation: Incarnation(99),
            name: "stranger".to_owned(),
            workers: 1,
            labels: BTreeMap::new(),
            weight: None,
            capacity: None,
        };
        // The stream stays open: it is the coordinator that must end it.
        let (to, outgoing) = tokio::sync::mpsc::channel(1);
        to.send(volley_proto::v1::FromAgent::from(FromAgent::Join(hello))).await.expect("room for a message");
        let outgoing = tokio_stream::wrappers::ReceiverStream::new(outgoing);
        let mut answers =
            volley_proto::client(channel).attach(outgoing).await.expect("an answer").into_inner();
        let answer = answers.message().await.expect("a message").expect("a first message");
        ToAgent::try_from(answer).expect("a message that this version knows")
    })
}

#[test]
fn case_50_an_agent_of_another_version_is_refused() {
    let fleet = Fleet::start(1);
    let answer = join_with_protocol(&fleet.coordinator.agents_address, 99);
    let ToAgent::Refused { reason } = answer else { panic!("{answer:?}") };
    let ours = volley_plan::link::PROTOCOL.to_string();
    assert!(reason.contains("99") && reason.contains(&ours) && reason.contains("9.9.9"), "{reason}");
    // The others don't notice.
    let server = Server::start(|_| Reply::ok("hello"));
    let report = play(&fleet.api(), 1, &format!("target: {}\nusers: 1\nrequests: 5\n", server.url("/")));
    assert_eq!((report.count("ok"), fleet.api().agents().len()), (5, 1));
}

#[test]
fn addresses_that_others_could_reach_are_refused() {
    let outcome = volley(&["coordinator", "--http", "0.0.0.0:0"]).exited(2);
    assert!(outcome.stderr.contains("0.0.0.0"), "{outcome:?}");
    let outcome = volley(&["agent", "--coordinator", "not an address"]).exited(2);
    assert!(outcome.stderr.contains("not an address"), "{outcome:?}");
}
