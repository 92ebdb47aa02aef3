//! The link over real gRPC on loopback, against a scripted coordinator on port 0.

use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::Stream;
use tokio_stream::wrappers::{TcpListenerStream, UnboundedReceiverStream};
use tonic::{Request, Response, Status, Streaming};
use volley_engine::Event;
use volley_plan::link::{Report, RunId};
use volley_proto::{Fleet, server};

use super::*;
use crate::sealed::sealed;
use crate::testing::{Engines, prepare, run_id, start, window};

/// One connection of an agent, as the script sees it.
struct Attached {
    from_agent: Streaming<v1::FromAgent>,
    to_agent: mpsc::Sender<Result<v1::ToAgent, Status>>,
}

impl Attached {
    async fn next(&mut self) -> FromAgent {
        let message = timeout(Duration::from_secs(20), self.from_agent.message()).await;
        let message = message.expect("the agent speaks in time").expect("the stream is whole");
        message.expect("the agent is there").try_into().expect("the agent speaks well")
    }

    async fn say(&self, message: ToAgent) {
        self.to_agent.send(Ok(message.into())).await.expect("the agent listens");
    }

    async fn welcome(&mut self) -> FromAgent {
        let join = self.next().await;
        self.say(ToAgent::Welcome).await;
        join
    }

    /// Answers pings until one shows this progress.
    async fn acknowledged(&mut self, run: &RunId, number: u64) {
        loop {
            let FromAgent::Ping { sent_ns, progress, .. } = self.next().await else {
                panic!("only pings are expected here")
            };
            self.say(ToAgent::Pong { sent_ns, received_ns: 1, answered_ns: 1, lease: None }).await;
            if progress.is_some_and(|progress| progress.run == *run && progress.acknowledged == number) {
                return;
            }
        }
    }

    /// The next report; pings on the way are answered.
    async fn report(&mut self) -> Report {
        loop {
            match self.next().await {
                FromAgent::Ping { sent_ns, .. } => {
                    self.say(ToAgent::Pong { sent_ns, received_ns: 1, answered_ns: 1, lease: None }).await;
                }
                FromAgent::Report { report, .. } => return report,
                FromAgent::Join(_) => panic!("the agent has joined already"),
            }
        }
    }
}

/// A gRPC service that hands each connection to the test, of an agent that shows the token where there is one.
struct Script {
    connections: mpsc::Sender<Attached>,
    token: Option<Token>,
}

#[tonic::async_trait]
impl Fleet for Script {
    type AttachStream = Pin<Box<dyn Stream<Item = Result<v1::ToAgent, Status>> + Send>>;

    async fn attach(
        &self,
        request: Request<Streaming<v1::FromAgent>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        if self.token.as_ref().is_some_and(|token| !token.is_shown(request.metadata())) {
            return Err(Status::unauthenticated("this coordinator wants a token"));
        }
        let (to_agent, outgoing) = mpsc::channel(16);
        let attached = Attached { from_agent: request.into_inner(), to_agent };
        self.connections.send(attached).await.map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing))))
    }
}

/// A scripted coordinator, listening.
async fn coordinator() -> (SocketAddr, mpsc::Receiver<Attached>) {
    coordinator_with(None).await
}

async fn coordinator_with(token: Option<Token>) -> (SocketAddr, mpsc::Receiver<Attached>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    let (attached, connections) = mpsc::channel(4);
    let script = Script { connections: attached, token };
    let router = tonic::transport::Server::builder().add_service(server(script));
    tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
    (address, connections)
}

/// A link with engines that do what the test says. It ends by two words of the sender.
fn linked(
    address: SocketAddr,
    engines: &Engines,
) -> (UnboundedSender<()>, JoinHandle<Result<(), DialError>>) {
    linked_with(None, address, engines)
}

fn linked_with(
    token: Option<Token>,
    address: SocketAddr,
    engines: &Engines,
) -> (UnboundedSender<()>, JoinHandle<Result<(), DialError>>) {
    let (words, said) = unbounded_channel();
    let coordinator = address.to_string();
    let endpoint = endpoint(&coordinator).expect("a good address");
    let engines = engines.clone();
    let link = Link { coordinator, endpoint, token, reachable: None };
    let make = move || engines.agent().until(Shutdown::on(UnboundedReceiverStream::new(said)));
    (words, tokio::spawn(on_own_thread(make, link)))
}

async fn ended(link: JoinHandle<Result<(), DialError>>) -> Result<(), DialError> {
    timeout(Duration::from_secs(20), link).await.expect("the link ends in time").expect("the link ends well")
}

#[tokio::test]
async fn a_run_goes_over_the_wire_and_survives_a_broken_connection() {
    let (address, mut connections) = coordinator().await;
    let engines = Engines::default();
    let (quit, link) = linked(address, &engines);
    let run = run_id("r");

    let mut first = connections.recv().await.expect("the agent connects");
    let FromAgent::Join(hello) = first.welcome().await else { panic!("join comes first") };
    first.say(ToAgent::Order { run: run.clone(), number: 1, order: prepare() }).await;
    first.acknowledged(&run, 1).await;
    engines.get(0).tell(Event::Ready);
    assert_eq!(first.report().await, Report::Ready);
    first.say(ToAgent::Order { run: run.clone(), number: 2, order: start(5) }).await;
    engines.get(0).tell(Event::Window { window: window(0, &[1_000]), last: false });
    let owed = Report::Window { sequence: 1, window: sealed(&window(0, &[1_000])), last: false };
    assert_eq!(first.report().await, owed);
    drop(first);

    let mut second = connections.recv().await.expect("the agent comes back");
    assert_eq!(second.welcome().await, FromAgent::Join(hello), "it is the same agent");
    assert_eq!(second.report().await, owed);
    second.say(ToAgent::Acknowledge { run: run.clone(), of: None, sequence: 1 }).await;
    engines.get(0).tell(Event::Window { window: window(1, &[2_000]), last: false });
    assert!(matches!(second.report().await, Report::Window { sequence: 2, last: false, .. }));

    // What is measured until the shutdown is delivered before the link ends.
    (0..2).for_each(|_| quit.send(()).expect("the link waits for this"));
    assert_eq!(second.report().await, Report::Refused { reason: "it was told to end at once".to_owned() });
    engines.get(0).tell(Event::Window { window: window(2, &[]), last: true });
    assert!(matches!(second.report().await, Report::Window { sequence: 3, last: true, .. }));
    second.say(ToAgent::Acknowledge { run, of: None, sequence: 3 }).await;
    ended(link).await.expect("a shutdown is no error");
}

#[tokio::test]
async fn case_50_a_version_mismatch_is_an_error_that_names_both() {
    let (address, mut connections) = coordinator().await;
    let (_quit, link) = linked(address, &Engines::default());
    let mut attached = connections.recv().await.expect("the agent connects");
    assert!(matches!(attached.next().await, FromAgent::Join(_)));
    let reason = "this coordinator is volley 9.9.9 and speaks protocol 99".to_owned();
    attached.say(ToAgent::Refused { reason }).await;
    drop(attached);
    let error = ended(link).await.expect_err("a refusal is an error").to_string();
    for part in [
        env!("CARGO_PKG_VERSION"),
        "9.9.9",
        &format!("protocol {PROTOCOL}"),
        "protocol 99",
        &address.to_string(),
    ] {
        assert!(error.contains(part), "{error} should name {part}");
    }
}

#[tokio::test]
async fn a_token_is_shown_and_the_want_of_one_ends_the_link() {
    let token = |text| Some(Token::new(text).expect("a good token"));
    let (address, mut connections) = coordinator_with(token("0123456789abcdef")).await;
    for shown in [None, token("0123456789abcdeg")] {
        let (_quit, link) = linked_with(shown, address, &Engines::default());
        let error = ended(link).await.expect_err("a refusal is an error").to_string();
        assert!(error.contains("wants a token") && error.contains(&address.to_string()), "{error}");
    }
    let (_quit, link) = linked_with(token("0123456789abcdef"), address, &Engines::default());
    let mut attached = connections.recv().await.expect("the agent connects");
    assert!(matches!(attached.welcome().await, FromAgent::Join(_)));
    assert!(!link.is_finished());
}

#[tokio::test]
async fn garbage_of_a_coordinator_breaks_the_connection_only() {
    let (address, mut connections) = coordinator().await;
    let (_quit, link) = linked(address, &Engines::default());
    let mut first = connections.recv().await.expect("the agent connects");
    first.welcome().await;
    first.to_agent.send(Ok(v1::ToAgent { message: None })).await.expect("the agent listens");
    let mut second = connections.recv().await.expect("the agent comes back");
    assert!(matches!(second.welcome().await, FromAgent::Join(_)));
    assert!(!link.is_finished());
}

#[tokio::test]
async fn an_absent_coordinator_is_tried_again_until_it_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    let (_quit, link) = linked(address, &Engines::default());
    // Accepted and closed at once: a port behind which nobody speaks gRPC.
    drop(listener.accept().await.expect("the agent connects"));
    drop(listener.accept().await.expect("the agent connects again"));
    assert!(!link.is_finished());
    link.abort();
}

#[tokio::test]
async fn a_dropped_dial_ends_its_thread_and_engine() {
    let (address, mut connections) = coordinator().await;
    let engines = Engines::default();
    let (_quit, link) = linked(address, &engines);
    let mut attached = connections.recv().await.expect("the agent connects");
    attached.welcome().await;
    attached.say(ToAgent::Order { run: run_id("r"), number: 1, order: prepare() }).await;
    attached.acknowledged(&run_id("r"), 1).await;
    link.abort();
    engines.get(0).events.closed().await;
}

#[test]
fn addresses_are_host_and_port() {
    for good in ["127.0.0.1:7071", "localhost:1", "[::1]:7071", "coordinator.example:65535"] {
        assert!(endpoint(good).is_ok(), "{good}");
    }
    let bad =
        ["", "localhost", "localhost:", "http://localhost:1", "a b:1", "localhost:99999", "u@localhost:1"];
    for bad in bad.into_iter().chain(["localhost:0", "localhost:1/x"]) {
        let error = endpoint(bad).expect_err(bad).to_string();
        assert!(error.contains(&format!("{bad:?}")) && error.contains("7071"), "{error}");
    }
}

#[test]
fn a_lost_connection_is_told_with_its_causes() {
    let error = AttemptError::Wire(WireError::Missing { field: "ToAgent.message" });
    assert_eq!(
        in_words(&error),
        "the coordinator said what this agent doesn't understand: ToAgent.message is missing or unknown"
    );
}

#[tokio::test]
async fn why_there_is_no_contact_is_a_sentence_that_says_what_to_look_at() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = endpoint(&address.to_string()).unwrap().connect().await.expect_err("nobody is there");
    let said = in_words(&AttemptError::Connect(error));
    assert!(said.starts_with("nothing listens there; is the coordinator started"), "{said}");
    let check = |status: Status, part: &str| {
        let said = in_words(&AttemptError::Stream(status));
        assert!(said.contains(part), "{said}");
    };
    check(Status::unavailable("h2 protocol error"), "the connection broke");
    check(Status::internal("protocol error"), "(protocol error); is that its port for agents?");
    check(Status::resource_exhausted("full"), "the coordinator ended the connection: full");
}
