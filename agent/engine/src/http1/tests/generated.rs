//! Generated answers: valid ones against a model of what they mean, damaged ones and mere bytes against
//! themselves under other cuts.

use proptest::collection::vec;
use proptest::prelude::*;

use super::answers::{FILLERS, answer, nearly_answers};
use super::{GET, HEAD, Reading, pieces_of, read};
use crate::http1::response::MAX_HEAD_BYTES;
use crate::http1::{Parser, RequestKind};

/// Rising places to cut an input of this length.
fn cuts(places: &[prop::sample::Index], len: usize) -> Vec<usize> {
    let mut cuts: Vec<_> = places.iter().map(|place| place.index(len + 1)).collect();
    cuts.sort_unstable();
    cuts
}

fn read_cut(parser: &mut Parser, kind: RequestKind, wire: &[u8], places: &[prop::sample::Index]) -> Reading {
    read(parser, kind, pieces_of(wire, &cuts(places, wire.len())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn valid_answers_mean_what_they_say(answer in answer(), places in vec(any::<prop::sample::Index>(), 0..8)) {
        let mut parser = Parser::new(answer.kind);
        let expected = Ok((answer.outcome, answer.content));
        prop_assert_eq!(&read_cut(&mut parser, answer.kind, &answer.wire, &places), &expected);
        prop_assert_eq!(parser.interim(), answer.interim);
        let codings = parser.codings();
        prop_assert_eq!(codings.applied(), Some(&answer.codings[..]));
        prop_assert_eq!(&read(&mut parser, answer.kind, [&answer.wire[..]]), &expected);
        prop_assert_eq!(&read(&mut parser, answer.kind, [&answer.wire[..]]), &expected, "head known");
        prop_assert_eq!(&read_cut(&mut parser, answer.kind, &answer.wire, &places), &expected, "head known, cut");
    }

    #[test]
    fn bytes_mean_the_same_however_they_are_cut(
        wire in nearly_answers(),
        is_head in any::<bool>(),
        places in vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let kind = if is_head { HEAD } else { GET };
        let mut parser = Parser::new(kind);
        let whole = read(&mut parser, kind, [&wire[..]]);
        prop_assert_eq!(&read_cut(&mut parser, kind, &wire, &places), &whole);
        prop_assert_eq!(&read(&mut parser, kind, wire.chunks(1)), &whole, "byte by byte");
    }

    #[test]
    fn memory_is_bounded(
        start in nearly_answers(),
        filler in prop::sample::select(&FILLERS[..]),
        piece_bytes in 1..5000usize,
    ) {
        let mut parser = Parser::new(GET);
        let wire = [&start[..], &filler.repeat(200_000 / filler.len())].concat();
        for piece in wire.chunks(piece_bytes) {
            let _ = parser.receive(piece);
            prop_assert!(parser.capacity_bytes() <= 2 * MAX_HEAD_BYTES + 1024);
        }
    }
}
