//! The small words of the grammar: tokens, white space, comma lists, decimal numbers.

/// `tchar` of RFC 9110 section 5.6.2, by byte value.
const TCHAR: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};

/// How many bytes at the front are `tchar`.
///
/// Field names are most of what is read of a head, so this goes by words of eight bytes as long as they
/// hold nothing but letters, digits and hyphens, which nearly all names are made of.
#[inline]
pub(super) fn token_len(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks();
    let mut len = 0;
    for word in words {
        let other = not_alphanumeric_or_hyphen(u64::from_le_bytes(*word));
        if other != 0 {
            len += first_mark(other);
            break;
        }
        len += WORD;
    }
    while bytes.get(len).is_some_and(|&byte| TCHAR[usize::from(byte)]) {
        len += 1;
    }
    len
}

/// Whether a field name is this one, which is given in lower case, letters and hyphens.
#[inline]
pub(super) fn is_name<const N: usize>(name: &[u8], lower: &[u8; N]) -> bool {
    // Bit 5 is all that tells a letter from its capital; what it makes a hyphen of is no `tchar`. All
    // bytes are compared, since that needs no branches.
    <&[u8; N]>::try_from(name)
        .is_ok_and(|name| name.iter().zip(lower).fold(true, |same, (a, b)| same & (a | 0x20 == *b)))
}

/// The bytes of a word. Words are read with their first byte lowest.
const WORD: usize = 8;

/// The same byte in all places of a word.
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WORD])
}

/// The highest bit of each byte of a word.
const HIGH: u64 = repeat(0x80);

/// Sets the highest bit of each byte that is no letter, digit or hyphen; all other bits are 0.
#[inline]
fn not_alphanumeric_or_hyphen(word: u64) -> u64 {
    // With the highest bits cleared, an addition can't carry into the next byte: it sets the highest bit
    // of its own byte where that is at least a bound.
    let ascii = word & !HIGH;
    let in_range =
        |bytes: u64, first: u8, last: u8| (bytes + repeat(0x80 - first)) & !(bytes + repeat(0x7f - last));
    let letter = in_range(ascii | repeat(0x20), b'a', b'z');
    let digit = in_range(ascii, b'0', b'9');
    let hyphen = HIGH - (ascii ^ repeat(b'-'));
    (!(letter | digit | hyphen) | word) & HIGH
}

/// The index of the first LF.
#[inline]
pub(super) fn find_lf(bytes: &[u8]) -> Option<usize> {
    find::<b'\n', 0xff>(bytes)
}

/// The index of the first LF, NUL, STX or backspace, which are all that is 0 but for the bits of LF: so one
/// comparison finds the end of a line and what must not be in it.
#[inline]
pub(super) fn find_lf_or_nul(bytes: &[u8]) -> Option<usize> {
    find::<0, { !b'\n' }>(bytes)
}

/// The index of the first byte that is `WANTED` in the bits of `MASK`.
#[inline]
fn find<const WANTED: u8, const MASK: u8>(bytes: &[u8]) -> Option<usize> {
    let is_found = |byte: u8| (byte ^ WANTED) & MASK == 0;
    let (pairs, rest) = bytes.as_chunks();
    for (nth, pair) in pairs.iter().enumerate() {
        // The compiler makes one comparison of sixteen bytes of this, since it has no branches.
        if pair.iter().fold(false, |found, &byte| found | is_found(byte)) {
            return Some(nth * pair.len() + find_in_pair::<WANTED, MASK>(pair));
        }
    }
    let at = bytes.len() - rest.len();
    rest.iter().position(|&byte| is_found(byte)).map(|found| at + found)
}

/// The same in a pair of words that has one.
#[inline]
fn find_in_pair<const WANTED: u8, const MASK: u8>(pair: &[u8; 2 * WORD]) -> usize {
    let (words, _) = pair.as_chunks();
    let marks = |word: [u8; WORD]| {
        let differs = (u64::from_le_bytes(word) ^ repeat(WANTED)) & repeat(MASK);
        // Marks the bytes that are 0. The lowest mark is right; a borrow may set more behind it.
        differs.wrapping_sub(repeat(1)) & !differs & HIGH
    };
    match marks(words[0]) {
        0 => WORD + first_mark(marks(words[1])),
        low => first_mark(low),
    }
}

/// The index of the first byte that is marked in its highest bit; [`WORD`] where none is.
#[inline]
fn first_mark(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Whether the whole is a `token` (RFC 9110 section 5.6.2).
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_len(bytes) == bytes.len()
}

/// Takes optional white space off both ends.
///
/// CR and LF count as white space here: inside a line they are what is left of an obsolete line fold, or
/// a bare CR, and both are to be read as spaces (RFC 9112 sections 5.2 and 2.2).
pub(super) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The elements of a comma list (RFC 9110 section 5.6.1), trimmed, empty ones included.
pub(super) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// `1*DIGIT` that fits 64 bits, or nothing.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
