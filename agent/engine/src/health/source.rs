//! How the kernel's figures are read: files that are opened once, and counters that only grow.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Room that a text gets at first.
const FIRST_BYTES: usize = 1 << 10;
/// Most bytes of a text. A machine of 8,000 processors has a /proc/stat of this size.
const MOST_BYTES: usize = 1 << 20;

/// A text of the kernel's, which is made anew whenever it is read from its beginning.
#[derive(Debug)]
pub(super) struct Source {
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Source {
    /// Where there is no such file every reading is `None`.
    pub(super) fn open(path: &Path) -> Self {
        Self { file: File::open(path).ok(), buffer: Vec::new() }
    }

    /// The text as it is now; `None` where it can't be read, also because what it tells of is gone.
    pub(super) fn read(&mut self) -> Option<&str> {
        let file = self.file.as_ref()?;
        let mut length = FIRST_BYTES;
        loop {
            if self.buffer.len() < length {
                self.buffer.resize(length, 0);
            }
            let bytes = match file.read_at(&mut self.buffer, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.ok()?,
            };
            // A text that fills the buffer may be cut off; one that doesn't is whole, since these files give at once
            // all that they have.
            if bytes < self.buffer.len() {
                return str::from_utf8(&self.buffer[..bytes]).ok();
            }
            length = self.buffer.len() * 2;
            if length > MOST_BYTES {
                return None;
            }
        }
    }
}

/// A number that only grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    last: Option<u64>,
}

impl Counter {
    /// By how much it grew since the last reading. The first reading is the one to begin from; one that failed changes
    /// nothing.
    pub(super) fn passed(&mut self, reading: Option<u64>) -> u64 {
        let Some(now) = reading else { return 0 };
        let last = self.last.replace(now).unwrap_or(now);
        now.saturating_sub(last)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_counter_tells_what_passed() {
        let mut counter = Counter::default();
        for (reading, expected) in [
            (None, 0),
            (Some(1_000), 0),
            (Some(1_250), 250),
            (None, 0),
            (Some(1_300), 50),
            (Some(7), 0),
            (Some(9), 2),
        ] {
            assert_eq!(counter.passed(reading), expected, "{reading:?}");
        }
    }

    #[test]
    fn a_text_is_read_whole_and_anew() {
        let path = std::env::temp_dir().join(format!("volley-source-{}", std::process::id()));
        let mut file = File::create(&path).expect("a file");
        let mut source = Source::open(&path);
        std::fs::remove_file(&path).expect("its name is gone, it stays open");
        assert_eq!(source.read(), Some(""));
        let mut written = 0;
        for length in [1, FIRST_BYTES - 1, FIRST_BYTES, 5 * FIRST_BYTES, MOST_BYTES - 1] {
            file.write_all(&vec![b'x'; length - written]).expect("written");
            written = length;
            assert_eq!(source.read().map(str::len), Some(length));
        }
        file.write_all(b"x").expect("written");
        assert_eq!(source.read(), None, "too much");
    }

    #[test]
    fn what_cannot_be_read_is_no_error() {
        assert_eq!(Source::open(Path::new("/proc/self/no-such-file")).read(), None);
        assert_eq!(Source::open(Path::new("/proc/self")).read(), None, "a directory");
    }
}
