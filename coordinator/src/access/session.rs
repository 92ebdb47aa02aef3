//! Sessions: what a browser is given in place of the token, which it would otherwise have to keep.
//!
//! A session is a random name, the moment of its end, and a signature of both (HMAC-SHA-256, RFC 2104) that takes the token
//! to make. So no list of them is kept, they go on when the coordinator is started again, and a new token ends them all.

use axum::http::{HeaderMap, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use volley_proto::Token;

/// How long one lasts.
pub(super) const LASTS_S: u64 = 7 * 24 * 3_600;
/// The cookie that holds it.
pub(super) const COOKIE: &str = "volley_session";
/// Goes into the signature, so that none made for another purpose is one of these.
const PURPOSE: &[u8] = b"volley session\n";

/// A session of this name.
pub(super) fn make(token: &Token, name: u128, now_s: u64) -> String {
    let said = format!("{name:032x}.{}", now_s.saturating_add(LASTS_S));
    let signature = signed(token, &said).finalize().into_bytes();
    let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{said}.{hex}")
}

/// Whether it was made with this token, and is not over.
pub(super) fn is_valid(token: &Token, session: &str, now_s: u64) -> bool {
    let Some((said, signature)) = session.rsplit_once('.') else { return false };
    let Some(signature) = from_hex(signature) else { return false };
    // Takes the same time wherever the two differ.
    if signed(token, said).verify_slice(&signature).is_err() {
        return false;
    }
    let end_s = said.rsplit_once('.').and_then(|(_, end_s)| end_s.parse().ok());
    end_s.is_some_and(|end_s: u64| now_s < end_s && end_s <= now_s.saturating_add(LASTS_S))
}

fn signed(token: &Token, said: &str) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(token.as_bytes());
    let mut mac = mac.expect("HMAC takes a key of any length (RFC 2104 section 2)");
    mac.update(PURPOSE);
    mac.update(said.as_bytes());
    mac
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks_exact(2);
    if digits.len() > 64 || !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The session that a request shows (RFC 6265 section 5.4).
pub(super) fn shown(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find_map(|(name, value)| (name == COOKIE).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    fn token(text: &str) -> Token {
        Token::new(text).unwrap()
    }

    #[test]
    fn a_session_lasts_its_week_for_its_token() {
        let (ours, other) = (token("0123456789abcdef"), token("fedcba9876543210"));
        let session = make(&ours, 7, NOW_S);
        let check = |session: &str, token: &Token, now_s: u64, expected: bool| {
            assert_eq!(is_valid(token, session, now_s), expected, "{session} at {now_s}");
        };
        check(&session, &ours, NOW_S, true);
        check(&session, &ours, NOW_S + LASTS_S - 1, true);
        check(&session, &ours, NOW_S + LASTS_S, false);
        check(&session, &other, NOW_S, false);
        // A clock that was set back makes no session longer than one can be.
        check(&session, &ours, NOW_S - 1, false);
        let later = session.replace(&(NOW_S + LASTS_S).to_string(), &(NOW_S + LASTS_S - 1).to_string());
        check(&later, &ours, NOW_S, false);
        for wrong in
            ["", ".", "..", "a.b.c", &session[..session.len() - 2], &format!("{session}00"), &session[1..]]
        {
            check(wrong, &ours, NOW_S, false);
        }
        assert_ne!(session, make(&ours, 8, NOW_S));
        assert!(!session.contains("0123456789abcdef"));
    }

    #[test]
    fn it_is_found_among_other_cookies() {
        let check = |lines: &[&str], expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, line.parse().unwrap());
            }
            assert_eq!(shown(&headers), expected, "{lines:?}");
        };
        check(&["volley_session=a.b.c"], Some("a.b.c"));
        check(&["x=1; volley_session=a; y=2"], Some("a"));
        check(&["x=1", "volley_session=a"], Some("a"));
        check(&["xvolley_session=a", "volley_session"], None);
        check(&[], None);
    }
}
