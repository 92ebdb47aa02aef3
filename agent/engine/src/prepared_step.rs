//! One request of the plan, made ready: its bytes, where its body comes from, how long it waits for what, and what its
//! answer must be.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use volley_plan::Check;

use crate::control::NEVER;
use crate::http1::Prepared;

/// So much of a streamed body is read and written at a time. What the socket doesn't take of it is read again.
const PIECE_BYTES: usize = 64 * 1024;
/// What a filled body is made of.
static FILLING: [u8; PIECE_BYTES] = [b'x'; PIECE_BYTES];

/// One request of the plan, made ready. A clone shares its bytes and its file.
#[derive(Clone, Debug)]
pub(crate) struct PreparedStep {
    pub(crate) request: Prepared,
    pub(crate) body: BodySource,
    pub(crate) waits: Waits,
    pub(crate) check: Check,
}

/// Where a body comes from.
#[derive(Clone, Debug)]
pub(crate) enum BodySource {
    /// It is a part of the prepared bytes, or there is none.
    Prepared,
    /// A file, from its beginning on. Reading it is taken for quick: the page cache has it, or soon does.
    File(Arc<File>),
    /// Nothing but `x`.
    Filling,
}

/// How long is waited for what, in nanoseconds; [`NEVER`] where only the whole request is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    /// From the last byte of the request to the first of the answer.
    pub(crate) first_byte_ns: u64,
    /// From one piece of the answer to the next.
    pub(crate) idle_ns: u64,
    /// From the end of a head that asks for leave to the body.
    pub(crate) leave_ns: u64,
}

impl Waits {
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { first_byte_ns: NEVER, idle_ns: NEVER, leave_ns: NEVER };

    /// Whether there is any.
    #[inline]
    pub(crate) fn are_set(&self) -> bool {
        // NEVER is all ones.
        (self.first_byte_ns & self.idle_ns & self.leave_ns) != NEVER
    }
}

impl PreparedStep {
    /// What is to be written from byte `at` up to byte `until` of the request, as much of it as is at hand, and never
    /// nothing. `bytes` are the prepared ones of this iteration; `room` is for what comes from elsewhere.
    ///
    /// # Errors
    ///
    /// Where the file can't be read or has got shorter.
    #[inline]
    pub(crate) fn piece<'a>(
        &self,
        bytes: &'a [u8],
        at: u64,
        until: u64,
        room: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        // Prepared bytes are in memory, so their number fits.
        if until <= bytes.len() as u64 {
            return Ok(&bytes[at as usize..until as usize]);
        }
        self.streamed_piece(bytes, at, until, room)
    }

    /// The head's end goes together with the body's beginning.
    #[cold]
    fn streamed_piece<'a>(
        &self,
        head: &[u8],
        at: u64,
        until: u64,
        room: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        let most = room.len().min(PIECE_BYTES);
        let head_rest = usize::try_from(at).ok().and_then(|at| head.get(at..)).unwrap_or(&[]);
        let head_bytes = head_rest.len().min(most);
        let body_at = at.saturating_sub(head.len() as u64);
        let body_bytes = usize::try_from(until - at).unwrap_or(most).min(most) - head_bytes;
        if let (BodySource::Filling, 0) = (&self.body, head_bytes) {
            return Ok(&FILLING[..body_bytes]);
        }
        room[..head_bytes].copy_from_slice(&head_rest[..head_bytes]);
        let body_bytes = self.body.read(body_at, &mut room[head_bytes..head_bytes + body_bytes])?;
        Ok(&room[..head_bytes + body_bytes])
    }
}

impl BodySource {
    /// Reads what there is from this place on, as far as it fits; something, unless nothing fits.
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        match self {
            Self::Prepared => Err(io::ErrorKind::UnexpectedEof.into()),
            Self::Filling => {
                room.fill(FILLING[0]);
                Ok(room.len())
            }
            Self::File(file) => loop {
                match file.read_at(room, at) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => return read,
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::http1::{Content, Parts};

    /// A request with a body of this many bytes, and its head.
    fn step(body: BodySource, bytes: u64) -> (PreparedStep, Vec<u8>) {
        let request = Prepared::new(&Parts {
            method: "PUT",
            host: "target.test",
            request_target: "/",
            headers: &[],
            body: Content::Streamed(bytes),
            asks_first: false,
            keep_alive: true,
            http_1_0: false,
        })
        .unwrap();
        let head = request.bytes().to_vec();
        (PreparedStep { request, body, waits: Waits::NONE, check: Check::default() }, head)
    }

    /// All pieces in a row, where the socket takes at most `taken` bytes at a time.
    fn check(body: BodySource, expected: &[u8], room: usize, taken: usize) {
        let (step, head) = step(body, expected.len() as u64);
        let mut room = vec![0; room];
        let until = step.request.bytes_in_all();
        let mut sent = Vec::new();
        while (sent.len() as u64) < until {
            let piece = step.piece(&head, sent.len() as u64, until, &mut room).unwrap();
            assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES);
            sent.extend_from_slice(&piece[..piece.len().min(taken)]);
        }
        assert!(sent == [&head, expected].concat(), "with {} and {taken}", room.len());
    }

    fn file(content: &[u8]) -> BodySource {
        let path = std::env::temp_dir().join(format!("volley-body-{}-{}", std::process::id(), content.len()));
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.write_all(content).unwrap();
        BodySource::File(Arc::new(file))
    }

    #[test]
    fn pieces_in_a_row_are_the_request() {
        let content: Vec<u8> = (0..200_000_u32).map(|n| n as u8 ^ (n >> 8) as u8).collect();
        for (room, taken) in [(300_000, usize::MAX), (300_000, 7001), (1000, usize::MAX), (17, 1000)] {
            check(file(&content), &content, room, taken);
            check(BodySource::Filling, &vec![b'x'; 200_000], room, taken);
        }
    }

    #[test]
    fn a_head_goes_together_with_the_beginning_of_its_body() {
        let (step, head) = step(BodySource::Filling, 10);
        let piece = step.piece(&head, 0, step.request.bytes_in_all(), &mut [0; 1000]).unwrap().to_vec();
        assert_eq!(piece, [&head, &b"xxxxxxxxxx"[..]].concat());
        assert_eq!(step.piece(&head, 0, head.len() as u64, &mut [0; 1000]).unwrap(), head);
    }

    #[test]
    fn a_file_that_got_shorter_is_an_error() {
        let (step, head) = step(file(b"four"), 5);
        let (at, until) = (step.request.bytes_in_all() - 1, step.request.bytes_in_all());
        let error = step.piece(&head, at, until, &mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn waits_are_set_where_one_is() {
        assert!(!Waits::NONE.are_set());
        assert!(Waits { idle_ns: 5, ..Waits::NONE }.are_set());
        assert!(Waits { leave_ns: u64::MAX - 1, ..Waits::NONE }.are_set());
    }
}
