//! One file of windows: of one run, measured by one process.
//!
//! ```text
//! magic and version   8 bytes
//! header              a record: the incarnation (8 bytes, little-endian), then the run's name
//! windows             records: `NumberedWindow` messages of fleet.proto, their numbers rising by one
//! ```
//!
//! A record is its length (4 bytes, little-endian), the CRC-32 of what follows (the same), and that. Each is appended with
//! one write, so a process that is killed leaves whole records and at most one torn one at the end, which is as if it had
//! not been written. Loss of power is not provided for.
//!
//! The process that writes a file holds a lock on it (flock). So a file that can be locked is of a process that has ended,
//! and belongs to who locked it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use prost::Message;
use volley_plan::link::{Incarnation, Report, RunId};
use volley_proto::limits::MAX_MESSAGE_BYTES;
use volley_proto::v1;

use super::{Numbered, Source};

/// What each file begins with; the last character is the version of its form.
const MAGIC: &[u8; 8] = b"volleyw1";
/// Length and CRC.
const FRAME_BYTES: usize = 8;
/// A file that grows beyond this is given up: its windows are never all acknowledged.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// A file whose windows are all acknowledged is cut back once it is larger than this.
const MAX_ACKNOWLEDGED_BYTES: u64 = 256 << 10;

/// What names of files end with.
pub(super) const ENDING: &str = ".windows";
/// The same of those that are being made.
pub(super) const ENDING_NEW: &str = ".windows-new";

/// The file of a run that this process writes.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    path: PathBuf,
    header_bytes: u64,
    bytes: u64,
    /// The number of the last window in it; 0 without any.
    last: u64,
    /// The windows up to this number are acknowledged.
    cleared: u64,
}

impl Writer {
    /// A new file. It gets its name once it is locked and has its header, so nobody finds half of one.
    pub(super) fn create(directory: &Path, run: &RunId, incarnation: Incarnation) -> io::Result<Self> {
        let name = format!("{run}.{incarnation}");
        let path = directory.join(format!("{name}{ENDING}"));
        let new = directory.join(format!("{name}{ENDING_NEW}"));
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).truncate(false).mode(0o600).open(&new)?;
        lock(&file)?;
        file.set_len(0)?;
        let header = header(run, incarnation);
        file.write_all(&header)?;
        fs::rename(&new, &path)?;
        let header_bytes = header.len() as u64;
        Ok(Self { file, path, header_bytes, bytes: header_bytes, last: 0, cleared: 0 })
    }

    /// Appends a window.
    pub(super) fn append(&mut self, window: &Numbered) -> io::Result<()> {
        let record = record(&message(window).encode_to_vec())?;
        self.bytes += record.len() as u64;
        if self.bytes > MAX_FILE_BYTES {
            return Err(io::Error::other(
                "the file has grown too large, since too little of it was acknowledged",
            ));
        }
        self.file.write_all(&record)?;
        self.last = window.sequence;
        Ok(())
    }

    /// All windows up to this one are acknowledged. If there are no others and it pays, the file is cut back.
    pub(super) fn clear(&mut self, up_to: u64) -> io::Result<()> {
        self.cleared = self.cleared.max(up_to);
        if self.is_cleared() && self.bytes > MAX_ACKNOWLEDGED_BYTES {
            self.file.set_len(self.header_bytes)?;
            self.bytes = self.header_bytes;
        }
        Ok(())
    }

    /// True if all its windows are acknowledged, so that nobody needs it but for more of them.
    pub(super) fn is_cleared(&self) -> bool {
        self.cleared >= self.last
    }

    /// Takes the file away.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// A file that an earlier process left, locked by this one.
#[derive(Debug)]
pub(super) struct Reader {
    file: BufReader<File>,
    path: PathBuf,
    source: Source,
    /// The number of the last window that was read; 0 before the first.
    last: u64,
}

/// What a file in the directory turned out to be.
#[derive(Debug)]
pub(super) enum Opened {
    /// Left by an earlier process; now this one's.
    Ours(Reader),
    /// Written or read by another process, or gone by now.
    Theirs,
    /// Of an earlier process, but not of this form.
    Foreign,
}

/// Opens a file that some process has written, unless it is another's.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    // Between its opening and its locking, who had it may have removed it.
    if !lock_if_free(&file)? || file.metadata()?.nlink() == 0 {
        return Ok(Opened::Theirs);
    }
    let mut file = BufReader::new(file);
    let mut magic = [0; MAGIC.len()];
    let is_ours = read_whole(&mut file, &mut magic)? && magic == *MAGIC;
    let header = if is_ours { read_record(&mut file)? } else { None };
    Ok(match header.as_deref().and_then(source) {
        Some(source) => Opened::Ours(Reader { file, path: path.to_owned(), source, last: 0 }),
        None => Opened::Foreign,
    })
}

impl Reader {
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The next window; `None` where there is no other whole one.
    pub(super) fn next(&mut self) -> io::Result<Option<Numbered>> {
        let Some(bytes) = read_record(&mut self.file)? else { return Ok(None) };
        let window = window(&bytes, &self.source);
        let next = window.filter(|window| self.last == 0 || window.sequence == self.last + 1);
        if let Some(window) = &next {
            self.last = window.sequence;
        } else {
            tracing::warn!(path = %self.path.display(), "what follows in this file of results can't be read");
        }
        Ok(next)
    }

    /// Takes the file away.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => io::Error::other("another process has locked it"),
    })
}

pub(super) fn lock_if_free(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn header(run: &RunId, Incarnation(number): Incarnation) -> Vec<u8> {
    let payload = [&number.to_le_bytes(), run.as_str().as_bytes()].concat();
    let record = record(&payload).expect("a run's name has at most 64 bytes");
    [MAGIC.as_slice(), &record].concat()
}

fn source(header: &[u8]) -> Option<Source> {
    let (number, run) = header.split_first_chunk::<8>()?;
    let run = RunId::new(std::str::from_utf8(run).ok()?)?;
    Some(Source { run, of: Some(Incarnation(u64::from_le_bytes(*number))) })
}

fn message(window: &Numbered) -> v1::NumberedWindow {
    let Numbered { sequence, window, last, .. } = window;
    v1::NumberedWindow { sequence: *sequence, window: Some(window.clone().into()), last: *last }
}

fn window(bytes: &[u8], source: &Source) -> Option<Numbered> {
    let message = v1::NumberedWindow::decode(bytes).ok()?;
    match Report::try_from(v1::report::Report::Window(message)).ok()? {
        Report::Window { sequence, window, last } => {
            Some(Numbered { source: source.clone(), sequence, window, last })
        }
        _ => None,
    }
}

fn record(payload: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    Ok([&length.to_le_bytes(), &crc32fast::hash(payload).to_le_bytes(), payload].concat())
}

/// The next whole record; `None` at the end, and where it is torn.
fn read_record(file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut frame = [0; FRAME_BYTES];
    if !read_whole(file, &mut frame)? {
        return Ok(None);
    }
    let [l0, l1, l2, l3, c0, c1, c2, c3] = frame;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > MAX_MESSAGE_BYTES {
        return Ok(None);
    }
    let mut payload = vec![0; length];
    let is_whole = read_whole(file, &mut payload)?;
    let crc = u32::from_le_bytes([c0, c1, c2, c3]);
    Ok((is_whole && crc32fast::hash(&payload) == crc).then_some(payload))
}

/// False where the file ends before.
fn read_whole(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
