//! Results in their small form, as they are sent and kept: an open histogram takes a hundred kilobytes, a sealed one as
//! much as it has values.
//!
//! What comes from elsewhere is sealed until it is added to something, and checked before that: [`SealedWindow::check`].

use std::collections::BTreeMap;

use thiserror::Error;

use crate::window::iterations_in;
use crate::{
    Addresses, COARSE_DIGITS, Count, Counters, DIGITS, DecodeError, Health, Histogram, Iterations, Row,
    RowKey, Second, Timed, Window,
};

/// What is wrong with a row that came from elsewhere.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RowFault {
    /// A histogram that can't be read.
    #[error("{histogram} can't be read")]
    Histogram {
        /// Which.
        histogram: &'static str,
        /// Why.
        source: DecodeError,
    },
    /// A histogram that doesn't hold what the counter of its row says.
    #[error("{histogram} holds {values} values, the counter says {counter}")]
    Disagreement {
        /// Which.
        histogram: &'static str,
        /// How many it holds.
        values: u64,
        /// How many it should hold.
        counter: u64,
    },
}

/// A histogram as bytes, with its exact minimum and maximum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedHistogram {
    /// HdrHistogram V2; empty when nothing was recorded.
    pub bytes: Vec<u8>,
    /// The smallest value in nanoseconds; 0 when nothing was recorded.
    pub min_ns: u64,
    /// The largest value in nanoseconds; 0 when nothing was recorded.
    pub max_ns: u64,
}

impl SealedHistogram {
    /// The small form of a histogram.
    #[must_use]
    pub fn of<C: Count, const D: u8>(histogram: &Histogram<C, D>) -> Self {
        Self {
            bytes: histogram.to_bytes(),
            min_ns: histogram.min_ns().unwrap_or(0),
            max_ns: histogram.max_ns().unwrap_or(0),
        }
    }

    /// Adds it to a histogram.
    ///
    /// # Errors
    /// See [`Histogram::merge_bytes`].
    pub fn merge_into<C: Count, const D: u8>(&self, sum: &mut Histogram<C, D>) -> Result<(), DecodeError> {
        sum.merge_bytes(&self.bytes, self.min_ns, self.max_ns)
    }

    /// How many values it holds.
    fn count<const D: u8>(&self, name: &'static str) -> Result<u64, RowFault> {
        let count = Histogram::<u32, D>::count_of_bytes(&self.bytes, self.min_ns, self.max_ns);
        count.map_err(|source| RowFault::Histogram { histogram: name, source })
    }

    /// That it holds as many values as the counter says.
    fn check(&self, name: &'static str, counter: u64) -> Result<(), RowFault> {
        let values = self.count::<DIGITS>(name)?;
        if values == counter {
            Ok(())
        } else {
            Err(RowFault::Disagreement { histogram: name, values, counter })
        }
    }
}

/// A row whose histograms are in HdrHistogram V2 form: kilobytes instead of a hundred of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedRow {
    /// What is counted.
    pub counters: Counters,
    /// Latency of ok requests.
    pub latency: SealedHistogram,
    /// Service time of ok requests.
    pub service_time: SealedHistogram,
    /// Latency of failed requests.
    pub failed_latency: SealedHistogram,
    /// Age of cancelled requests.
    pub cancelled_age: SealedHistogram,
    /// Phases and lag, those in which anything was recorded, with two digits.
    pub timing: Vec<(Timed, SealedHistogram)>,
}

impl SealedRow {
    /// The row to calculate with.
    ///
    /// # Errors
    /// See [`Histogram::from_bytes`].
    pub fn open<C: Count>(&self) -> Result<Row<C>, DecodeError> {
        let mut row = Row::default();
        row.merge_sealed(self)?;
        Ok(row)
    }

    /// That every histogram can be read, and holds as many values as its counter says. The closed model has no service
    /// time: there it is the latency.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), RowFault> {
        self.latency.check("latency", self.counters.ok)?;
        if !self.service_time.bytes.is_empty() {
            self.service_time.check("service_time", self.counters.ok)?;
        }
        self.failed_latency.check("failed_latency", self.counters.failed)?;
        self.cancelled_age.check("cancelled_age", self.counters.cancelled)?;
        self.timing
            .iter()
            .try_for_each(|(timed, sealed)| sealed.count::<COARSE_DIGITS>(timed.name()).map(drop))
    }
}

/// A [`Window`] whose histograms are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedWindow {
    /// Results by span, step and part.
    pub rows: BTreeMap<RowKey, SealedRow>,
    /// Scalars by second.
    pub seconds: BTreeMap<u32, Second>,
    /// How the generator itself was, by second.
    pub health: BTreeMap<u32, Health>,
    /// What went to each of the target's addresses, warm-up included.
    pub addresses: Addresses,
    /// Every second before this one is complete as far as this reporter is concerned.
    pub watermark_s: u32,
    /// Run time of the latest completion, in nanoseconds; 0 without any.
    pub latest_ns: u64,
}

impl SealedWindow {
    /// The small form of a window.
    #[must_use]
    pub fn of(window: &Window) -> Self {
        Self {
            rows: window.rows.iter().map(|(key, row)| (*key, row.seal())).collect(),
            seconds: window.seconds.clone(),
            health: window.health.clone(),
            addresses: window.addresses.clone(),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
        }
    }

    /// The window as it was.
    ///
    /// # Errors
    /// See [`Histogram::from_bytes`].
    pub fn open(&self) -> Result<Window, DecodeError> {
        let open = |(key, row): (&RowKey, &SealedRow)| Ok((*key, row.open()?));
        Ok(Window {
            rows: self.rows.iter().map(open).collect::<Result<_, DecodeError>>()?,
            seconds: self.seconds.clone(),
            health: self.health.clone(),
            addresses: self.addresses.clone(),
            watermark_s: self.watermark_s,
            latest_ns: self.latest_ns,
        })
    }

    /// That all of it can be opened, and says the same in counters and histograms.
    ///
    /// # Errors
    /// What is wrong with the first row that is not as it should be.
    pub fn check(&self) -> Result<(), RowFault> {
        self.rows.values().try_for_each(SealedRow::check)
    }

    /// Measured iterations in this window, in all its seconds.
    #[must_use]
    pub fn iterations(&self) -> Iterations {
        iterations_in(&self.seconds)
    }
}

#[cfg(test)]
mod tests;
