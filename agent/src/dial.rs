//! The link over gRPC: dials the coordinator, puts [`Agent::converse`] on the stream, and comes back when it breaks. It
//! has a thread of its own, so that neither load nor anything else in the process delays a ping.

use std::error::Error;
use std::io;
use std::pin::pin;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};
use volley_plan::link::{FromAgent, PROTOCOL, ToAgent};
use volley_proto::{Token, WireError, client, v1};

use crate::agent::{Agent, LinkEnd};
use crate::backoff::Backoff;
use crate::crash;
use crate::launch::launch_engine;
use crate::leaving::Shutdown;
use crate::options::AgentOptions;
use crate::priority::Priority;
use crate::status::Status;

/// Most time for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Messages that wait for the stream. A ping waits behind no more than these.
const OUTGOING: usize = 2;
/// Messages that wait for the session.
const INCOMING: usize = 64;

/// Where to, and how the agent is to be.
#[derive(Clone, Debug)]
pub struct DialOptions {
    /// The coordinator's address for agents: `host:port`.
    pub coordinator: String,
    /// The agent.
    pub agent: AgentOptions,
    /// The secret that the coordinator wants to be shown, where it has one.
    pub token: Option<Token>,
}

/// Why an agent can't work.
#[derive(Debug, Error)]
pub enum DialError {
    /// The address can't be one.
    #[error("{0:?} is not the address of a coordinator; it should look like 127.0.0.1:7071")]
    Address(String),
    /// The coordinator doesn't want this agent as it is.
    #[error(
        "the coordinator at {coordinator} refused this agent (volley {version}, protocol {PROTOCOL}): {reason}",
        version = env!("CARGO_PKG_VERSION")
    )]
    Refused {
        /// Its address.
        coordinator: String,
        /// Its reason; for another version it names both.
        reason: String,
    },
    /// The thread or its runtime can't be made.
    #[error("the link's thread can't be started")]
    Start(#[source] io::Error),
    /// The thread ended without a result, which only a fault in this program can cause.
    #[error("the link's thread broke down")]
    BrokenDown,
}

/// Why one attempt to hold a connection ended.
#[derive(Debug, Error)]
enum AttemptError {
    #[error("{}", connecting(.0))]
    Connect(tonic::transport::Error),
    #[error("{}", speaking(.0))]
    Stream(tonic::Status),
    #[error("the coordinator said what this agent doesn't understand")]
    Wire(#[source] WireError),
}

/// Makes an agent and keeps it connected until it is told to end or the coordinator refuses it. Then, and also when the
/// returned future is dropped, all sending ends. `status` always shows how it is.
///
/// Connecting is tried again for ever, after waits of 100 ms to 2 s; the log says once when contact is lost and once
/// when it is back.
///
/// # Errors
/// A bad address, a refusal, or no thread to be had: all that trying again won't mend.
pub async fn dial(
    options: DialOptions,
    shutdown: Shutdown,
    status: watch::Sender<Status>,
) -> Result<(), DialError> {
    let DialOptions { coordinator, agent, token } = options;
    let endpoint = endpoint(&coordinator)?;
    crash::arm();
    let make = move || {
        let priority = Priority::raise();
        let launch = Box::new(move |setup| priority.normally(|| launch_engine(setup)));
        let agent = priority.normally(|| Agent::with_launch(agent, launch));
        agent.until(shutdown).telling(status)
    };
    on_own_thread(make, Link { coordinator, endpoint, token, reachable: None }).await
}

/// Runs the link on its own thread. The agent is made there, since it needs that thread's priority.
async fn on_own_thread(make: impl FnOnce() -> Agent + Send + 'static, link: Link) -> Result<(), DialError> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("volley-link".to_owned());
    let spawned = thread.spawn(move || {
        let mut done = done;
        let outcome = run(make, link, &mut done);
        // Nobody waits any more if the caller was dropped.
        let _ = done.send(outcome);
    });
    spawned.map_err(DialError::Start)?;
    result.await.unwrap_or(Err(DialError::BrokenDown))
}

fn run(
    make: impl FnOnce() -> Agent,
    mut link: Link,
    done: &mut oneshot::Sender<Result<(), DialError>>,
) -> Result<(), DialError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DialError::Start)?;
    let outcome = runtime.block_on(async {
        let mut agent = make();
        tokio::select! {
            end = link.keep(&mut agent) => end,
            () = done.closed() => Ok(()),
        }
    });
    // A name look-up that hangs must not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// Takes `host:port`.
fn endpoint(coordinator: &str) -> Result<Endpoint, DialError> {
    let bad = || DialError::Address(coordinator.to_owned());
    let endpoint = Endpoint::from_shared(format!("http://{coordinator}")).map_err(|_| bad())?;
    let uri = endpoint.uri();
    let whole = uri.authority().is_some_and(|authority| authority.as_str() == coordinator);
    if !whole || uri.port_u16().is_none_or(|port| port == 0) || coordinator.contains('@') {
        return Err(bad());
    }
    Ok(endpoint.connect_timeout(CONNECT_TIMEOUT))
}

/// The way to one coordinator.
struct Link {
    coordinator: String,
    endpoint: Endpoint,
    token: Option<Token>,
    /// True from joining until contact is lost, then false; nothing at first. Each change is said in the log once.
    reachable: Option<bool>,
}

impl Link {
    /// Holds the connection, again and again, until the agent has left or the coordinator refuses it.
    async fn keep(&mut self, agent: &mut Agent) -> Result<(), DialError> {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            let end = self.attempt(agent).await;
            if self.reachable == Some(true) {
                backoff.held(began.elapsed());
            }
            match end {
                Ok(LinkEnd::Left) => return Ok(()),
                Ok(LinkEnd::Refused(reason)) => return Err(self.refused(reason)),
                Err(AttemptError::Stream(status)) if status.code() == Code::Unauthenticated => {
                    return Err(self.refused(status.message().to_owned()));
                }
                Ok(LinkEnd::Closed) => self.say_lost(None),
                Err(error) => self.say_lost(Some(error)),
            }
            let wait = backoff.next(rand::random());
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = agent.alone() => return Ok(()),
            }
        }
    }

    fn refused(&self, reason: String) -> DialError {
        DialError::Refused { coordinator: self.coordinator.clone(), reason }
    }

    /// Connects and converses until the connection ends.
    async fn attempt(&mut self, agent: &mut Agent) -> Result<LinkEnd, AttemptError> {
        let channel = tokio::select! {
            channel = self.endpoint.connect() => channel.map_err(AttemptError::Connect)?,
            () = agent.alone() => return Ok(LinkEnd::Left),
        };
        let (to, outgoing) = mpsc::channel(OUTGOING);
        let (incoming, from) = mpsc::channel(INCOMING);
        let mut pump = pin!(self.pump(channel, outgoing, incoming));
        let mut conversation = pin!(agent.converse(to, from));
        tokio::select! {
            biased;
            end = &mut conversation => Ok(end),
            pumped = &mut pump => match (conversation.await, pumped) {
                // What came before the break has been heard by now; a refusal explains it.
                (LinkEnd::Closed, Err(error)) => Err(error),
                (end, _) => Ok(end),
            },
        }
    }

    /// Carries messages between the stream and the session. The session speaks first, so both go on at once.
    async fn pump(
        &mut self,
        channel: Channel,
        outgoing: mpsc::Receiver<FromAgent>,
        incoming: mpsc::Sender<ToAgent>,
    ) -> Result<(), AttemptError> {
        let mut call = Request::new(ReceiverStream::new(outgoing).map(v1::FromAgent::from));
        if let Some(token) = &self.token {
            token.show(call.metadata_mut());
        }
        let answer = client(channel).attach(call).await.map_err(AttemptError::Stream)?;
        let mut stream = answer.into_inner();
        while let Some(message) = stream.message().await.map_err(AttemptError::Stream)? {
            let message = ToAgent::try_from(message).map_err(AttemptError::Wire)?;
            if message == ToAgent::Welcome {
                self.say_joined();
            }
            if incoming.send(message).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    fn say_joined(&mut self) {
        tracing::info!(coordinator = self.coordinator, "joined the coordinator");
        self.reachable = Some(true);
    }

    /// Says that contact is lost, once for each time.
    fn say_lost(&mut self, error: Option<AttemptError>) {
        let why =
            error.map_or_else(|| "the connection was closed or silent".to_owned(), |error| in_words(&error));
        if self.reachable == Some(false) {
            tracing::debug!(coordinator = self.coordinator, why, "still no contact with the coordinator");
            return;
        }
        self.reachable = Some(false);
        tracing::warn!(
            coordinator = self.coordinator,
            why,
            "no contact with the coordinator; trying again and again"
        );
    }
}

/// Why there is no connection, and what to look at. The transport wraps the cause that matters in several that say nothing.
fn connecting(error: &tonic::transport::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => {
            "nothing listens there; is the coordinator started, and is that its port for agents (7071 if it was not \
             told another)?"
                .to_owned()
        }
        Some(io::ErrorKind::TimedOut) => {
            let within = CONNECT_TIMEOUT.as_secs();
            format!("no answer within {within} s; is that its address, and no firewall in between?")
        }
        _ => format!("no connection can be made: {cause}"),
    }
}

/// Why a connection was of no use.
fn speaking(status: &tonic::Status) -> String {
    match status.code() {
        Code::Unavailable => "the connection broke".to_owned(),
        Code::Unimplemented | Code::Internal | Code::Unknown => format!(
            "what answers there does not speak as coordinators do to agents ({}); is that its port for agents?",
            status.message()
        ),
        code => format!("the coordinator ended the connection: {} ({code})", status.message()),
    }
}

/// An error with its causes.
fn in_words(error: &AttemptError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests;
