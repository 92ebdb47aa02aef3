//! The hash of a plan's canonical form.

use crate::model::Plan;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

impl Plan {
    /// The SHA-256 of [`Plan::canonical_json`]; coordinator and agents compare it.
    pub fn hash(&self) -> PlanHash {
        PlanHash(Sha256::digest(self.canonical_json()).into())
    }
}

/// What tells a plan from every other one: the SHA-256 of its canonical form. Displays as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanHash([u8; 32]);

impl PlanHash {
    /// The hash with these bytes, as they came over the wire or from the store.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanHash({self})")
    }
}

impl Serialize for PlanHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text is not a plan hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a plan hash is 64 hex digits")]
pub struct PlanHashError;

impl FromStr for PlanHash {
    type Err = PlanHashError;

    fn from_str(text: &str) -> Result<Self, PlanHashError> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(PlanHashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (hex_digit(pair[0])? << 4) | hex_digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn hex_digit(digit: u8) -> Result<u8, PlanHashError> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).ok_or(PlanHashError)
}
