//! The gRPC end of the agents link: turns wire form into the link's vocabulary and back. Nothing is decided here.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use volley_plan::link::FromAgent;
use volley_proto::{Fleet, v1};

use crate::access::Gate;
use crate::coordinator::Coordinator;
use crate::fleet::MAX_AGENTS;
use crate::serve::Presence;

/// Messages to an agent that may wait to be sent; one that lets them pile up is cut off.
const OUTGOING: usize = 1_024;
/// Messages from an agent that may wait to be taken; then its connection waits.
const INCOMING: usize = 32;
/// Most connections: every agent, and as many that are about to replace an older one.
const MAX_CONNECTIONS: usize = 2 * MAX_AGENTS;

/// The service.
pub(crate) struct FleetService {
    coordinator: Coordinator,
    gate: Arc<Gate>,
    connections: Arc<Semaphore>,
}

impl FleetService {
    pub(crate) fn new(coordinator: Coordinator, gate: Arc<Gate>) -> Self {
        Self { coordinator, gate, connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }
}

type Outgoing = Pin<Box<dyn Stream<Item = Result<v1::ToAgent, Status>> + Send>>;

#[tonic::async_trait]
impl Fleet for FleetService {
    type AttachStream = Outgoing;

    async fn attach(&self, request: Request<Streaming<v1::FromAgent>>) -> Result<Response<Outgoing>, Status> {
        self.gate.admit_call(request.metadata())?;
        let too_many =
            |_| Status::resource_exhausted(format!("there are {MAX_CONNECTIONS} connections already"));
        let permit = self.connections.clone().try_acquire_owned().map_err(too_many)?;
        let (to, outgoing) = mpsc::channel(OUTGOING);
        let (fault_to, fault) = oneshot::channel();
        let (incoming, from) = mpsc::channel(INCOMING);
        // A task of its own, so that it comes to its end and notes the agent's leaving, however the stream ends.
        let mut attached = tokio::spawn(self.coordinator.attach(from, to));
        let presence = request.extensions().get::<Presence>().map(Presence::enter);
        let messages = request.into_inner();
        tokio::spawn(async move {
            tokio::select! {
                _ = &mut attached => {}
                status = read(messages, incoming) => {
                    if let Some(status) = status {
                        // If nobody listens any more, nobody needs to know.
                        let _ = fault_to.send(status);
                    }
                    let _ = attached.await;
                }
            }
            drop((permit, presence));
        });
        let messages = ReceiverStream::new(outgoing).map(|message| Ok(message.into()));
        let last_word = stream::once(fault).filter_map(|fault| async { fault.ok().map(Err) });
        Ok(Response::new(Box::pin(messages.chain(last_word))))
    }
}

/// Brings messages in until the stream ends. What cannot be understood ends it, with a status that names the field.
async fn read(mut messages: Streaming<v1::FromAgent>, incoming: mpsc::Sender<FromAgent>) -> Option<Status> {
    loop {
        let message = match messages.message().await {
            Ok(message) => message?,
            // Too large, or no message at all. Where the connection is broken, nobody will read this.
            Err(status) => return Some(status),
        };
        match FromAgent::try_from(message) {
            Ok(message) => incoming.send(message).await.ok()?,
            Err(error) => {
                let words = chain(&error);
                tracing::warn!(error = %words, "a message of an agent cannot be understood: connection ended");
                return Some(Status::invalid_argument(words));
            }
        }
    }
}

/// An error with everything that caused it, in one line.
fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}

#[cfg(test)]
mod tests;
