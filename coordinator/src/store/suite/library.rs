//! The library of plans, marks of runs, removed runs, and requests that come again.

use volley_plan::link::RunId;

use super::{Home, document, finish, keep, window};
use crate::document::Marks;
use crate::store::library::{Condition, LibraryError, MAX_VERSIONS, NewPlan, PlanName, Saved};
use crate::store::{Grain, Page, Remembered, RequestKey, Store, StoreError, Wanted};

fn name(text: &str) -> PlanName {
    PlanName::new(text).unwrap()
}

async fn save(
    store: &dyn Store,
    named: &str,
    text: &str,
    condition: Condition,
) -> Result<Saved, LibraryError> {
    let saved_at = "2026-12-01T00:00:00.000Z".to_owned();
    store.library().save(NewPlan { name: name(named), text: text.to_owned(), saved_at, condition }).await
}

pub(super) async fn plans_have_versions(home: &impl Home) {
    let store = home.open();
    assert!(
        matches!(save(&*store, "b", "one", Condition::Always).await, Ok(Saved::Created(plan)) if plan.version == 1)
    );
    assert!(
        matches!(save(&*store, "b", "two", Condition::Always).await, Ok(Saved::Replaced(plan)) if plan.version == 2)
    );
    assert!(
        matches!(save(&*store, "b", "two", Condition::Always).await, Ok(Saved::Unchanged(plan)) if plan.version == 2)
    );
    save(&*store, "a", "other", Condition::Absent).await.unwrap();
    drop(store);
    let store = home.open();
    let library = store.library();
    let said = |plans: Vec<crate::store::library::SavedPlan>| {
        plans.iter().map(|plan| format!("{} {} {}", plan.name, plan.version, plan.text)).collect::<Vec<_>>()
    };
    assert_eq!(said(library.plans().await.unwrap()), ["a 1 other", "b 2 two"]);
    assert_eq!(said(library.versions(&name("b")).await.unwrap()), ["b 2 two", "b 1 one"]);
    assert_eq!(said(library.versions(&name("c")).await.unwrap()), [""; 0]);
    let plan = async |version| library.plan(&name("b"), version).await.unwrap().map(|plan| plan.text);
    assert_eq!(
        (plan(None).await, plan(Some(1)).await, plan(Some(3)).await),
        (Some("two".into()), Some("one".into()), None)
    );
    for n in 3..=MAX_VERSIONS + 5 {
        save(&*store, "b", &n.to_string(), Condition::Always).await.unwrap();
    }
    let versions = library.versions(&name("b")).await.unwrap();
    assert_eq!(
        (versions.len(), versions[0].version, versions[MAX_VERSIONS - 1].version),
        (MAX_VERSIONS, 105, 6)
    );
    assert_eq!(
        (library.remove(&name("b"), Condition::Always).await.unwrap(), library.plans().await.unwrap().len()),
        (true, 1)
    );
    assert!(!library.remove(&name("b"), Condition::Always).await.unwrap());
    drop(store);
    let again = save(&*home.open(), "b", "again", Condition::Absent).await;
    assert!(
        matches!(&again, Ok(Saved::Created(plan)) if plan.version == 106),
        "no number comes twice: {again:?}"
    );
}

pub(super) async fn plans_are_changed_on_condition(home: &impl Home) {
    let store = home.open();
    let Ok(Saved::Created(first)) = save(&*store, "a", "one", Condition::Absent).await else {
        panic!("it is new")
    };
    let tagged = Condition::Tagged(vec![first.etag()]);
    save(&*store, "a", "two", tagged.clone()).await.unwrap();
    for condition in [tagged.clone(), Condition::Absent] {
        let refused = save(&*store, "a", "three", condition.clone()).await;
        assert!(
            matches!(&refused, Err(LibraryError::Condition(Some(latest))) if latest.version == 2),
            "{refused:?}"
        );
    }
    assert!(matches!(save(&*store, "b", "x", Condition::Present).await, Err(LibraryError::Condition(None))));
    assert!(matches!(
        store.library().remove(&name("a"), tagged).await,
        Err(LibraryError::Condition(Some(_)))
    ));
    assert!(store.library().remove(&name("a"), Condition::Present).await.unwrap());
}

pub(super) async fn marks_stay_whatever_a_document_says(home: &impl Home) {
    let store = home.open();
    let run = document("r");
    store.create(&run).await.unwrap();
    let labels = [("zone".to_owned(), "eu".to_owned())].into();
    let marks = Marks { note: Some("a note".to_owned()), labels };
    store.mark(&run.id, marks.clone()).await.unwrap();
    let check = async |store: &dyn Store| {
        let document = store.document(&run.id).await.unwrap().unwrap();
        let listed = store.list(&Page::newest(9)).await.unwrap();
        let summary = &listed.runs[0];
        assert_eq!(document.marks(), marks);
        assert_eq!((&summary.note, &summary.labels), (&marks.note, &marks.labels));
    };
    check(&*store).await;
    let run = finish(&*store, &run).await;
    check(&*store).await;
    drop(store);
    let store = home.open();
    check(&*store).await;
    let wanted = async |plan: Option<&str>, label: Option<(&str, &str)>, state: Option<&str>| {
        let labels = label.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
        let wanted = Wanted { plan: plan.map(str::to_owned), labels, state: state.map(str::to_owned) };
        store.list(&Page { wanted, ..Page::newest(9) }).await.unwrap().runs.len()
    };
    assert_eq!(wanted(Some("plan of r"), Some(("zone", "eu")), Some("finished")).await, 1);
    assert_eq!(wanted(None, None, None).await, 1);
    assert_eq!(wanted(Some("plan"), None, None).await, 0);
    assert_eq!(wanted(None, Some(("zone", "us")), None).await, 0);
    assert_eq!(wanted(None, None, Some("running")).await, 0);
    store.mark(&run.id, Marks::default()).await.unwrap();
    assert_eq!(store.document(&run.id).await.unwrap().unwrap().marks(), Marks::default());
}

pub(super) async fn removed_runs_are_gone(home: &impl Home) {
    let store = home.open();
    let (run, other) = (document("r"), document("s"));
    for run in [&run, &other] {
        store.create(run).await.unwrap();
        keep(&*store, &run.id, 1, 1, &window(0, 1)).await;
    }
    assert!(matches!(store.remove(&run.id).await, Err(StoreError::GoesOn(id)) if id == run.id));
    finish(&*store, &run).await;
    store.mark(&run.id, Marks::default()).await.unwrap();
    store.remove(&run.id).await.unwrap();
    let check = async |store: &dyn Store| {
        assert_eq!(store.document(&run.id).await.unwrap(), None);
        assert!(matches!(store.remove(&run.id).await, Err(StoreError::NotFound(_))));
        let listed = store.list(&Page::newest(9)).await.unwrap();
        assert_eq!(listed.runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["s"]);
        assert_eq!(store.series(&other.id).await.unwrap().lock().whole().counters.ok, 1);
    };
    check(&*store).await;
    drop(store);
    check(&*home.open()).await;
}

pub(super) async fn requests_are_remembered(home: &impl Home) {
    let store = home.open();
    let run = RunId::new("r").unwrap();
    let request = |asks: &str| RequestKey { key: "key".to_owned(), asks: asks.to_owned() };
    assert_eq!(store.remembered("key").await.unwrap(), None);
    store.remember(request("this"), &run).await.unwrap();
    drop(store);
    let store = home.open();
    let known = store.remembered("key").await.unwrap();
    assert_eq!(known, Some(Remembered { asks: "this".to_owned(), run: run.clone() }));
    let later = RunId::new("s").unwrap();
    store.remember(request("that"), &later).await.unwrap();
    assert_eq!(store.remembered("key").await.unwrap().map(|known| known.run), Some(later));
}

pub(super) async fn rows_are_of_steps_and_seconds(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for (sequence, second) in (1..).zip([0, 1, 59, 60, 200]) {
        keep(&*store, &run.id, 1, sequence, &window(second, u64::from(second) + 1)).await;
    }
    finish(&*store, &run).await;
    drop(store);
    let store = home.open();
    let check = async |grain, from_s, to_s, step, expected: u64| {
        let rows = store.rows(&run.id, grain, from_s, to_s, step).await.unwrap();
        assert!(rows.iter().all(|(key, _)| key.from_s >= from_s && key.to_s <= to_s.max(key.from_s + 1)));
        let ok: u64 = rows.iter().map(|(_, row)| row.counters.ok).sum();
        assert_eq!(ok, expected, "{grain:?} {from_s} {to_s} {step:?}");
    };
    check(Grain::Second, 0, u32::MAX, None, 1 + 2 + 60 + 61 + 201).await;
    check(Grain::Second, 1, 60, None, 62).await;
    check(Grain::Second, 1, 60, Some(0), 62).await;
    check(Grain::Second, 1, 60, Some(7), 0).await;
    check(Grain::Minute, 0, 60, None, 63).await;
    check(Grain::Minute, 60, 240, Some(0), 262).await;
}
