//! The wire form of orders, reports and windows: `volley.v1` of `proto/volley/v1/fleet.proto`, its generated code, and
//! the conversions to and from the vocabulary of `volley_plan::link`.
//!
//! Only the two ends of the gRPC link see this crate. Towards the wire a conversion is a `From` and always succeeds;
//! from the wire it is a `TryFrom`, since the other end may be anything: each bound of [`limits`] is checked there, and
//! a [`WireError`] names the field.

mod counters;
mod error;
mod fields;
mod from_agent;
mod health;
mod kinds;
mod labels;
mod level;
pub mod limits;
mod results;
mod row;
mod share;
mod to_agent;
mod token;

#[cfg(test)]
mod tests;

pub use error::WireError;
pub use token::{AUTHORIZATION, MAX_TOKEN_CHARS, MIN_TOKEN_CHARS, Token, TokenError, bearer_of};
pub use v1::fleet_client::FleetClient;
pub use v1::fleet_server::{Fleet, FleetServer};

use tonic::transport::Channel;

/// A client whose messages have the bounds of [`limits`].
#[must_use]
pub fn client(channel: Channel) -> FleetClient<Channel> {
    FleetClient::new(channel)
        .max_decoding_message_size(limits::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(limits::MAX_MESSAGE_BYTES)
}

/// A service whose messages have the bounds of [`limits`].
#[must_use]
pub fn server<F: Fleet>(fleet: F) -> FleetServer<F> {
    FleetServer::new(fleet)
        .max_decoding_message_size(limits::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(limits::MAX_MESSAGE_BYTES)
}

#[expect(
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated code, held to fleet.proto by tests/generated.rs"
)]
pub mod v1 {
    //! The generated messages, client and server of package `volley.v1`.
    include!("gen/volley.v1.rs");
}
