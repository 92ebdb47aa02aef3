//! The secret that a coordinator shares with its agents and with the people who may use it.
//!
//! It goes as `Authorization: Bearer …` (RFC 6750), in REST as in the metadata of gRPC, so both ends of the link and the
//! command line have it from here.

use std::fmt;

use subtle::ConstantTimeEq as _;
use thiserror::Error;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

/// The name of the header, and of the metadata.
pub const AUTHORIZATION: &str = "authorization";
/// Fewest characters of a token: shorter ones can be guessed.
pub const MIN_TOKEN_CHARS: usize = 16;
/// Most characters of a token.
pub const MAX_TOKEN_CHARS: usize = 512;
/// The scheme; RFC 9110 section 11.1 has it in any case.
const BEARER: &str = "bearer ";

/// A token: 16 to 512 visible ASCII characters. What is printed of it for debugging is not it.
#[derive(Clone)]
pub struct Token(Box<str>);

/// Why a text can't be a token. The text itself is not shown.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TokenError {
    /// Short enough to be guessed, or not there at all.
    #[error(
        "a token has at least {MIN_TOKEN_CHARS} characters, this has {found}; `volley token` makes a good one"
    )]
    Short {
        /// Its characters.
        found: usize,
    },
    /// No header could carry it.
    #[error("a token has at most {MAX_TOKEN_CHARS} characters, this has {found}")]
    Long {
        /// Its characters.
        found: usize,
    },
    /// A space, a line's end or a letter beyond ASCII.
    #[error("a token has visible ASCII characters only, and its character {at} is another one")]
    Character {
        /// Which, counted from 1.
        at: usize,
    },
}

impl Token {
    /// Takes a text as it is, but for white space around it, which files have at their ends.
    ///
    /// # Errors
    /// [`TokenError`] if it is too short, too long, or holds what a header can't.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if let Some(at) = text.chars().position(|character| !character.is_ascii_graphic()) {
            return Err(TokenError::Character { at: at + 1 });
        }
        match text.len() {
            found if found < MIN_TOKEN_CHARS => Err(TokenError::Short { found }),
            found if found > MAX_TOKEN_CHARS => Err(TokenError::Long { found }),
            _ => Ok(Self(text.into())),
        }
    }

    /// The value of an `Authorization` header that shows it.
    #[must_use]
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Puts it into the metadata of a call.
    pub fn show(&self, metadata: &mut MetadataMap) {
        // Visible ASCII is always a value; were it not, the call would go without and be refused.
        if let Ok(mut value) = MetadataValue::<Ascii>::try_from(self.bearer()) {
            value.set_sensitive(true);
            metadata.insert(AUTHORIZATION, value);
        }
    }

    /// Whether the metadata of a call shows it.
    #[must_use]
    pub fn is_shown(&self, metadata: &MetadataMap) -> bool {
        metadata.get(AUTHORIZATION).is_some_and(|value| self.is_bearer(value.as_encoded_bytes()))
    }

    /// Whether the value of an `Authorization` header shows it.
    #[must_use]
    pub fn is_bearer(&self, value: &[u8]) -> bool {
        bearer_of(value).is_some_and(|said| self.is(said))
    }

    /// Whether it is this. It takes the same time wherever the two differ, so that nobody can feel their way to it; only
    /// its length can be told from that.
    #[must_use]
    pub fn is(&self, said: &[u8]) -> bool {
        self.as_bytes().ct_eq(said).into()
    }

    /// Its bytes, to sign with.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The token that the value of an `Authorization` header shows, whichever it is; `None` where that is of another scheme.
#[must_use]
pub fn bearer_of(value: &[u8]) -> Option<&[u8]> {
    let (scheme, said) = value.split_at_checked(BEARER.len())?;
    scheme.eq_ignore_ascii_case(BEARER.as_bytes()).then(|| said.trim_ascii())
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.as_bytes())
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "0123456789abcdef";

    /// The token of a text, or a part of why there is none.
    fn check(text: &str, expected: Result<&str, &str>) {
        match (Token::new(text), expected) {
            (Ok(token), Ok(value)) => assert_eq!(token.bearer(), format!("Bearer {value}"), "{text:?}"),
            (Err(error), Err(part)) => {
                let said = error.to_string();
                assert!(said.contains(part) && !said.contains("secret"), "{text:?}: {said}");
            }
            (found, _) => panic!("{text:?}: {found:?}"),
        }
    }

    #[test]
    fn a_text_is_a_token_or_says_why_not() {
        check(GOOD, Ok(GOOD));
        check(&format!("  {GOOD}\r\n"), Ok(GOOD));
        check(&"~!/+=".repeat(10), Ok(&"~!/+=".repeat(10)));
        check(&"x".repeat(512), Ok(&"x".repeat(512)));
        check("", Err("this has 0"));
        check("secret", Err("this has 6"));
        check(&"x".repeat(513), Err("this has 513"));
        check("secret secret secret", Err("character 7"));
        check("sécret0123456789", Err("character 2"));
        check("0123456789abcdef\n0123", Err("character 17"));
    }

    #[test]
    fn it_is_told_from_what_is_not_it() {
        let token = Token::new(GOOD).expect("a token");
        for (value, expected) in [
            (format!("Bearer {GOOD}"), true),
            (format!("bearer {GOOD}"), true),
            (format!("BEARER   {GOOD}"), true),
            (format!("Bearer {GOOD}0"), false),
            ("Bearer 0123456789abcdeg".to_owned(), false),
            ("Bearer ".to_owned(), false),
            ("Bearer".to_owned(), false),
            (format!("Basic {GOOD}"), false),
            (GOOD.to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(token.is_bearer(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn a_call_shows_it() {
        let (token, other) =
            (Token::new(GOOD).expect("a token"), Token::new("another-token-of-it").expect("a token"));
        let mut metadata = MetadataMap::new();
        assert!(!token.is_shown(&metadata));
        token.show(&mut metadata);
        assert!(token.is_shown(&metadata) && !other.is_shown(&metadata));
        let said = format!("{metadata:?} {token:?}");
        assert!(!said.contains(GOOD), "{said}");
    }
}
