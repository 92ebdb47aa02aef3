//! A file is read as it was written, up to wherever it was torn; and nobody takes one whose writer lives.

use super::*;
use crate::testing::{State, numbered, run_id};

const WRITER: Incarnation = Incarnation(0xab);

fn source() -> Source {
    Source { run: run_id("r"), of: Some(WRITER) }
}

/// A directory with a file of so many windows, and its writer.
fn written(windows: u64) -> (State, Writer) {
    let state = State::new();
    fs::create_dir(state.path()).expect("a new directory");
    let mut writer = Writer::create(&state.path(), &run_id("r"), WRITER).expect("a new file");
    for sequence in 1..=windows {
        writer.append(&numbered(&source(), sequence, sequence == windows)).expect("there is room");
    }
    (state, writer)
}

/// The numbers of all windows that can be read of a file, each of which must be as it was written.
fn read(path: &Path, last: u64) -> Option<Vec<u64>> {
    let Opened::Ours(mut reader) = open(path).expect("it can be opened") else { return None };
    assert_eq!(*reader.source(), source());
    let windows = std::iter::from_fn(|| reader.next().expect("it can be read"));
    let sequences = windows.map(|window| {
        assert_eq!(window, numbered(&source(), window.sequence, window.sequence == last));
        window.sequence
    });
    Some(sequences.collect())
}

#[test]
fn what_was_written_is_read_by_the_next_process_alone() {
    let (state, writer) = written(3);
    let path = writer.path.clone();
    assert_eq!(state.names(), ["r.00000000000000ab.windows"]);
    assert!(matches!(open(&path), Ok(Opened::Theirs)), "its writer lives");
    drop(writer);
    let Ok(Opened::Ours(reader)) = open(&path) else { panic!("its writer is gone") };
    assert!(matches!(open(&path), Ok(Opened::Theirs)), "it has a reader");
    drop(reader);
    assert_eq!(read(&path, 3), Some(vec![1, 2, 3]));
    let Ok(Opened::Ours(reader)) = open(&path) else { panic!("nobody has it") };
    reader.remove().expect("it is there");
    assert_eq!(state.names(), [""; 0]);
}

/// The ends of the records of a file: of its header, and of each window.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![MAGIC.len()];
    while let Some(frame) = bytes.get(ends[ends.len() - 1]..).and_then(|rest| rest.first_chunk::<4>()) {
        ends.push(ends[ends.len() - 1] + FRAME_BYTES + u32::from_le_bytes(*frame) as usize);
    }
    ends.split_off(1)
}

#[test]
fn a_file_torn_at_any_byte_gives_all_whole_windows() {
    let (_state, writer) = written(3);
    let path = writer.path.clone();
    drop(writer);
    let bytes = fs::read(&path).expect("it was written");
    let ends = ends(&bytes);
    assert_eq!((ends.len(), ends.last()), (4, Some(&bytes.len())));
    for length in 0..=bytes.len() {
        fs::write(&path, &bytes[..length]).expect("there is room");
        let whole = ends.iter().filter(|end| **end <= length).count() as u64;
        let expected = whole.checked_sub(1).map(|windows| (1..=windows).collect());
        assert_eq!(read(&path, 3), expected, "{length} of {} bytes", bytes.len());
    }
}

#[test]
fn a_damaged_byte_ends_a_file_where_it_stands() {
    let (_state, writer) = written(3);
    let path = writer.path.clone();
    drop(writer);
    let bytes = fs::read(&path).expect("it was written");
    let ends = ends(&bytes);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        fs::write(&path, &damaged).expect("there is room");
        let whole = ends.iter().filter(|end| **end <= at).count() as u64;
        let expected = whole.checked_sub(1).map(|windows| (1..=windows).collect());
        assert_eq!(read(&path, 3), expected, "byte {at}");
    }
}

#[test]
fn an_absurd_length_is_the_end() {
    let (_state, writer) = written(1);
    let path = writer.path.clone();
    drop(writer);
    let mut file = OpenOptions::new().append(true).open(&path).expect("it is there");
    file.write_all(&u32::MAX.to_le_bytes()).expect("there is room");
    file.write_all(&[0; 100]).expect("there is room");
    assert_eq!(read(&path, 1), Some(vec![1]));
}

#[test]
fn a_file_is_cut_back_only_when_all_is_acknowledged_and_it_pays() {
    let (_state, mut writer) = written(0);
    let bytes = |writer: &Writer| fs::metadata(&writer.path).expect("it is there").len();
    let mut sequence = 0;
    while writer.bytes <= MAX_ACKNOWLEDGED_BYTES {
        sequence += 1;
        writer.append(&numbered(&source(), sequence, false)).expect("there is room");
    }
    let whole = bytes(&writer);
    writer.clear(sequence - 1).expect("nothing to do");
    assert_eq!(bytes(&writer), whole);
    writer.clear(sequence).expect("it can be cut");
    assert_eq!(bytes(&writer), writer.header_bytes);
    writer.append(&numbered(&source(), sequence + 1, true)).expect("there is room");
    writer.clear(sequence + 1).expect("nothing to do");
    let path = writer.path.clone();
    drop(writer);
    assert_eq!(read(&path, sequence + 1), Some(vec![sequence + 1]));
}

#[test]
fn what_is_of_another_form_is_left_alone() {
    let (_state, writer) = written(1);
    let path = writer.path.clone();
    drop(writer);
    let mut bytes = fs::read(&path).expect("it was written");
    bytes[MAGIC.len() - 1] = b'2';
    fs::write(&path, &bytes).expect("there is room");
    assert!(matches!(open(&path), Ok(Opened::Foreign)));
    fs::write(&path, b"").expect("there is room");
    assert!(matches!(open(&path), Ok(Opened::Foreign)));
}
