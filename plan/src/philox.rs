//! Random numbers by their place: the generator is a function of a key and a counter and keeps no state, so that any
//! process has the numbers of any block without drawing those before it.

/// Philox4x64-10 of J. Salmon, M. Moraes, R. Dror and D. Shaw, *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011.
///
/// Whole-number arithmetic only, so every platform draws the same; the tests hold it to the authors' known answers. It
/// is written out here, and not taken from a crate, because the numbers may never change: a stored run must be able to
/// be repeated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Philox {
    key: [u64; 2],
}

/// The paper's multipliers and Weyl constants for four words of 64 bits.
const MULTIPLIERS: [u64; 2] = [0xD2E7_470E_E14C_6C93, 0xCA5A_8263_9512_1157];
const WEYL: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B];
const ROUNDS: u32 = 10;

impl Philox {
    pub(crate) fn new(key: [u64; 2]) -> Self {
        Self { key }
    }

    /// The four random numbers at a place.
    pub(crate) fn at(self, counter: [u64; 4]) -> [u64; 4] {
        let mut words = counter;
        let mut key = self.key;
        for _ in 0..ROUNDS {
            let (low_0, high_0) = words[0].carrying_mul(MULTIPLIERS[0], 0);
            let (low_1, high_1) = words[2].carrying_mul(MULTIPLIERS[1], 0);
            words = [high_1 ^ words[1] ^ key[0], low_1, high_0 ^ words[3] ^ key[1], low_0];
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `tests/kat_vectors` of the authors' Random123.
    #[test]
    fn the_authors_known_answers() {
        let check = |key, counter, expected| assert_eq!(Philox::new(key).at(counter), expected);
        check(
            [0; 2],
            [0; 4],
            [0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b],
        );
        check(
            [u64::MAX; 2],
            [u64::MAX; 4],
            [0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0],
        );
        check(
            [0x452821e638d01377, 0xbe5466cf34e90c6c],
            [0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89],
            [0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6],
        );
    }
}
