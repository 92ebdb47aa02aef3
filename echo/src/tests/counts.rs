//! What the server says that it received, held against what was sent.

use std::collections::BTreeMap;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// The body of `GET /stats`, on a connection of its own.
async fn stats_json(target: &Target) -> serde_json::Value {
    let answer = String::from_utf8(target.exchange(get_close("/stats").as_bytes()).await).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{head}");
    serde_json::from_str(body).unwrap()
}

#[tokio::test]
async fn stats_are_served_and_do_not_count_themselves() {
    let target = Target::start().await;
    let upload = "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let sent = get("/") + &get("/bytes/10?x=1") + &get("/bytes/10?x=2") + &get("/status/404") + upload;
    target.exchange(sent.as_bytes()).await;
    stats_json(&target).await;
    let expected = serde_json::json!({
        "connections_accepted": 1,
        "connections_open": 0,
        "requests": 5,
        "requests_malformed": 0,
        "requests_partial": 0,
        "requests_unanswered": 0,
        "requests_in_progress": 0,
        "statuses": { "200": 4, "404": 1 },
        "paths": { "/": 1, "/bytes/10": 2, "/status/404": 1, "/up": 1 },
        "body_bytes_sent": 35,
        "body_bytes_received": 3,
    });
    assert_eq!(stats_json(&target).await, expected);
    assert_eq!(serde_json::from_value::<Snapshot>(expected).unwrap(), target.stop().await);
}

#[tokio::test]
async fn stats_by_other_methods() {
    let target = Target::start().await;
    let of = |method: &str| get("/stats").replace("GET", method);
    target.exchange(get("/").as_bytes()).await;
    let refused = "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\
                   Allow: GET, HEAD, DELETE\r\n\r\n";
    assert_eq!(target.exchange(of("POST").as_bytes()).await, refused.as_bytes());
    let head = String::from_utf8(target.exchange(of("HEAD").as_bytes()).await).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(target.stats.snapshot().requests, 1, "none of these resets");
    assert_eq!(target.exchange(of("DELETE").as_bytes()).await, b"HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(target.stop().await, Snapshot::default());
}

#[tokio::test]
async fn a_connection_counts_from_its_first_request_of_another_kind() {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    let mut request = async |path: &str, accepted_and_open| {
        stream.write_all(get(path).as_bytes()).await.unwrap();
        let mut answer = [0; 4096];
        assert_ne!(stream.read(&mut answer).await.unwrap(), 0);
        let counts = target.stats.snapshot();
        assert_eq!((counts.connections_accepted, counts.connections_open), accepted_and_open, "{path}");
    };
    request("/stats", (0, 0)).await;
    request("/stats", (0, 0)).await;
    request("/", (1, 1)).await;
    request("/stats", (1, 1)).await;
    assert_eq!(target.stop().await.connections_accepted, 1);
}

#[tokio::test]
async fn a_reset_starts_anew() {
    let target = Target::start().await;
    let mut held = target.connect().await;
    let answer = kept("200 OK", "1");
    held.write_all((get("/counter") + &get("/fail/50")).as_bytes()).await.unwrap();
    expect(&mut held, &(answer.clone() + &kept("200 OK", "hello"))).await;
    let mut delayed = target.connect().await;
    // The first is answered, so the second is known to have come with it.
    delayed.write_all((get("/") + &get("/delay/1h")).as_bytes()).await.unwrap();
    expect(&mut delayed, &kept("200 OK", "hello")).await;
    target.stats.reset();
    let open = Snapshot { connections_open: 2, ..Snapshot::default() };
    assert_eq!(target.stats.snapshot(), open);
    // What the connection had cached is looked up anew.
    held.write_all((get("/counter") + &get("/fail/50")).as_bytes()).await.unwrap();
    expect(&mut held, &(answer + &kept("200 OK", "hello"))).await;
    let counts = target.stop().await;
    let paths = BTreeMap::from([("/counter".to_owned(), 1), ("/fail/50".to_owned(), 1)]);
    assert_eq!((counts.paths, counts.requests_unanswered), (paths, 0), "the delayed one was received before");
}

#[tokio::test]
async fn parts_of_requests_are_told_apart() {
    let upload = "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    for (sent, requests, partial) in [
        (String::new(), 0, 0),
        (get("/"), 1, 0),
        (get("/") + "\r\n", 1, 0),
        (get("/") + "G", 1, 1),
        (upload.to_owned(), 1, 0),
        (upload[..upload.len() - 1].to_owned(), 0, 1),
        (upload[..upload.len() - 3].to_owned(), 0, 1),
    ] {
        let target = Target::start().await;
        target.exchange(sent.as_bytes()).await;
        let counts = target.stop().await;
        assert_eq!((counts.requests, counts.requests_partial), (requests, partial), "{sent:?}");
        assert_eq!(counts.connections_accepted, 1, "{sent:?}");
    }
}

#[tokio::test]
async fn an_answer_that_the_client_does_not_take_is_taken_back() {
    let target = Target::start().await;
    let mut stream = target.connect().await;
    stream.write_all((get("/bytes/1000") + &get("/bytes/1073741824")).as_bytes()).await.unwrap();
    let mut read = vec![0; 1_000_000];
    stream.read_exact(&mut read).await.unwrap();
    let counts = target.stats.snapshot();
    assert_eq!((counts.requests, counts.status(200)), (2, 2), "an answer counts while it is sent");
    drop(stream);
    let counts = target.stop().await;
    assert_eq!((counts.requests, counts.answers(), counts.requests_unanswered), (2, 1, 1));
    assert!((999_000..1 << 30).contains(&counts.body_bytes_sent), "{}", counts.body_bytes_sent);
}

#[tokio::test]
async fn a_client_that_leaves_during_a_delay_is_noticed() {
    let target = Target::start().await;
    let answer = target.exchange(get("/delay/1h").as_bytes()).await;
    assert_eq!(answer, b"");
    let counts = target.stats.snapshot();
    assert_eq!((counts.connections_open, counts.requests_in_progress, counts.requests_unanswered), (0, 0, 1));
    target.stop().await;
}

#[tokio::test]
async fn connections_past_the_most_wait() {
    let target = Target::with(Options { connections_max: 2, ..Options::default() }).await;
    let mut streams = [target.connect().await, target.connect().await, target.connect().await];
    for stream in &mut streams {
        stream.write_all(get("/").as_bytes()).await.unwrap();
    }
    let [first, second, third] = &mut streams;
    expect(first, &kept("200 OK", "hello")).await;
    expect(second, &kept("200 OK", "hello")).await;
    assert_eq!(target.stats.snapshot().connections_accepted, 2);
    first.shutdown().await.unwrap();
    expect(third, &kept("200 OK", "hello")).await;
    assert_eq!(target.stop().await.connections_accepted, 3);
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let target = Target::start().await;
    let error = Server::bind(Options::new(target.addr)).await.unwrap_err();
    assert_eq!(error.to_string(), format!("couldn't listen on {}", target.addr));
    target.stop().await;
}

/// One client's part of the load, and what it must add to the counts.
async fn load(addr: SocketAddr, client: u64) -> BTreeMap<String, u64> {
    let mut sent = BTreeMap::new();
    for connection in 0..5 {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        for request in 0..40 {
            let path = format!("/bytes/{}", (client * 7 + connection * 5 + request) % 30 * 1_000);
            stream.write_all(get(&path).as_bytes()).await.unwrap();
            let body = "x".repeat(path[7..].parse().unwrap());
            expect(&mut stream, &kept("200 OK", &body)).await;
            *sent.entry(path).or_default() += 1;
        }
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_clients_are_counted_exactly() {
    let target = Target::start().await;
    let clients: Vec<_> = (0..20).map(|client| tokio::spawn(load(target.addr, client))).collect();
    let mut paths = BTreeMap::new();
    for client in clients {
        for (path, requests) in client.await.unwrap() {
            *paths.entry(path).or_default() += requests;
        }
    }
    // Each client has seen its last answer, so all of it is counted by now.
    let counts = target.stats.snapshot();
    let body_bytes = paths.iter().map(|(path, requests)| path[7..].parse::<u64>().unwrap() * requests).sum();
    assert_eq!((counts.requests, counts.status(200), counts.connections_accepted), (4_000, 4_000, 100));
    assert_eq!((counts.paths, counts.body_bytes_sent), (paths, body_bytes));
    target.stop().await;
}
