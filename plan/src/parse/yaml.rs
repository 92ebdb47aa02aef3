//! YAML texts into the tree, from the parser's events rather than from its own tree: so that depth and size are
//! bounded while reading, every key keeps its place, and doubled keys are all seen.

use super::fault::{Collector, Place, Stop, Told};
use super::node::{Entry, Node, Value};
use super::{MAX_DEPTH, MAX_NODES};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use std::borrow::Cow;

/// Reads the one document of `text`. What can't be read at all is the fault returned; what can be skipped over is
/// reported to `faults`.
pub(super) fn read(text: &str, faults: &mut Collector) -> Result<Node, Stop> {
    let mut reader = Reader { text, parser: Parser::new_from_str(text), faults, nodes: 0 };
    reader.document()
}

struct Reader<'t, 'f> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    faults: &'f mut Collector,
    nodes: usize,
}

impl<'t> Reader<'t, '_> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Stop> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn document(&mut self) -> Result<Node, Stop> {
        let root = loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Err(Stop::new(Place::START, "the plan is empty")),
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                event => break self.node(event, span, 0)?,
            }
        };
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(_) => {
                    let second = Stop::new(place(span.start), "a second document begins here");
                    return Err(Stop { expected: Some("one plan in a file"), ..second });
                }
                _ => {}
            }
        }
    }

    /// The value that begins with `event`.
    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Stop> {
        let place = place(span.start);
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return Err(Stop::new(place, format!("nested deeper than {MAX_DEPTH}")));
        }
        if self.nodes > MAX_NODES {
            return Err(Stop::new(place, format!("more than {MAX_NODES} values")));
        }
        let value = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let told = self.refuse_marks(place, anchor, tag.as_deref());
                told.map_or_else(|| scalar(text, style), Value::Bad)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_marks(place, anchor, tag.as_deref());
                Value::List(self.list(depth)?)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_marks(place, anchor, tag.as_deref());
                Value::Map(self.map(depth)?)
            }
            _ => Value::Bad(self.refuse(place, "an alias (`*name`)", "write out what it stands for")),
        };
        Ok(Node { place, value })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Stop> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Stop> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let mut value = self.node(event, span, depth + 1)?;
            if matches!(&value.value, Value::Plain(plain) if plain.is_empty()) {
                // The parser places a missing value wherever the next token is.
                value.place = key.place;
            }
            match key.value {
                Value::Plain(name) | Value::Text(name) => {
                    entries.push(Entry { key: name, key_place: key.place, value });
                }
                Value::List(_) | Value::Map(_) => {
                    self.refuse(key.place, "a list or mapping as a key", QUOTE_BRACKETS);
                }
                Value::Bad(_) => {}
            }
        }
    }

    /// Anchors and tags change what others mean or how a value is read; plans have no use for either.
    fn refuse_marks(&mut self, place: Place, anchor: usize, tag: Option<&Tag>) -> Option<Told> {
        let hint = "leave it out, or quote the value if it is meant as it stands";
        let anchored = (anchor != 0).then(|| self.refuse(place, "an anchor (`&name`)", hint));
        let tagged = tag.map(|_| self.refuse(place, "a tag (`!name`)", hint));
        anchored.or(tagged)
    }

    fn refuse(&mut self, place: Place, what: &str, hint: &'static str) -> Told {
        let refused = Stop::new(place, format!("found {what}, which plans don't have"));
        self.faults.report(Stop { hint: Some(hint), ..refused }.into_fault())
    }

    fn syntax(&self, error: &ScanError) -> Stop {
        let info = error.info();
        let line = self.text.lines().nth(error.marker().line().saturating_sub(1)).unwrap_or_default();
        Stop { hint: hint(info, line), ..Stop::new(place(*error.marker()), format!("not YAML: {info}")) }
    }
}

const QUOTE_BRACKETS: &str =
    "every `{` and `[` must be closed; a value that holds one needs quotes or a block (`|`)";

/// What most often stands behind a syntax error in `line`.
fn hint(info: &str, line: &str) -> Option<&'static str> {
    if info.contains("quoted scalar") {
        None
    } else if info.contains("flow") || line.contains(['{', '[', '}', ']']) {
        Some(QUOTE_BRACKETS)
    } else if info.contains("mapping values are not allowed") {
        Some("a value with `: ` in it needs quotes, and the keys of one mapping need one indentation")
    } else if info.contains("unexpected character") || info.contains("anchor") || info.contains("tag") {
        Some("a value that begins with one of `@ % & * !` or a backtick needs quotes")
    } else if info.contains("did not find expected key") {
        Some("the keys of one mapping need one indentation")
    } else if info.contains("tab") {
        Some("indent with spaces")
    } else {
        None
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value {
    match style {
        ScalarStyle::Plain => Value::Plain(text.into_owned()),
        ScalarStyle::SingleQuoted
        | ScalarStyle::DoubleQuoted
        | ScalarStyle::Literal
        | ScalarStyle::Folded => Value::Text(text.into_owned()),
    }
}

fn place(marker: Marker) -> Place {
    Place::at(marker.line(), marker.col() + 1)
}
