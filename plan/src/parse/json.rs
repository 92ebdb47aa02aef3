//! JSON texts (RFC 8259) into the tree. Apart from the YAML reader, since that one refuses surrogate pairs.

use super::fault::{Place, Stop};
use super::node::{Entry, Node, Value};
use super::{MAX_DEPTH, MAX_NODES};
use std::str::Chars;

/// Reads one JSON value. What stops it is the first place where the text isn't JSON.
pub(super) fn read(text: &str) -> Result<Node, Stop> {
    let mut reader = Reader { rest: text.chars(), line: 1, column: 1, nodes: 0 };
    let root = reader.value(0)?;
    reader.skip_space();
    reader.peek().map_or(Ok(root), |_| Err(reader.unexpected("the end")))
}

struct Reader<'t> {
    rest: Chars<'t>,
    line: usize,
    column: usize,
    nodes: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(next)
    }

    fn next_if(&mut self, asked: char) -> bool {
        let is_there = self.peek() == Some(asked);
        if is_there {
            self.next();
        }
        is_there
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.next();
        }
    }

    fn place(&self) -> Place {
        Place::at(self.line, self.column)
    }

    fn stop(&self, detail: impl Into<String>) -> Stop {
        Stop::new(self.place(), detail)
    }

    /// What stands here isn't what should.
    fn unexpected(&self, expected: &'static str) -> Stop {
        let found = self.peek().map_or_else(|| "the end of the text".to_owned(), |c| format!("{c:?}"));
        Stop { expected: Some(expected), ..self.stop(format!("found {found}")) }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Stop> {
        self.skip_space();
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return Err(self.stop(format!("nested deeper than {MAX_DEPTH}")));
        }
        if self.nodes > MAX_NODES {
            return Err(self.stop(format!("more than {MAX_NODES} values")));
        }
        let place = self.place();
        let value = match self.peek() {
            Some('{') => Value::Map(self.object(depth)?),
            Some('[') => Value::List(self.list(depth)?),
            Some('"') => Value::Text(self.string()?),
            _ => Value::Plain(self.word()?),
        };
        Ok(Node { place, value })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Entry>, Stop> {
        let mut entries = Vec::new();
        self.next();
        self.skip_space();
        if self.next_if('}') {
            return Ok(entries);
        }
        loop {
            self.skip_space();
            if self.peek() != Some('"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key_place = self.place();
            let key = self.string()?;
            self.skip_space();
            if !self.next_if(':') {
                return Err(self.unexpected("`:`"));
            }
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, key_place, value });
            if !self.goes_on('}', "`,` or `}`")? {
                return Ok(entries);
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Stop> {
        let mut items = Vec::new();
        self.next();
        self.skip_space();
        if self.next_if(']') {
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.goes_on(']', "`,` or `]`")? {
                return Ok(items);
            }
        }
    }

    /// Takes the comma, or the bracket that closes.
    fn goes_on(&mut self, close: char, expected: &'static str) -> Result<bool, Stop> {
        self.skip_space();
        if self.next_if(',') {
            Ok(true)
        } else if self.next_if(close) {
            Ok(false)
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<String, Stop> {
        let start = self.unexpected("a value");
        let mut word = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c)) {
            word.push(c);
            self.next();
        }
        let known = matches!(word.as_str(), "true" | "false" | "null") || is_number(&word);
        if known { Ok(word) } else { Err(start) }
    }

    fn string(&mut self) -> Result<String, Stop> {
        let unclosed = self.stop("a text without its closing quote");
        self.next();
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(unclosed),
                Some(c) if c < ' ' => {
                    return Err(self.stop(format!("found {c:?} in a text, which needs an escape")));
                }
                Some('\\') => text.push(self.escape()?),
                Some('"') => {
                    self.next();
                    return Ok(text);
                }
                Some(c) => {
                    self.next();
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Stop> {
        let bad = self.stop("an escape that JSON doesn't have");
        self.next();
        Ok(match self.next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode().ok_or(bad),
            _ => return Err(bad),
        })
    }

    /// The character of `\uXXXX`, behind the `u`; characters past U+FFFF come as two halves (RFC 8259 section 7).
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..=0xdbff => {
                let second = (self.next_if('\\') && self.next_if('u')).then(|| self.hex4()).flatten()?;
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                0x10000 + ((first - 0xd800) << 10) + low
            }
            code => code,
        };
        char::from_u32(code)
    }

    fn hex4(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |code, _| Some(code * 16 + self.next()?.to_digit(16)?))
    }
}

/// Whether `word` is a number (RFC 8259 section 6).
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && digits(fraction)
        && digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))
}

#[cfg(test)]
mod tests;
