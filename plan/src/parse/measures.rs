//! Values of some kinds: rates, tolerances, kinds of arrivals, pauses, sizes, names.

use super::cursor::{Cursor, Wrong};
use super::fault::{Collector, Fault, FieldPath, Place, Told, shown};
use crate::model::{FileName, FileNameError, MAX_NAME_CHARS, Think, Tolerance};
use crate::shape::{Arrivals, MAX_RATE, Rate};
use crate::units::{DurationError, format_duration, format_size, parse_duration, parse_size};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest pause, pacing cycle, time-out or wait.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Cursor<'_> {
    pub(super) fn rate(&self, faults: &mut Collector) -> Result<Rate, Told> {
        let read = |text: &str| {
            text.parse::<Rate>().map_err(|error| Wrong::because(&error).hint(error.hint(&shown(text))))
        };
        self.measure(&format!("a rate from 0/s to {MAX_RATE}, such as 200/s"), read, faults)
    }

    pub(super) fn tolerance(&self, faults: &mut Collector) -> Result<Tolerance, Told> {
        let read = |text: &str| {
            text.parse::<Tolerance>().map_err(|error| Wrong::because(&error).hint(error.hint(&shown(text))))
        };
        self.measure("a percentage from 0% to 100%, such as 1% or 0.5%", read, faults)
    }

    pub(super) fn arrivals(&self, faults: &mut Collector) -> Result<Arrivals, Told> {
        let read = |text: &str| match text {
            "uniform" => Ok(Arrivals::Uniform),
            "poisson" => Ok(Arrivals::Poisson),
            _ => Err(Wrong::default().hint(likely_arrivals(text))),
        };
        self.measure("`uniform` or `poisson`", read, faults)
    }

    /// A pause: a duration, or two of them as bounds, the shorter one first.
    pub(super) fn think(&self, faults: &mut Collector) -> Result<Think, Told> {
        let most = format_duration(DAY);
        let expected = format!("a duration up to {most}, or two as bounds, such as 1s..3s");
        self.measure(&expected, read_think, faults)
    }

    /// A size in bytes.
    pub(super) fn size(&self, range: &RangeInclusive<u64>, faults: &mut Collector) -> Result<u64, Told> {
        let expected = format!(
            "a size from {} to {}, such as 10MiB",
            format_size(*range.start()),
            format_size(*range.end())
        );
        let read = |text: &str| match parse_size(text) {
            Ok(bytes) if range.contains(&bytes) => Ok(bytes),
            Ok(_) => Err(Wrong::default()),
            Err(error) => Err(Wrong::because(&error).hint(error.hint(&shown(text)))),
        };
        self.measure(&expected, read, faults)
    }

    /// The name of a file on the machine that sends.
    pub(super) fn file_name(&self, faults: &mut Collector) -> Result<FileName, Told> {
        let text = self.template(faults)?;
        FileName::parse(&text).map_err(|error| {
            let fault = self.fault(format!("found {error}"));
            let hint = matches!(error, FileNameError::Absolute | FileNameError::Dots)
                .then_some("files are looked up in one folder, and in those below it");
            faults.report(fault.expected("a file's name, such as uploads/a.bin").maybe_hint(hint))
        })
    }

    /// A whole number within a range that fits 32 bits.
    pub(super) fn narrow(&self, range: RangeInclusive<u32>, faults: &mut Collector) -> Result<u32, Told> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        let number = self.whole_number(range, faults)?;
        u32::try_from(number).map_err(|_| self.wrong("a number of 32 bits", faults))
    }

    /// A name that people read: of the plan or of a step.
    pub(super) fn name(&self, faults: &mut Collector) -> Result<String, Told> {
        let name = self.text(faults)?;
        check_name(name, self.node.place, &self.path, faults).map(|()| name.to_owned())
    }
}

/// Whether `name`, which stands at `place`, is one that people can read.
pub(super) fn check_name(
    name: &str,
    place: Place,
    path: &FieldPath,
    faults: &mut Collector,
) -> Result<(), Told> {
    let length = name.chars().count();
    let detail = if length == 0 || length > MAX_NAME_CHARS {
        format!("found a name of {length} characters")
    } else if name.contains(char::is_control) {
        "found a line break or control character".to_owned()
    } else {
        return Ok(());
    };
    let expected = format!("one line of 1 to {MAX_NAME_CHARS} characters");
    Err(faults.report(Fault::new(place, path, detail).expected(expected)))
}

fn likely_arrivals(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let likely =
        ["uniform", "poisson"].into_iter().find(|kind| strsim::damerau_levenshtein(kind, &lower) <= 2);
    likely.map(|kind| format!("did you mean {kind}?"))
}

fn read_think(text: &str) -> Result<Think, Wrong> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let bound = |bound: &str| match parse_duration(bound) {
        Ok(duration) if duration <= DAY => Ok(duration),
        Ok(_) => Err(Wrong::default()),
        Err(error) => Err(Wrong::because(&error).hint(think_hint(&error, text, bound))),
    };
    let think = Think { least: bound(least)?, most: bound(most)? };
    if think.least <= think.most {
        return Ok(think);
    }
    let hint =
        Some(format!("did you mean {}..{}?", format_duration(think.most), format_duration(think.least)));
    Err(Wrong::because(&"whose first bound is the longer one").hint(hint))
}

/// What was meant by a bound. What belongs to a faulty unit and what to a second bound can't be told, so the form is
/// shown where there is anything like one.
fn think_hint(error: &DurationError, text: &str, bound: &str) -> Option<String> {
    let is_single = text == bound && !text.contains(['-', ',', '.']);
    if is_single { error.hint(&shown(text)) } else { Some("write two bounds like 1s..3s".to_owned()) }
}
