//! The forms that a report has, and what each is called.

/// A form of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// The run's document.
    Json,
    /// A table of the whole run.
    Csv,
    /// A table by the second.
    SeriesCsv,
    /// Test cases, for CI systems.
    Junit,
    /// HdrHistogram's percentile distribution of the latency.
    Hgrm,
    /// HdrHistogram's interval log.
    Hlog,
    /// OpenMetrics.
    OpenMetrics,
    /// A page of text, for pull requests and GitHub's step summaries.
    Markdown,
    /// A page for browsers, in one file.
    Html,
}

impl Form {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Json,
        Self::Csv,
        Self::SeriesCsv,
        Self::Junit,
        Self::Hgrm,
        Self::Hlog,
        Self::OpenMetrics,
        Self::Markdown,
        Self::Html,
    ];

    /// The name: what follows `report.` in addresses, and the end of a download's file name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::SeriesCsv => "series.csv",
            Self::Junit => "junit.xml",
            Self::Hgrm => "hgrm",
            Self::Hlog => "hlog",
            Self::OpenMetrics => "om",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// The file's name in a folder with all of them.
    #[must_use]
    pub fn file(self) -> String {
        match self {
            Self::SeriesCsv | Self::Junit => self.name().to_owned(),
            _ => format!("report.{}", self.name()),
        }
    }

    /// The form with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.name() == name)
    }

    /// The media type: IANA's where there is one (RFC 4180, 7763, 8259; OpenMetrics 1.0).
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv | Self::SeriesCsv => "text/csv; charset=utf-8; header=present",
            Self::Junit => "application/xml; charset=utf-8",
            Self::Hgrm | Self::Hlog => "text/plain; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_and_files_differ() {
        for form in Form::ALL {
            assert_eq!(Form::from_name(form.name()), Some(*form));
        }
        let mut files: Vec<_> = Form::ALL.iter().map(|form| form.file()).collect();
        assert_eq!(files[..4], ["report.json", "report.csv", "series.csv", "junit.xml"]);
        files.sort();
        files.dedup();
        assert_eq!(files.len(), Form::ALL.len());
        assert_eq!(Form::from_name("pdf"), None);
    }
}
