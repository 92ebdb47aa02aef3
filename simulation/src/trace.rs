//! The story of a run, for when it fails: the latest lines only.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Most lines that are kept.
const MAX_LINES: usize = 400;

/// Where lines go; nowhere unless somebody wants them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    lines: Option<Rc<RefCell<VecDeque<String>>>>,
}

impl Trace {
    /// One that keeps lines.
    pub(crate) fn kept() -> Self {
        Self { lines: Some(Rc::default()) }
    }

    /// Keeps a line, made only where lines are kept. `now_ns` is the world's time since the run was asked for.
    pub(crate) fn say(&self, now_ns: u64, line: impl FnOnce() -> String) {
        let Some(lines) = &self.lines else { return };
        let mut lines = lines.borrow_mut();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(format!(
            "{:>4}.{:06} {}",
            now_ns / 1_000_000_000,
            now_ns / 1_000 % 1_000_000,
            line()
        ));
    }

    /// Whether anybody wants lines.
    pub(crate) fn is_kept(&self) -> bool {
        self.lines.is_some()
    }

    /// All lines that were kept.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.as_ref().map(|lines| lines.borrow().iter().cloned().collect()).unwrap_or_default()
    }
}
