//! The merged results of a run: by second and step, and in all.
//!
//! The latest seconds stay open for cheap merging; older ones are sealed into kilobytes, and opened again when a late
//! row adds to them. Totals are kept beside them, so they never depend on how long the seconds are kept.

use std::collections::BTreeMap;

use crate::{
    ALL_STEPS, Addresses, DecodeError, Iterations, Part, Parts, Row, RowKey, SealedRow, Second, StepId,
    TotalRow, Window,
};

/// Seconds that stay open below the newest one; the span of the short-term figures fits in it.
const OPEN_SECONDS: u32 = 8;

#[derive(Clone, Debug)]
enum Cell {
    Open(Box<Row>),
    Sealed(Box<SealedRow>),
}

/// All results of one run, merged over agents.
#[derive(Clone, Debug, Default)]
pub struct Series {
    rows: BTreeMap<RowKey, Cell>,
    seconds: BTreeMap<u32, Second>,
    totals: BTreeMap<(Part, StepId), TotalRow>,
    iterations: Iterations,
    warmup: Iterations,
    addresses: Addresses,
    /// The end of the latest row.
    rows_end_s: u32,
    /// Rows that begin before this second are sealed.
    sealed_below_s: u32,
}

/// One second of a run, merged over agents and steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergedSecond {
    /// Scalars of the fleet.
    pub scalars: Second,
    /// All steps together.
    pub row: Row,
}

impl Series {
    /// Adds a window. A repeated window must be kept out by the caller: adding is not idempotent.
    ///
    /// # Errors
    /// Only where a sealed second cannot be opened again, which means damaged memory.
    pub fn add(&mut self, window: &Window) -> Result<(), DecodeError> {
        for (key, row) in &window.rows {
            self.add_row(*key, row)?;
        }
        for (second, scalars) in &window.seconds {
            self.seconds.entry(*second).or_default().merge(scalars);
            self.iterations.merge(&scalars.iterations);
            self.warmup.merge(&scalars.warmup);
        }
        self.addresses.merge(&window.addresses);
        self.seal_old(window.rows.keys().map(|key| key.from_s).min().unwrap_or(u32::MAX));
        Ok(())
    }

    fn add_row(&mut self, key: RowKey, row: &Row) -> Result<(), DecodeError> {
        self.totals.entry((key.part, key.step)).or_default().merge(row);
        self.rows_end_s = self.rows_end_s.max(key.to_s);
        match self.rows.get_mut(&key) {
            Some(Cell::Open(mine)) => mine.merge(row),
            Some(Cell::Sealed(mine)) => {
                let mut sum = row.clone();
                sum.merge_sealed(mine)?;
                self.rows.insert(key, Cell::Open(Box::new(sum)));
            }
            None => {
                self.rows.insert(key, Cell::Open(Box::new(row.clone())));
            }
        }
        Ok(())
    }

    /// Seals what lies far enough back. Begins where the last call ended, so a long run costs no more than a short one;
    /// a late row below that point is sealed by its own call.
    fn seal_old(&mut self, earliest_s: u32) {
        let bound_s = self.rows_end_s.saturating_sub(OPEN_SECONDS + 1);
        let from_s = earliest_s.min(self.sealed_below_s);
        for (_, cell) in self.rows.range_mut(first_of(from_s)..first_of(bound_s.max(from_s))) {
            if let Cell::Open(row) = cell {
                *cell = Cell::Sealed(Box::new(row.seal()));
            }
        }
        self.sealed_below_s = self.sealed_below_s.max(bound_s);
    }

    /// True if there is a row of this key.
    #[must_use]
    pub fn has_row(&self, key: &RowKey) -> bool {
        self.rows.contains_key(key)
    }

    /// One row in its small form, for whoever keeps rows elsewhere.
    #[must_use]
    pub fn row(&self, key: &RowKey) -> Option<SealedRow> {
        self.rows.get(key).map(|cell| match cell {
            Cell::Open(row) => row.seal(),
            Cell::Sealed(sealed) => (**sealed).clone(),
        })
    }

    /// Puts back a row that was kept elsewhere, in place of what is here of its key. Totals stay as they are.
    pub fn put_back_row(&mut self, key: RowKey, row: SealedRow) {
        self.rows_end_s = self.rows_end_s.max(key.to_s);
        self.rows.insert(key, Cell::Sealed(Box::new(row)));
    }

    /// Puts back the scalars of a second that were kept elsewhere, in place of those that are here.
    pub fn put_back_second(&mut self, second: u32, scalars: Second) {
        self.seconds.insert(second, scalars);
    }

    /// Puts back totals that were kept elsewhere, in place of those that are here.
    pub fn put_back_total(&mut self, part: Part, step: StepId, total: TotalRow) {
        self.totals.insert((part, step), total);
    }

    /// Puts back the iterations in all: those that are measured, and those of the warm-up.
    pub fn put_back_iterations(&mut self, iterations: Iterations, warmup: Iterations) {
        (self.iterations, self.warmup) = (iterations, warmup);
    }

    /// Puts back what went to each address, in place of what is here.
    pub fn put_back_addresses(&mut self, addresses: Addresses) {
        self.addresses = addresses;
    }

    /// Lets go of all rows but those that are to stay. Whoever keeps them elsewhere puts one back before something is
    /// added to it. Totals and scalars stay.
    pub fn retain_rows(&mut self, stays: impl Fn(&RowKey) -> bool) {
        self.rows.retain(|key, _| stays(key));
    }

    /// The totals of warm-up and of the measured part, by part and step.
    pub fn totals_by_part(&self) -> impl Iterator<Item = (Part, StepId, &TotalRow)> {
        self.totals.iter().map(|((part, step), row)| (*part, *step, row))
    }

    /// The scalars of the fleet in a second; zeros where nothing is known.
    #[must_use]
    pub fn scalars(&self, second: u32) -> Second {
        self.seconds.get(&second).copied().unwrap_or_default()
    }

    /// The measured totals by step; what is timed of all steps together is in [`Self::whole`] only.
    pub fn totals(&self) -> impl Iterator<Item = (StepId, &TotalRow)> {
        self.totals
            .iter()
            .filter(|((part, step), _)| *part == Part::Measured && *step != ALL_STEPS)
            .map(|((_, step), row)| (*step, row))
    }

    /// The measured totals of all steps together.
    #[must_use]
    pub fn whole(&self) -> TotalRow {
        self.whole_of(Part::Measured)
    }

    /// The totals of one part, of all steps together.
    #[must_use]
    pub fn whole_of(&self, wanted: Part) -> TotalRow {
        let mut whole = TotalRow::default();
        for (_, _, row) in self.totals_by_part().filter(|(part, ..)| *part == wanted) {
            whole.merge(row);
        }
        whole
    }

    /// Measured iterations in all.
    #[must_use]
    pub fn iterations(&self) -> Iterations {
        self.iterations
    }

    /// The warm-up's iterations in all.
    #[must_use]
    pub fn warmup(&self) -> Iterations {
        self.warmup
    }

    /// What went to each of the target's addresses, warm-up included.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The seconds that anything is known of: from 0 to this, exclusive.
    #[must_use]
    pub fn end_s(&self) -> u32 {
        let scalars = self.seconds.last_key_value().map_or(0, |(second, _)| second + 1);
        scalars.max(self.rows_end_s)
    }

    /// The rows that lie within a second: one for each step and part.
    #[must_use]
    pub fn rows_in(&self, second: u32) -> usize {
        self.keys_in(second).count()
    }

    /// The keys of those rows.
    pub fn keys_in(&self, second: u32) -> impl Iterator<Item = &RowKey> {
        self.rows_between(second, second + 1).map(|(key, _)| key)
    }

    /// True if anything is known of a second.
    #[must_use]
    pub fn knows(&self, second: u32) -> bool {
        self.seconds.contains_key(&second) || self.rows_in(second) > 0
    }

    /// One second, merged over steps, see [`Parts`]; zeros where nothing happened.
    ///
    /// # Errors
    /// See [`Self::add`].
    pub fn second(&self, second: u32) -> Result<MergedSecond, DecodeError> {
        let row = self.parts(second, second + 1)?.told();
        Ok(MergedSecond { scalars: self.scalars(second), row })
    }

    /// What happened from second `from_s` to `to_s` (exclusive), merged over steps, by part.
    ///
    /// # Errors
    /// See [`Self::add`].
    pub fn parts(&self, from_s: u32, to_s: u32) -> Result<Parts, DecodeError> {
        let mut parts = Parts::default();
        for (key, cell) in self.rows_between(from_s, to_s) {
            match cell {
                Cell::Open(row) => parts.merge(key.part, row),
                Cell::Sealed(sealed) => parts.merge_sealed(key.part, sealed)?,
            }
        }
        Ok(parts)
    }

    /// The rows that lie wholly from second `from_s` to `to_s` (exclusive), in their small form.
    pub fn sealed_rows(&self, from_s: u32, to_s: u32) -> impl Iterator<Item = (RowKey, SealedRow)> {
        self.rows_between(from_s, to_s).map(|(key, cell)| match cell {
            Cell::Open(row) => (*key, row.seal()),
            Cell::Sealed(sealed) => (*key, (**sealed).clone()),
        })
    }

    /// The measured results of all steps from second `from_s` to `to_s` (exclusive), merged.
    ///
    /// # Errors
    /// See [`Self::add`].
    pub fn span(&self, from_s: u32, to_s: u32) -> Result<TotalRow, DecodeError> {
        let mut total = TotalRow::default();
        for (key, cell) in self.rows_between(from_s, to_s) {
            match cell {
                _ if key.part != Part::Measured => {}
                Cell::Open(row) => total.merge(row),
                Cell::Sealed(sealed) => total.merge_sealed(sealed)?,
            }
        }
        Ok(total)
    }

    /// Rows that lie wholly within the span.
    fn rows_between(&self, from_s: u32, to_s: u32) -> impl Iterator<Item = (&RowKey, &Cell)> {
        let from = RowKey { from_s, to_s: 0, step: 0, part: Part::Warmup };
        self.rows
            .range(from..)
            .take_while(move |(key, _)| key.from_s < to_s)
            .filter(move |(key, _)| key.to_s <= to_s)
    }
}

/// The lowest key that a row beginning in this second can have.
fn first_of(from_s: u32) -> RowKey {
    RowKey { from_s, to_s: 0, step: 0, part: Part::Warmup }
}

#[cfg(test)]
mod tests;
