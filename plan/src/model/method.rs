//! Request methods.

use std::fmt;

/// A request method: a token (RFC 9110 section 9.1), case kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Method(String);

/// Why a text is no method that a plan may use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// It isn't a token.
    #[error("characters that a method can't have")]
    NotAToken,
    /// It is too long to be meant.
    #[error("more than {} characters", Method::MAX_CHARS)]
    TooLong,
    /// A known method in lower case: methods are case-sensitive, so servers would not know it.
    #[error("lower case, but methods are case-sensitive")]
    Case,
    /// CONNECT makes a tunnel of the connection (RFC 9110 section 9.3.6), after which no request can follow.
    #[error("CONNECT, which asks for a tunnel")]
    Connect,
}

impl Method {
    /// Most characters of a method.
    pub const MAX_CHARS: usize = 32;

    const KNOWN: [&'static str; 9] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT"];

    /// GET, the method of a plan that names none.
    pub fn get() -> Self {
        Self("GET".to_owned())
    }

    /// Reads a method.
    ///
    /// # Errors
    /// [`MethodError`] where `text` isn't one, or one that can't be a load.
    pub fn parse(text: &str) -> Result<Self, MethodError> {
        if !is_token(text) {
            return Err(MethodError::NotAToken);
        }
        if text.len() > Self::MAX_CHARS {
            return Err(MethodError::TooLong);
        }
        let upper = text.to_ascii_uppercase();
        if upper != text && Self::KNOWN.contains(&upper.as_str()) {
            return Err(MethodError::Case);
        }
        if text == "CONNECT" {
            return Err(MethodError::Connect);
        }
        Ok(Self(text.to_owned()))
    }

    /// The method as it stands in the request line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `text` is a token (RFC 9110 section 5.6.2), as methods and header names are.
pub fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, error: Option<&MethodError>) {
        match Method::parse(text) {
            Ok(method) => assert_eq!((method.as_str(), None), (text, error)),
            Err(found) => assert_eq!(Some(&found), error, "{text}"),
        }
    }

    #[test]
    fn methods_are_tokens() {
        for text in ["GET", "HEAD", "OPTIONS", "PROPFIND", "M-SEARCH", "purge", "a!#$%&'*+-.^_`|~9"] {
            check(text, None);
        }
        for (text, error) in [
            ("", MethodError::NotAToken),
            ("GET ", MethodError::NotAToken),
            ("GET\r\nX: y", MethodError::NotAToken),
            ("GÉT", MethodError::NotAToken),
            ("a:b", MethodError::NotAToken),
            ("get", MethodError::Case),
            ("Post", MethodError::Case),
            ("CONNECT", MethodError::Connect),
        ] {
            check(text, Some(&error));
        }
        check(&"A".repeat(32), None);
        check(&"A".repeat(33), Some(&MethodError::TooLong));
    }
}
