//! The word-wise searches against their plain definitions, for every byte at every place of a word.

use crate::http1::syntax::{decimal, find_lf, is_name, is_token, token_len};

/// `tchar` as RFC 9110 section 5.6.2 has it.
fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Calls with texts of several lengths that are `fill` but for one byte.
fn for_each_text(fill: u8, mut check: impl FnMut(&[u8])) {
    for len in 0..40 {
        for at in 0..len {
            for byte in 0..=u8::MAX {
                let mut text = vec![fill; len];
                text[at] = byte;
                check(&text);
            }
        }
    }
}

#[test]
fn tokens() {
    for fill in [b'a', b'-', b'~'] {
        for_each_text(fill, |text| {
            let len = text.iter().take_while(|&&byte| is_tchar(byte)).count();
            assert_eq!(token_len(text), len, "{text:?}");
            assert_eq!(is_token(text), len == text.len(), "{text:?}");
        });
    }
    assert!(!is_token(b""));
}

#[test]
fn line_feeds() {
    // 11 is what a borrow from an LF before it could make look like an LF.
    for fill in [b'a', b'\n', 11, 0x80] {
        for_each_text(fill, |text| {
            assert_eq!(find_lf(text), text.iter().position(|&byte| byte == b'\n'), "{text:?}");
        });
    }
}

#[test]
fn names() {
    const NAME: &[u8; 14] = b"content-length";
    for at in 0..NAME.len() {
        for byte in (0..=u8::MAX).filter(|&byte| is_tchar(byte)) {
            let mut name = *NAME;
            name[at] = byte;
            assert_eq!(is_name(&name, NAME), name.eq_ignore_ascii_case(NAME), "{name:?}");
        }
    }
    assert!(!is_name(&NAME[1..], NAME));
}

#[test]
fn decimals() {
    for (digits, value) in [
        ("0", Some(0)),
        ("007", Some(7)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("", None),
        ("1 ", None),
        ("-1", None),
        ("1a", None),
    ] {
        assert_eq!(decimal(digits.as_bytes()), value, "{digits}");
    }
}
