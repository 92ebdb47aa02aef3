//! A run that is over as a JUnit report, which CI systems show as tests: one test case says whether the run was completed
//! and its numbers can be trusted, and one for each threshold whether it held.

use askama::Template;

/// The report. Texts are literal.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "junit.xml", escape = "html")]
pub struct JunitReport {
    /// The plan's name.
    pub name: String,
    /// The run's.
    pub id: String,
    /// RFC 3339.
    pub started_at: String,
    /// How long the run took, in seconds.
    pub time_s: f64,
    /// In the order in which they are told.
    pub cases: Vec<JunitCase>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// One test case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JunitCase {
    /// What was to be.
    pub name: String,
    /// What became of it.
    pub end: JunitEnd,
    /// Why it isn't so; empty where it is.
    pub message: String,
}

/// How a test case ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JunitEnd {
    /// Well.
    #[default]
    Passed,
    /// The target did not do as was demanded.
    Failed,
    /// It can't be told.
    Error,
    /// Somebody ended it, which says nothing of the target.
    Skipped,
}

impl JunitReport {
    /// The report as XML.
    ///
    /// # Errors
    /// None that are known: askama's signature has them.
    pub fn render(&self) -> Result<String, askama::Error> {
        Template::render(self)
    }

    fn tests(&self) -> usize {
        self.cases.len()
    }

    fn failures(&self) -> usize {
        self.ended(JunitEnd::Failed)
    }

    fn errors(&self) -> usize {
        self.ended(JunitEnd::Error)
    }

    fn skipped(&self) -> usize {
        self.ended(JunitEnd::Skipped)
    }

    fn ended(&self, end: JunitEnd) -> usize {
        self.cases.iter().filter(|case| case.end == end).count()
    }

    fn time(&self) -> String {
        format!("{:.3}", self.time_s)
    }

    /// Without what no XML may have, escaped or not (XML 1.0 section 2.2).
    #[expect(clippy::unused_self, reason = "templates call what they have")]
    fn clean(&self, text: &str) -> String {
        let may_be = |c: &char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
        text.chars().filter(may_be).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_and_escapes() {
        let case = |name: &str, end, message: &str| JunitCase {
            name: name.to_owned(),
            end,
            message: message.to_owned(),
        };
        let report = JunitReport {
            name: "a <plan> & \u{1}more".to_owned(),
            id: "r1".to_owned(),
            started_at: "2026-01-14T09:32:11Z".to_owned(),
            time_s: 12.5,
            cases: vec![
                case("run completed", JunitEnd::Passed, ""),
                case("p99 < 300ms", JunitEnd::Failed, "p99 412 ms, limit \"300 ms\""),
                case("errors < 1", JunitEnd::Error, "no data"),
                case("stopped", JunitEnd::Skipped, "by a person"),
            ],
            sentence: "Failed.".to_owned(),
        };
        let xml = report.render().unwrap();
        for part in [
            "<testsuites name=\"volley\" tests=\"4\" failures=\"1\" errors=\"1\" time=\"12.500\">",
            "name=\"a &#60;plan&#62; &#38; more\"",
            "name=\"p99 &#60; 300ms\"",
            "<failure message=\"p99 412 ms, limit &#34;300 ms&#34;\"/>",
            "<error message=\"no data\"/>",
            "errors=\"1\" skipped=\"1\"",
            "<skipped message=\"by a person\"/>",
            "name=\"run completed\" time=\"12.500\"></testcase>",
            "<system-out>Failed.</system-out>",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }
}
