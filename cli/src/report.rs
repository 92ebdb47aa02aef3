//! Reports: `volley report RUN`, and the files that `--out` asks for.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use reqwest::Method;
use volley_coordinator::report::Form;
use volley_plan::link::RunId;

use crate::at::At;
use crate::exit::{Exit, Failure, OrExit as _};
use crate::output;
use crate::rest::{ANSWER, Rest};
use crate::runs::run_id;

/// Which run's, and in which form.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The run
    #[arg(value_parser = run_id)]
    run: RunId,
    /// The form
    #[arg(long, value_name = "FORM", default_value = "md")]
    format: Format,
    /// The file to write it to [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    at: At,
}

/// A form, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format(Form);

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Format; Form::ALL.len()] = {
            let mut all = [Format(Form::Json); Form::ALL.len()];
            let mut place = 0;
            while place < all.len() {
                all[place] = Format(Form::ALL[place]);
                place += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

/// Fetches it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    let fetched = |rest| async move { fetch(&rest, options.run.as_str(), options.format.0).await };
    let text = options.at.talk(fetched)?;
    match &options.output {
        Some(file) => write(file, &text)?,
        None => output::print(&text)?,
    }
    Ok(Exit::Passed)
}

/// A report as a coordinator makes it.
pub(crate) async fn fetch(rest: &Rest, run: &str, form: Form) -> Result<String, Failure> {
    let request = rest.request(Method::GET, &format!("runs/{run}/report.{}", form.name()));
    let answer = rest.send(request, ANSWER).await?;
    rest.read_text(answer).await
}

/// Writes reports into a folder, which is made where it is missing.
pub(crate) fn write_all(folder: &Path, reports: &[(Form, String)]) -> Result<(), Failure> {
    make(folder)?;
    reports.iter().try_for_each(|(form, text)| write(&folder.join(form.file()), text))
}

/// Makes a folder for reports.
pub(crate) fn make(folder: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder);
    made.with_context(|| format!("the folder {} can't be made", folder.display())).or_exit(Exit::CouldNot)
}

/// Writes a report to a file, in place of what is there.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::write(file, text);
    written
        .with_context(|| format!("the report can't be written to {}", file.display()))
        .or_exit(Exit::CouldNot)
}

/// Writes a report behind what a file has.
pub(crate) fn append(file: &Path, text: &str) -> Result<(), Failure> {
    let opened = fs::OpenOptions::new().append(true).create(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written
        .with_context(|| format!("the report can't be written to {}", file.display()))
        .or_exit(Exit::CouldNot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Coordinator;

    #[tokio::test]
    async fn a_report_is_what_the_coordinator_makes() {
        let coordinator = Coordinator::start().await;
        let said = |form| {
            let rest = coordinator.rest();
            async move { fetch(&rest, "r1", form).await.map_err(|failure| failure.exit) }
        };
        assert_eq!(said(Form::Markdown).await, Ok("## n\n".to_owned()));
        assert_eq!(said(Form::Html).await, Err(Exit::Refused), "it has no other");
        assert_eq!(coordinator.asked()[0], "GET /api/v1/runs/r1/report.md ");
    }

    #[test]
    fn folders_are_made_and_files_replaced() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        for text in ["one", "two"] {
            let written =
                write_all(&folder, &[(Form::Csv, text.to_owned()), (Form::SeriesCsv, String::new())]);
            assert!(written.is_ok());
        }
        assert_eq!(fs::read_to_string(folder.join("report.csv")).unwrap(), "two");
        assert!(folder.join("series.csv").is_file());
        let file = folder.join("summary.md");
        for text in ["one", "two"] {
            assert!(append(&file, text).is_ok());
        }
        assert_eq!(fs::read_to_string(file).unwrap(), "onetwo");
        assert!(make(&folder.join("report.csv/x")).is_err());
    }
}
