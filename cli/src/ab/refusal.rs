//! Why there is no report, and the exit code that ab has for that.

use super::usage::USAGE;
use crate::exit::Failure;
use crate::output;

/// ab's exit code for flags that can't be.
const USAGE_CODE: u8 = 22;
/// ab's for most else.
const FAILURE_CODE: u8 = 1;

/// Why there is no report.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) sentence: String,
    pub(super) code: u8,
    shows_usage: bool,
    /// Whether the sentence has no `ab:` before it.
    is_bare: bool,
}

impl Refusal {
    /// Flags that can't be; the usage is shown with it.
    pub(super) fn usage(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: USAGE_CODE, shows_usage: true, is_bare: false }
    }

    /// A flag that ab has and this hasn't.
    pub(super) fn not_here(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: USAGE_CODE, shows_usage: false, is_bare: false }
    }

    /// Anything else.
    pub(super) fn plain(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: FAILURE_CODE, shows_usage: false, is_bare: false }
    }

    /// The same in a sentence that has no `ab:` before it.
    pub(super) fn bare(sentence: impl Into<String>) -> Self {
        Self { is_bare: true, ..Self::plain(sentence) }
    }

    /// The same with another exit code.
    pub(super) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Prints it to stderr.
    pub(super) fn report(&self) -> u8 {
        let name = if self.is_bare { "" } else { "ab: " };
        output::say(&format!("{name}{}", self.sentence));
        if self.shows_usage {
            output::draw(USAGE);
        }
        self.code
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::plain(format!("{:#}", failure.error))
    }
}
