//! What may be listened on, and who may keep a connection.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;
use volley_plan::link::{FromAgent, Incarnation};

use super::*;
use crate::testing::{Server, coordinator, hello};

#[tokio::test]
async fn case_18_a_listener_open_to_others_is_not_served() {
    let local = || TcpListener::bind("127.0.0.1:0");
    let open = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = serve(coordinator(), open, local().await.unwrap(), std::future::pending()).await;
    assert!(matches!(refused, Err(ServeError::Bind(_))), "{refused:?}");
}

#[tokio::test]
async fn a_small_router_is_served_until_it_is_dropped() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/healthz", listener.local_addr().unwrap());
    let router = Router::new().route("/healthz", axum::routing::get(|| async { "ok\n" }));
    let served = tokio::spawn(serve_router(listener, router));
    assert_eq!(reqwest::get(&url).await.unwrap().text().await.unwrap(), "ok\n");
    served.abort();
    assert!(served.await.unwrap_err().is_cancelled());
    assert!(reqwest::get(&url).await.is_err());
}

#[tokio::test]
async fn it_is_told_when_all_is_served_and_how_to_add_an_agent() {
    let coordinator = coordinator();
    let served = coordinator.served();
    let mut served = std::pin::pin!(served);
    assert!(timeout(Duration::from_millis(10), &mut served).await.is_err());
    let (http, agents) =
        (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = agents.local_addr().unwrap();
    let serving = tokio::spawn(serve(coordinator.clone(), http, agents, std::future::pending()));
    timeout(Duration::from_secs(20), served).await.expect("it is served");
    assert_eq!(coordinator.shared.add_agent_command(), format!("volley agent --coordinator {address}"));
    serving.abort();
    let elsewhere = crate::testing::coordinator();
    elsewhere.shared.set_agents_address("load.internal:7071".to_owned());
    let command = elsewhere.shared.add_agent_command();
    assert_eq!(command, "volley agent --coordinator load.internal:7071 --allow RULE");
}

#[test]
fn every_address_of_a_host_is_told_by_its_name() {
    assert_eq!(reachable("10.0.0.1:7071".parse().unwrap()), "10.0.0.1:7071");
    let told = reachable("[::]:7071".parse().unwrap());
    assert!(told.ends_with(":7071") && !told.starts_with('['), "{told}");
}

/// Connects so often, and says `first` over each.
async fn silent(address: &str, count: usize, first: &[u8]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(first).await.unwrap();
        streams.push(stream);
    }
    streams
}

/// Waits until the other side has ended all of them.
async fn ended(streams: Vec<TcpStream>) {
    for mut stream in streams {
        let mut said = Vec::new();
        // Reset or closed, as long as it is over.
        let _ = stream.read_to_end(&mut said).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_shut_nobody_out_and_are_cut_off() {
    let server = Server::with_agent().await;
    let http = server.base.trim_start_matches("http://").to_owned();
    let agents = server.agents.to_string();
    let run = server.run("users: 1\nduration: 60s").await;
    let mut ticks = server.get(&format!("{run}/stream")).await;
    let begun = Instant::now();
    let mut streams = silent(&http, 250, b"").await;
    streams.extend(silent(&http, 50, b"GET /healthz HT").await);
    streams.extend(silent(&agents, 100, b"").await);
    streams.extend(silent(&agents, 20, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await);
    for path in ["/healthz", "/api/v1/runs", "/"] {
        let asked = Instant::now();
        assert_eq!(server.get(path).await.status(), 200);
        assert!(asked.elapsed() < Duration::from_secs(2), "{path} after {:?}", asked.elapsed());
    }
    let (to, outgoing) = mpsc::channel(8);
    let endpoint = Endpoint::from_shared(format!("http://{agents}")).unwrap();
    let mut client = volley_proto::client(endpoint.connect().await.unwrap());
    let mut attached = client.attach(ReceiverStream::new(outgoing)).await.unwrap().into_inner();
    to.send(FromAgent::Join(hello(Incarnation(1), "a")).into()).await.unwrap();
    assert!(attached.message().await.unwrap().is_some(), "an agent gets in as well");
    timeout(Duration::from_secs(30), ended(streams)).await.expect("none of them stays");
    assert!(begun.elapsed() >= Duration::from_secs(9), "nor is it cut off at once: {:?}", begun.elapsed());
    // A stream is no idle connection: it says something every second, for longer than a head may take.
    while begun.elapsed() < Duration::from_secs(12) {
        assert!(ticks.chunk().await.unwrap().is_some(), "the stream ended after {:?}", begun.elapsed());
    }
    server.post(&format!("{run}/stop"), "").await;
    server.end().await;
}

#[tokio::test]
async fn one_connection_takes_several_requests() {
    let server = Server::start().await;
    let http = server.base.trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&http).await.unwrap();
    for _ in 0..3 {
        stream.write_all(format!("GET /healthz HTTP/1.1\r\nhost: {http}\r\n\r\n").as_bytes()).await.unwrap();
        let mut said = String::new();
        while !said.ends_with("ok\n") {
            let mut some = [0; 1024];
            let read = stream.read(&mut some).await.unwrap();
            assert!(read > 0, "the connection is kept: {said}");
            said.push_str(std::str::from_utf8(&some[..read]).unwrap());
        }
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    }
    // With the coordinator it ends, and nobody waits for it.
    let begun = Instant::now();
    server.end().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
