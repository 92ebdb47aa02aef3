//! Files that a plan names: they lie on the machine that sends the requests, in the folder that it keeps for them.

use std::fmt;

/// The name of a file, or of one in folders below: `ca.pem`, `uploads/large.bin`. It never leads out of the folder that
/// it is looked up in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(String);

/// Why a text is no such name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileNameError {
    /// It is empty, or has an empty part.
    #[error("a name with nothing in it")]
    Empty,
    /// It begins with a slash.
    #[error("an absolute path")]
    Absolute,
    /// It has a part that is `.` or `..`.
    #[error("a path with `.` or `..` in it")]
    Dots,
    /// A control character or a backslash.
    #[error("a control character or backslash")]
    Character,
    /// It is longer than [`FileName::MAX_BYTES`].
    #[error("a name longer than {} bytes", FileName::MAX_BYTES)]
    TooLong,
}

impl FileName {
    /// Most bytes of a name.
    pub const MAX_BYTES: usize = 1024;

    /// Reads a name; parts are divided by slashes.
    ///
    /// # Errors
    /// [`FileNameError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, FileNameError> {
        if text.len() > Self::MAX_BYTES {
            return Err(FileNameError::TooLong);
        }
        if text.starts_with('/') {
            return Err(FileNameError::Absolute);
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err(FileNameError::Character);
        }
        for part in text.split('/') {
            match part {
                "" => return Err(FileNameError::Empty),
                "." | ".." => return Err(FileNameError::Dots),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let check = |text: &str, expected: Result<(), FileNameError>| {
            assert_eq!(FileName::parse(text).map(|_| ()), expected, "{text:?}");
        };
        check("ca.pem", Ok(()));
        check("uploads/a b/..c", Ok(()));
        check("", Err(FileNameError::Empty));
        check("a//b", Err(FileNameError::Empty));
        check("a/", Err(FileNameError::Empty));
        check("/etc/passwd", Err(FileNameError::Absolute));
        check("a/../b", Err(FileNameError::Dots));
        check("./a", Err(FileNameError::Dots));
        check("a\\b", Err(FileNameError::Character));
        check("a\0b", Err(FileNameError::Character));
        check(&"a".repeat(2000), Err(FileNameError::TooLong));
    }
}
