//! The page of one run, and what its forms ask for.

use std::collections::BTreeMap;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::response::{Html, Redirect};
use serde::Deserialize;
use volley_plan::link::RunId;
use volley_web::{RunPage, SpanView};

use super::{Page, PageError, form_of, query_of};
use crate::api::{AppState, Asked, Problem, RunPath, SpanDocument, span_document};
use crate::coordinator::NewRun;
use crate::document::{Marks, MarksPatch, RunDocument, label};
use crate::feed::Feed;
use crate::{StopError, view};

/// What can stand behind the `?` of a run.
#[derive(Deserialize)]
pub(super) struct RunQuery {
    /// Anything: without script, the page is not to load itself again.
    still: Option<String>,
    /// The first second that numbers are told of.
    from: Option<u32>,
    /// The second after the last.
    to: Option<u32>,
}

impl RunQuery {
    /// The seconds that are asked for; what isn't said is the run's begin or end.
    fn seconds(&self) -> Option<(Option<u32>, Option<u32>)> {
        Some((self.from, self.to)).filter(|(from, to)| from.is_some() || to.is_some())
    }
}

pub(super) async fn show(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
    query: Result<Query<RunQuery>, QueryRejection>,
) -> Page {
    let RunPath(run) = run?;
    let query = query_of(query)?;
    let document = existing(&state, &run).await?;
    let feed = state.shared().feed(&run).await?;
    let ticks = feed.map(|feed| feed.read(Feed::ticks)).unwrap_or_default();
    let ticks = ticks.iter().map(|tick| (**tick).clone()).collect();
    let span = match query.seconds() {
        Some((from, to)) => Some(span_view(span_document(&state, &run, from, to).await?)),
        None => None,
    };
    let page = RunPage { still: query.still.is_some(), span, ..view::run_page(document, ticks) };
    Ok(Html(page.render()?))
}

fn span_view(SpanDocument { from_s, to_s, run }: SpanDocument) -> SpanView {
    SpanView { from_s: from_s.into(), to_s: to_s.into(), run }
}

async fn existing(state: &AppState, run: &RunId) -> Result<RunDocument, Problem> {
    state.shared().document(run).await?.ok_or_else(|| Problem::no_run(run))
}

pub(super) async fn stop(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    match state.coordinator.stop(&run, false).await {
        // Whoever wanted a run to be over that is over already sees that it is.
        Ok(()) | Err(StopError::Over(_)) => Ok(Redirect::to(&format!("/runs/{run}"))),
        Err(error) => Err(error.into()),
    }
}

/// What the form sends: the field of the run's model.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AdjustForm {
    rate: String,
    users: String,
}

pub(super) async fn adjust(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
    form: Result<Form<AdjustForm>, FormRejection>,
) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    let AdjustForm { rate, users } = form_of(form)?;
    let to = Asked::of_form(&rate, &users)?.level()?;
    state.coordinator.adjust_run(&run, to).await?;
    Ok(Redirect::to(&format!("/runs/{run}")))
}

/// What people say of a run, all of it: what is left empty is taken away.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NoteForm {
    note: String,
    /// `key=value, key=value`.
    labels: String,
}

impl NoteForm {
    /// What it changes of the marks that there are.
    fn patch(&self, before: &Marks) -> Result<MarksPatch, String> {
        let texts = self.labels.split(',').map(str::trim).filter(|text| !text.is_empty());
        let wanted: BTreeMap<_, _> = texts.map(label).collect::<Result<_, _>>()?;
        let gone =
            before.labels.keys().filter(|key| !wanted.contains_key(*key)).map(|key| (key.clone(), None));
        let labels = gone.chain(wanted.iter().map(|(key, value)| (key.clone(), Some(value.clone()))));
        let note = Some(self.note.trim().to_owned()).filter(|note| !note.is_empty());
        Ok(MarksPatch { note: Some(note), labels: Some(labels.collect()) })
    }
}

pub(super) async fn note(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
    form: Result<Form<NoteForm>, FormRejection>,
) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    let form = form_of(form)?;
    let before = existing(&state, &run).await?.marks();
    let patch =
        form.patch(&before).map_err(|detail| Problem::new(422, "The run cannot be marked so", detail))?;
    state.shared().mark(&run, patch).await?;
    Ok(Redirect::to(&format!("/runs/{run}")))
}

/// Starts another run of the same plan, with the same labels. The note was of the one before.
pub(super) async fn again(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    let RunDocument { plan, library, labels, .. } = existing(&state, &run).await?;
    let plan = volley_plan::parse(&plan).map_err(Problem::faults)?;
    let marks = Marks { labels, note: None };
    let id = state.coordinator.start_run(NewRun { library, marks, ..NewRun::of(plan) }).await?;
    Ok(Redirect::to(&format!("/runs/{id}")))
}

pub(super) async fn delete(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    state.shared().remove(&run).await?;
    Ok(Redirect::to("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(labels: &str, note: &str, expected: Result<&str, &str>) {
        let before = Marks {
            note: Some("before".to_owned()),
            labels: BTreeMap::from([
                ("zone".to_owned(), "eu".to_owned()),
                ("old".to_owned(), "1".to_owned()),
            ]),
        };
        let form = NoteForm { note: note.to_owned(), labels: labels.to_owned() };
        let marks = form.patch(&before).and_then(|patch| before.patched(patch));
        let said = marks.map(|marks| serde_json::to_string(&marks).unwrap());
        match (said, expected) {
            (Ok(said), Ok(expected)) => assert_eq!(said, expected, "{labels}"),
            (Err(said), Err(part)) => assert!(said.contains(part), "{said}"),
            (found, _) => panic!("{labels}: {found:?}"),
        }
    }

    #[test]
    fn a_note_form_says_all_that_is_to_be_said() {
        check("zone=us, new = x=1 ,", " hi ", Ok(r#"{"note":"hi","labels":{"new":"x=1","zone":"us"}}"#));
        check("", "", Ok(r#"{"note":null,"labels":{}}"#));
        check("zone", "", Err("KEY=VALUE"));
        check("=x", "", Err("a key has"));
    }
}
