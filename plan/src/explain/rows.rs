//! Text in two columns: names, and beside them sentences that go on in further lines.

use std::fmt::Write as _;

/// How wide the column of names is.
const NAMES: usize = 13;
/// Columns of a terminal.
const COLUMNS: usize = 80;
/// How far the lines are moved in that a sentence of a list goes on in.
const HANGING: usize = 2;

/// The rows.
pub(super) struct Rows(String);

impl Rows {
    /// Rows below a title.
    pub(super) fn titled(title: &str) -> Self {
        Self(format!("{title}\n\n"))
    }

    /// A sentence beside its name.
    pub(super) fn tell(&mut self, name: &str, sentence: &str) {
        self.lines(name, sentence, 0);
    }

    /// Sentences below each other, the first one beside the name of all; nothing without sentences.
    pub(super) fn list(&mut self, name: &str, sentences: impl IntoIterator<Item = String>) {
        for (index, sentence) in sentences.into_iter().enumerate() {
            self.lines(if index == 0 { name } else { "" }, &sentence, HANGING);
        }
    }

    fn lines(&mut self, name: &str, sentence: &str, hanging: usize) {
        for (index, line) in wrapped(sentence, COLUMNS - NAMES, hanging).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            // Writing to a String can't fail.
            let _ = writeln!(self.0, "{name:<NAMES$}{line}");
        }
    }

    pub(super) fn text(self) -> String {
        self.0
    }
}

/// A sentence in lines of this width, parted at spaces. Lines after the first are moved in like the first one, and by
/// `hanging` more.
fn wrapped(sentence: &str, width: usize, hanging: usize) -> Vec<String> {
    let indent = sentence.len() - sentence.trim_start().len();
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in sentence.split_whitespace() {
        let space = usize::from(!is_empty);
        if !is_empty && line.chars().count() + space + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent + hanging)));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_parted_at_spaces() {
        let check = |sentence: &str, hanging: usize, expected: &[&str]| {
            assert_eq!(wrapped(sentence, 10, hanging), expected, "{sentence}");
        };
        check("", 0, &[""]);
        check("0123456789", 0, &["0123456789"]);
        check("0123456789a b", 0, &["0123456789a", "b"]);
        check("one two three", 0, &["one two", "three"]);
        check("one two three", 2, &["one two", "  three"]);
        check("  one two three", 2, &["  one two", "    three"]);
    }
}
