//! What is timed of a worker's requests for all steps together: the phases of each, and how late it was taken up.

use crate::{COARSE_DIGITS, Count, DecodeError, Histogram, SealedHistogram};

/// A histogram of what is timed for all steps together.
type Coarse<C> = Histogram<C, COARSE_DIGITS>;

macro_rules! timed {
    ($($(#[$doc:meta])* $timed:ident = $name:literal;)*) => {
        /// What is timed of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Timed { $($(#[$doc])* $timed,)* }

        impl Timed {
            /// All of them, in the order in which a request goes through them; an index into it is the number on the
            /// wire, so that it is never given a new meaning.
            pub const ALL: &'static [Self] = &[$(Self::$timed,)*];

            /// The name used in JSON and on pages.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$timed => $name,)* }
            }
        }
    };
}

timed! {
    /// From the moment an iteration was due to the moment the loop took it up: what the generator itself was late.
    Lag = "lag";
    /// From there until there was a connection to send on, or leave to open one.
    Wait = "wait";
    /// Turning the target's name into addresses.
    Resolve = "resolve";
    /// Opening the connection.
    Connect = "connect";
    /// The TLS handshake.
    Tls = "tls";
    /// Writing the request.
    Send = "send";
    /// From the last byte written to the first byte of the answer.
    FirstByte = "first_byte";
    /// From the first byte of the answer to its last.
    Receive = "receive";
}

/// Histograms of what is timed, by [`Timed`]; two digits, each made when first used.
///
/// Phases are of requests that were answered, and a phase that a request didn't have (a connection that was there) is
/// not in them. Lag is of every iteration that was taken up.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing<C: Count = u32>([Coarse<C>; Timed::ALL.len()]);

impl<C: Count> Default for Timing<C> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Coarse::default()))
    }
}

impl<C: Count> Timing<C> {
    /// Records one duration in nanoseconds.
    #[inline]
    pub fn record(&mut self, timed: Timed, value_ns: u64) {
        self.0[timed as usize].record(value_ns);
    }

    /// The histogram of one of them.
    #[must_use]
    pub fn of(&self, timed: Timed) -> &Coarse<C> {
        &self.0[timed as usize]
    }

    /// Adds a histogram in its small form to that of one of them.
    ///
    /// # Errors
    /// See [`Histogram::merge_bytes`].
    pub fn merge_sealed(&mut self, timed: Timed, sealed: &SealedHistogram) -> Result<(), DecodeError> {
        sealed.merge_into(&mut self.0[timed as usize])
    }

    /// Those in which anything was recorded.
    pub fn iter(&self) -> impl Iterator<Item = (Timed, &Coarse<C>)> {
        Timed::ALL.iter().copied().zip(&self.0).filter(|(_, histogram)| !histogram.is_empty())
    }

    /// True if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Adds what another has recorded.
    pub fn merge<E: Count>(&mut self, other: &Timing<E>) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.merge(theirs);
        }
    }

    /// Forgets everything and keeps the histograms' memory.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(Histogram::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_recorded_and_merged_apart() {
        let mut one = Timing::<u32>::default();
        assert!(one.is_empty());
        one.record(Timed::Lag, 1_000);
        one.record(Timed::Receive, 70_000);
        let mut sum = Timing::<u64>::default();
        sum.merge(&one);
        sum.merge(&one);
        let counts: Vec<_> = sum.iter().map(|(timed, histogram)| (timed.name(), histogram.count())).collect();
        assert_eq!(counts, [("lag", 2), ("receive", 2)]);
        assert_eq!(sum.of(Timed::Lag).max_ns(), Some(1_000));
        one.clear();
        assert!(one.is_empty());
    }

    #[test]
    fn numbers_and_names_are_told_apart() {
        for (index, timed) in Timed::ALL.iter().enumerate() {
            assert_eq!(*timed as usize, index);
        }
        let mut names: Vec<_> = Timed::ALL.iter().map(|timed| timed.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Timed::ALL.len());
    }
}
