//! Charts drawn here, as SVG for pages that have no script.

use askama::Template;

use crate::format::{Format, maybe};

/// The size of a drawing, and of the room for the names of its axes.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// Most points of a line: as many as a drawing has columns.
const POINTS_MAX: usize = 960;

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly, from 0.
    Linear,
    /// By their logarithm.
    Logarithmic,
}

/// One axis: from where to where, and what is written at it.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    scale: Scale,
    least: f64,
    most: f64,
    marks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis that goes a little beyond all values that it is to show.
    pub(crate) fn of(scale: Scale, values: impl Iterator<Item = f64>, format: Format) -> Self {
        let is_shown = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let ends = values.filter(is_shown).fold(None, |ends: Option<(f64, f64)>, value| {
            let (least, most) = ends.unwrap_or((value, value));
            Some((least.min(value), most.max(value)))
        });
        let (least, most) = ends.unwrap_or((1.0, 1.0));
        match scale {
            Scale::Linear if most <= 0.0 => Self::with_marks(scale, 0.0, 1.0, vec![0.0, 1.0], format),
            Scale::Linear => Self::linear(most, format),
            Scale::Logarithmic => Self::logarithmic(least, most, format),
        }
    }

    /// From 0, with some five marks at round numbers.
    fn linear(most: f64, format: Format) -> Self {
        let step = round_step(most / 5.0);
        let count = (most / step).ceil().max(1.0);
        let marks = (0..=count as usize).map(|n| n as f64 * step).collect();
        Self::with_marks(Scale::Linear, 0.0, count * step, marks, format)
    }

    /// From one power of ten or its half to another, with marks at 1, 2 and 5, or at powers only where these are many.
    fn logarithmic(least: f64, most: f64, format: Format) -> Self {
        let (least, most) = (below(least), round_step(most.max(least * 2.0)));
        let decades = (most / least).log10();
        let digits: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = least.log10().floor() as i32;
        let last = most.log10().ceil() as i32;
        let all = (first..=last).flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        let within = all.filter(|at| (least * 0.999..=most * 1.001).contains(at)).collect();
        Self::with_marks(Scale::Logarithmic, least, most, within, format)
    }

    /// An axis with marks of one's own.
    pub(crate) fn marked(scale: Scale, least: f64, most: f64, marks: Vec<(f64, String)>) -> Self {
        Self { scale, least, most: if most > least { most } else { least + 1.0 }, marks }
    }

    fn with_marks(scale: Scale, least: f64, most: f64, marks: Vec<f64>, format: Format) -> Self {
        let marks = marks.into_iter().map(|at| (at, maybe(format, Some(at)))).collect();
        Self::marked(scale, least, most, marks)
    }

    /// The same, cut off at this value; marks beyond it go.
    pub(crate) fn ending_at(self, most: f64) -> Self {
        let marks = self.marks.into_iter().filter(|(at, _)| *at <= most).collect();
        Self::marked(self.scale, self.least, most, marks)
    }

    /// Where a value lies, 0 to 1; `None` for one that can't be shown.
    fn place(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.least) / (self.most - self.least),
            Scale::Logarithmic if value <= 0.0 => return None,
            Scale::Logarithmic => (value / self.least).ln() / (self.most / self.least).ln(),
        };
        part.is_finite().then(|| part.clamp(0.0, 1.0))
    }
}

/// The next of 1, 2 and 5 times a power of ten that isn't less.
fn round_step(wanted: f64) -> f64 {
    let power = 10_f64.powf(wanted.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= wanted * 0.999_999);
    digit.unwrap_or(10.0) * power
}

/// The last of 1, 2 and 5 times a power of ten that isn't more.
fn below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= value * 1.000_001);
    digit.unwrap_or(1.0) * power
}

/// One line of a drawing.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its name in the legend.
    pub(crate) label: &'static str,
    /// The CSS class that gives colour and dash.
    pub(crate) class: &'static str,
    /// From left to right; where there is no value, the line has a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

/// A mark at an axis, in the drawing's units.
struct Mark {
    at: String,
    text: String,
}

struct Drawn {
    label: &'static str,
    class: &'static str,
    path: String,
}

/// A chart.
#[derive(Template)]
#[template(path = "parts/plot.html")]
pub(crate) struct Plot {
    title: &'static str,
    unit: &'static str,
    said: String,
    lines: Vec<Drawn>,
    /// The warm-up's left end and width; empty where there is none.
    shaded: Option<(String, String)>,
    across: Vec<Mark>,
    up: Vec<Mark>,
    left: f64,
    right: f64,
    bottom: f64,
    width: f64,
    height: f64,
}

impl Plot {
    /// Draws lines; `said` says in a sentence what is to be seen.
    pub(crate) fn new(
        (title, unit): (&'static str, &'static str),
        said: String,
        (across, up): (&Axis, &Axis),
        lines: &[Line],
    ) -> Self {
        let shown = lines.iter().filter(|line| line.points.iter().any(|(_, y)| y.is_some()));
        let drawn = shown.map(|line| Drawn {
            label: line.label,
            class: line.class,
            path: path(&line.points, across, up),
        });
        let marks = |axis: &Axis, at: fn(f64) -> f64| {
            let marks = axis.marks.iter().filter_map(|(value, text)| {
                Some(Mark { at: format!("{:.1}", at(axis.place(*value)?)), text: text.clone() })
            });
            marks.collect()
        };
        Self {
            title,
            unit,
            said,
            lines: drawn.collect(),
            shaded: None,
            across: marks(across, x),
            up: marks(up, y),
            left: LEFT,
            right: WIDTH - RIGHT,
            bottom: HEIGHT - BOTTOM,
            width: WIDTH,
            height: HEIGHT,
        }
    }

    /// The same with everything before this value told apart.
    pub(crate) fn shaded_before(self, end: f64, across: &Axis) -> Self {
        let width = across.place(end).filter(|part| *part > 0.0).map(|part| x(part) - x(0.0));
        Self { shaded: width.map(|width| (format!("{:.1}", x(0.0)), format!("{width:.1}"))), ..self }
    }
}

fn x(part: f64) -> f64 {
    LEFT + part * (WIDTH - LEFT - RIGHT)
}

fn y(part: f64) -> f64 {
    HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
}

/// The line as SVG has it. Of more points than can be told apart, each stretch keeps its highest.
fn path(points: &[(f64, Option<f64>)], across: &Axis, up: &Axis) -> String {
    let stretch = points.len().div_ceil(POINTS_MAX).max(1);
    let mut path = String::new();
    let mut is_down = false;
    for piece in points.chunks(stretch) {
        let highest = piece.iter().filter_map(|(at, value)| Some((*at, (*value)?)));
        let highest = highest.reduce(|one, other| if other.1 > one.1 { other } else { one });
        let place = highest.and_then(|(at, value)| Some((across.place(at)?, up.place(value)?)));
        let Some((right, height)) = place else {
            is_down = false;
            continue;
        };
        let letter = if is_down { 'L' } else { 'M' };
        path += &format!("{letter}{:.1} {:.1}", x(right), y(height));
        if !is_down {
            // A point by itself is drawn too, as a line without length with round ends.
            path += "h0";
        }
        is_down = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn axes_have_round_marks_and_hold_all_values() {
        let check = |scale, values: &[f64], expected: &[&str]| {
            let axis = Axis::of(scale, values.iter().copied(), Format::Ms);
            assert_eq!(marks(&axis), expected, "{values:?}");
            assert!(values.iter().all(|value| *value <= axis.most * 1.001), "{values:?}");
        };
        check(Scale::Linear, &[3.0, 187.0], &["0", "50.0", "100", "150", "200"]);
        check(Scale::Linear, &[], &["0", "0.200", "0.400", "0.600", "0.800", "1.00"]);
        check(Scale::Logarithmic, &[1.5, 30.0], &["1.00", "2.00", "5.00", "10.0", "20.0", "50.0"]);
        check(Scale::Logarithmic, &[0.1, 5_000.0], &["0.100", "1.00", "10.0", "100", "1,000"]);
        check(Scale::Linear, &[0.0], &["0", "1.00"]);
        check(Scale::Logarithmic, &[3.0], &["2.00", "5.00", "10.0"]);
    }

    #[test]
    fn lines_have_gaps_where_nothing_is_known() {
        let across = Axis::marked(Scale::Linear, 0.0, 4.0, Vec::new());
        let up = Axis::marked(Scale::Linear, 0.0, 10.0, Vec::new());
        let points = [(0.0, Some(0.0)), (1.0, Some(10.0)), (2.0, None), (4.0, Some(5.0))];
        assert_eq!(path(&points, &across, &up), "M64.0 214.0h0L284.0 10.0M944.0 112.0h0");
        let logarithmic = Axis::of(Scale::Logarithmic, [1.0, 10.0].into_iter(), Format::Ms);
        assert_eq!(path(&[(0.0, Some(0.0))], &across, &logarithmic), "", "there is no logarithm of 0");
    }

    #[test]
    fn a_line_of_many_points_keeps_its_peaks() {
        let across = Axis::marked(Scale::Linear, 0.0, 10_000.0, Vec::new());
        let up = Axis::marked(Scale::Linear, 0.0, 10.0, Vec::new());
        let mut points: Vec<_> = (0..10_000).map(|n| (f64::from(n), Some(1.0))).collect();
        points[5_003].1 = Some(10.0);
        let path = path(&points, &across, &up);
        assert!(path.matches('L').count() < POINTS_MAX && path.contains(" 10.0"), "{path}");
    }
}
