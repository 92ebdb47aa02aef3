//! The agents link over real sockets.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Streaming};
use volley_plan::link::{FromAgent, Incarnation, Order, Report, ToAgent};
use volley_proto::{Token, v1};
use volley_stats::SealedWindow;

use crate::testing::{Server, hello, new_run, window};

/// An agent's end of the wire.
struct Wire {
    to: mpsc::Sender<v1::FromAgent>,
    from: Streaming<v1::ToAgent>,
}

async fn dial(server: &Server) -> Channel {
    Endpoint::from_shared(format!("http://{}", server.agents)).unwrap().connect().await.unwrap()
}

async fn join(server: &Server, incarnation: u64) -> Wire {
    let (to, outgoing) = mpsc::channel(8);
    let attached =
        volley_proto::client(dial(server).await).attach(ReceiverStream::new(outgoing)).await.unwrap();
    let mut wire = Wire { to, from: attached.into_inner() };
    wire.send(FromAgent::Join(hello(Incarnation(incarnation), "a"))).await;
    assert_eq!(wire.next().await, ToAgent::Welcome);
    wire
}

fn ping() -> FromAgent {
    FromAgent::Ping { sent_ns: 5, round_trip: None, progress: None, leaving: false }
}

impl Wire {
    async fn send(&self, message: FromAgent) {
        self.to.send(message.into()).await.unwrap();
    }

    async fn next(&mut self) -> ToAgent {
        self.from
            .message()
            .await
            .unwrap()
            .expect("the coordinator has ended the connection")
            .try_into()
            .unwrap()
    }

    async fn order(&mut self) -> Order {
        loop {
            if let ToAgent::Order { order, .. } = self.next().await {
                return order;
            }
        }
    }
}

#[tokio::test]
async fn a_run_goes_over_the_wire() {
    let server = Server::start().await;
    let mut wire = join(&server, 1).await;
    wire.send(ping()).await;
    assert!(matches!(wire.next().await, ToAgent::Pong { sent_ns: 5, lease: None, .. }));
    let run = server.coordinator.start_run(new_run("users: 10\nrequests: 10")).await.unwrap();
    assert!(matches!(wire.order().await, Order::Prepare { .. }));
    wire.send(FromAgent::Report { run: run.clone(), of: None, report: Report::Ready }).await;
    assert_eq!(wire.order().await, Order::Grant { from: 0, to: 10, last: true });
    assert!(matches!(wire.order().await, Order::Start { .. }));
    let window = SealedWindow::of(&window(0, 7, 3));
    let report = Report::Window { sequence: 1, window, last: true };
    wire.send(FromAgent::Report { run: run.clone(), of: None, report }).await;
    assert_eq!(wire.next().await, ToAgent::Acknowledge { run: run.clone(), of: None, sequence: 1 });
    assert_eq!(wire.order().await, Order::Release);
    let document = server.coordinator.wait(&run, Duration::from_secs(10)).await.unwrap();
    assert_eq!((document.progress.whole.ok, document.progress.whole.failed), (7, 3));
    server.end().await;
}

#[tokio::test]
async fn what_cannot_be_understood_ends_its_own_stream_by_name() {
    let server = Server::start().await;
    let mut good = join(&server, 1).await;
    let mut bad = join(&server, 2).await;
    bad.to.send(v1::FromAgent { message: None }).await.unwrap();
    let status = loop {
        match bad.from.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream must end with a status"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("FromAgent.message"), "{status}");
    good.send(ping()).await;
    assert!(matches!(good.next().await, ToAgent::Pong { .. }), "others are unaffected");
    server.end().await;
}

#[tokio::test]
async fn a_message_beyond_the_bound_ends_its_own_stream() {
    let server = Server::start().await;
    let mut wire = join(&server, 1).await;
    let mut greeting = v1::FromAgent::from(FromAgent::Join(hello(Incarnation(2), "b")));
    if let Some(v1::from_agent::Message::Join(hello)) = &mut greeting.message {
        hello.name = "n".repeat(volley_proto::limits::MAX_MESSAGE_BYTES + 1);
    }
    // The client's own bound is as large, so the message is sent past it by hand.
    let (to, outgoing) = mpsc::channel(8);
    let mut client = volley_proto::FleetClient::new(dial(&server).await);
    let attached = client.attach(ReceiverStream::new(outgoing)).await.unwrap();
    to.send(greeting).await.unwrap();
    let mut from = attached.into_inner();
    assert_eq!(from.message().await.unwrap_err().code(), Code::OutOfRange);
    wire.send(ping()).await;
    assert!(matches!(wire.next().await, ToAgent::Pong { .. }));
    server.end().await;
}

#[tokio::test]
async fn an_agent_that_ends_its_connection_is_gone() {
    let server = Server::start().await;
    let wire = join(&server, 1).await;
    assert_eq!(server.coordinator.shared.agents()[0].state, "idle");
    drop(wire);
    server.has_agent_in("gone").await;
    server.end().await;
}

#[tokio::test]
async fn an_agent_without_the_token_is_turned_away() {
    let token = Token::new("a-token-of-this-test").unwrap();
    let server = Server::guarded(token.clone()).await;
    let attach = async |shown: Option<&Token>| {
        let (to, outgoing) = mpsc::channel(8);
        let mut request = Request::new(ReceiverStream::new(outgoing));
        if let Some(token) = shown {
            token.show(request.metadata_mut());
        }
        to.send(FromAgent::Join(hello(Incarnation(1), "a")).into()).await.unwrap();
        let attached = volley_proto::client(dial(&server).await).attach(request).await;
        (to, attached.map(tonic::Response::into_inner))
    };
    for shown in [None, Some(&Token::new("another-token-of-it").unwrap())] {
        let (_to, attached) = attach(shown).await;
        assert_eq!(attached.unwrap_err().code(), Code::Unauthenticated);
    }
    let (_to, attached) = attach(Some(&token)).await;
    let welcome = attached.unwrap().message().await.unwrap().unwrap();
    assert_eq!(ToAgent::try_from(welcome).unwrap(), ToAgent::Welcome);
    server.end().await;
}
