//! How two texts differ, by the line.

use similar::{ChangeTag, TextDiff};

use crate::format::count;

/// Lines that are the same and shown around those that differ.
const CONTEXT: usize = 3;

/// What differs, in places that lie apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    pub(crate) hunks: Vec<Vec<DiffLine>>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl Diff {
    /// How much differs, in words.
    pub(crate) fn in_words(&self) -> String {
        let lines = if self.added == 1 { "line" } else { "lines" };
        format!("{} {lines} added, {} removed", count(self.added as u64), count(self.removed as u64))
    }
}

/// A line of one of the texts or of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffLine {
    /// `+`, `-`, or nothing where both have it.
    pub(crate) sign: &'static str,
    /// Its number in the first text, from 1.
    pub(crate) old: Option<usize>,
    /// Its number in the second.
    pub(crate) new: Option<usize>,
    /// What it says, without its end.
    pub(crate) text: String,
}

impl DiffLine {
    pub(crate) fn class(&self) -> &'static str {
        match self.sign {
            "+" => "added",
            "-" => "removed",
            _ => "",
        }
    }

    pub(crate) fn number(&self, number: &Option<usize>) -> String {
        number.map(|number| number.to_string()).unwrap_or_default()
    }
}

/// How the second text differs from the first.
pub(crate) fn diff(old: &str, new: &str) -> Diff {
    let diff = TextDiff::from_lines(old, new);
    let line = |change: similar::Change<&str>| DiffLine {
        sign: match change.tag() {
            ChangeTag::Insert => "+",
            ChangeTag::Delete => "-",
            ChangeTag::Equal => "",
        },
        old: change.old_index().map(|index| index + 1),
        new: change.new_index().map(|index| index + 1),
        text: change.value().trim_end_matches(['\r', '\n']).to_owned(),
    };
    let groups = diff.grouped_ops(CONTEXT);
    let hunk = |ops: &Vec<_>| ops.iter().flat_map(|op| diff.iter_changes(op)).map(line).collect::<Vec<_>>();
    let hunks: Vec<_> = groups.iter().map(hunk).collect();
    let signed = |sign| hunks.iter().flatten().filter(|line| line.sign == sign).count();
    Diff { added: signed("+"), removed: signed("-"), hunks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[&str]) {
        let found = diff(old, new).hunks.into_iter().map(|hunk| {
            let lines = hunk.iter().map(|line| format!("{}{}", line.sign, line.text));
            lines.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{old:?} to {new:?}");
    }

    #[test]
    fn lines_that_differ_are_shown_with_those_around() {
        check("a\nb\nc\n", "a\nB\nc\n", &["a -b +B c"]);
        check("a\n", "a\n", &[]);
        check("", "a\nb", &["+a +b"]);
        check("a\r\nb\r\n", "a\r\n", &["a -b"]);
        let long = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
        check(&long("a", "z"), &long("A", "Z"), &["-a +A 1 2 3", "6 7 8 -z +Z"]);
    }

    #[test]
    fn lines_are_numbered_in_the_text_that_has_them() {
        let diff = diff("a\nb\n", "b\nc\n");
        let numbers = diff.hunks[0].iter().map(|line| (line.sign, line.old, line.new));
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            [("-", Some(1), None), ("", Some(2), Some(1)), ("+", None, Some(2))]
        );
        assert_eq!(diff.in_words(), "1 line added, 1 removed");
    }
}
