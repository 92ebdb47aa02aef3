//! Chunked bodies, whole and in pieces of any size.

use proptest::prelude::*;

use super::*;

/// What is decoded from `input` when it comes in pieces of `piece` bytes, and how many bytes that took;
/// `None` for the count where the body has not ended.
fn decode(input: &[u8], piece: usize) -> Result<(Vec<u8>, Option<usize>), BadRequest> {
    let mut decoder = Chunked::new();
    let mut data = Vec::new();
    let mut used = 0;
    for bytes in input.chunks(piece) {
        used += decoder.feed(bytes, |piece| data.extend_from_slice(piece))?;
        if decoder.is_done() {
            return Ok((data, Some(used)));
        }
    }
    Ok((data, None))
}

/// `rest` is what follows the body in the input.
fn check(input: &str, expected: &str, rest: &str) {
    for piece in [1, 2, 3, usize::MAX] {
        let (data, used) = decode(input.as_bytes(), piece).unwrap();
        assert_eq!(String::from_utf8_lossy(&data), expected, "{input:?}");
        assert_eq!(used, Some(input.len() - rest.len()), "{input:?}");
    }
}

fn check_refused(input: &str) {
    for piece in [1, usize::MAX] {
        assert_eq!(decode(input.as_bytes(), piece), Err(BadRequest::Chunk), "{input:?}");
    }
}

#[test]
fn decodes_bodies() {
    check("0\r\n\r\n", "", "");
    check("5\r\nhello\r\n0\r\n\r\n", "hello", "");
    check("5\r\nhello\r\n0\r\n\r\nGET /", "hello", "GET /");
    check("00002\r\nab\r\nA\r\n0123456789\r\n0\r\n\r\n", "ab0123456789", "");
    check("2;name=value\r\nab\r\n2 ;x=\"y\"\r\ncd\r\n000\r\n\r\n", "abcd", "");
    check("1\r\na\r\n0\r\nSum: 1\r\nOther: 2\r\n\r\nx", "a", "x");
}

#[test]
fn refuses_what_is_not_chunked() {
    for input in [
        "\r\n",
        "x\r\n",
        "-1\r\n",
        ";\r\n",
        "5\nhello",
        "5\r\nhello0\r\n",
        "5\r\nhello\n",
        "5\rx",
        "5;\u{1}",
        "0\r\nSum: 1\n",
        "0\r\n\rx",
        "10000000000000000\r\n",
    ] {
        check_refused(input);
    }
}

#[test]
fn bounds_what_is_no_data() {
    let long = "x".repeat(OVERHEAD_BYTES_MAX + 1);
    check_refused(&format!("5;{long}"));
    check_refused(&format!("0\r\n{long}"));
    check_refused(&format!("0\r\n{}", "a: b\r\n".repeat(OVERHEAD_BYTES_MAX / 6 + 1)));
    check_refused(&"0".repeat(OVERHEAD_BYTES_MAX + 1));
}

#[test]
fn waits_for_the_rest() {
    let whole = b"5\r\nhello\r\n0\r\n\r\n";
    for cut in 0..whole.len() {
        let (_, used) = decode(&whole[..cut], usize::MAX).unwrap();
        assert_eq!(used, None, "{cut} bytes");
    }
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..8),
        piece in 1_usize..40,
    ) {
        let mut wire = Vec::new();
        for chunk in &chunks {
            wire.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        prop_assert_eq!(decode(&wire, piece), Ok((chunks.concat(), Some(wire.len()))));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in prop::collection::vec(prop::sample::select(b"0123456789abcfF\r\n;: x".to_vec()), 0..60),
        piece in 1_usize..9,
    ) {
        prop_assert_eq!(decode(&bytes, piece), decode(&bytes, usize::MAX));
    }
}
