//! What the pages of the library say, and what their forms send.

use crate::html::{check, values};
use crate::{Compared, Fault, NewPlan, PlanPage, PlanRow, PlanRun, PlanVersion, PlansPage};

fn run(name: &str, verdict: Option<&str>) -> PlanRun {
    PlanRun {
        id: name.to_owned(),
        state: if verdict.is_some() { "finished" } else { "running" }.to_owned(),
        verdict: verdict.map(str::to_owned),
        started_at: "2026-01-14T09:32:11.123Z".to_owned(),
        version: verdict.map(|_| 2),
        sentence: name.to_owned(),
    }
}

/// The list, with this name wherever a name can be.
pub(crate) fn plans(name: &str) -> PlansPage {
    let row = PlanRow {
        name: name.to_owned(),
        version: 3,
        saved_at: "2026-01-14T09:32:11.123Z".to_owned(),
        load: name.to_owned(),
        target: name.to_owned(),
        runs: vec![run(name, Some("failed")), run(name, None)],
    };
    PlansPage {
        plans: vec![row, PlanRow { name: name.to_owned(), ..PlanRow::default() }],
        form: NewPlan { name: name.to_owned(), text: name.to_owned() },
        faults: vec![fault(name)],
        save_command: name.to_owned(),
    }
}

fn fault(text: &str) -> Fault {
    Fault { place: text.to_owned(), detail: text.to_owned(), hint: text.to_owned() }
}

/// One plan in its second version of three, compared with the first.
pub(crate) fn plan(name: &str) -> PlanPage {
    let version = |version| PlanVersion { version, saved_at: "2026-01-14T09:32:11.123Z".to_owned() };
    PlanPage {
        name: name.to_owned(),
        version: 2,
        saved_at: "2026-01-14T09:32:11.123Z".to_owned(),
        latest: 3,
        load: name.to_owned(),
        target: name.to_owned(),
        text: format!("target: {name}\nusers: 2\n"),
        faults: vec![fault(name)],
        versions: vec![version(3), version(2), version(1)],
        compared: Some(Compared {
            from: "version 1".to_owned(),
            from_text: format!("target: {name}\nusers: 1\n"),
            to: name.to_owned(),
            to_text: format!("target: {name}\nusers: 2\n"),
        }),
        runs: vec![run(name, Some("passed")), run(name, None)],
        ..PlanPage::default()
    }
}

#[test]
fn the_list_shows_plans_with_their_latest_verdicts() {
    let says = [
        "<a href=\"/plans/checkout\">checkout</a>",
        "2026-01-14 09:32:11Z",
        "data-tone=\"failed\"",
        "data-tone=\"going\"",
        "href=\"/runs/checkout\" title=\"version 2, 2026-01-14 09:32:11Z\"",
        "can't be read by this version",
        "name=\"name\" required",
        "aria-current=\"page\">Plans</a>",
    ];
    check(&plans("checkout").render().unwrap(), &says, &["No plan is kept yet"]);
}

#[test]
fn an_empty_library_says_how_to_begin() {
    let page = PlansPage { save_command: "curl -T plan.yaml".to_owned(), ..PlansPage::default() };
    let says = ["No plan is kept yet", "<code>curl -T plan.yaml</code>", "action=\"/plans\""];
    check(&page.render().unwrap(), &says, &["role=\"alert\"", "<table"]);
}

#[test]
fn what_is_saved_takes_the_place_of_the_latest_version() {
    let html = plan("checkout").render().unwrap();
    let actions =
        ["/plans/checkout/run", "/plans/checkout", "/plans/checkout#changes", "/plans/checkout/delete"];
    assert_eq!(values(&html, "action"), actions);
    let versions: Vec<_> =
        html.split("name=\"version\" value=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(versions, ["2", "3", "3"], "what is run is what is shown");
    let says = [
        "<textarea name=\"text\" rows=\"10\" required spellcheck=\"false\" aria-labelledby=\"text-title\">\ntarget: checkout",
        "saving it makes it the latest again",
        "Run version 2",
        "href=\"/plans/checkout?version=3&amp;against=2#changes\"",
        "<a href=\"/plans/checkout\">of 3</a>",
        "<a href=\"/?plan=checkout\">",
    ];
    check(&html, &says, &["meanwhile", "version=1&amp;against"]);
}

#[test]
fn two_versions_are_compared_by_the_line() {
    let html = plan("checkout").render().unwrap();
    let says = [
        "from version 1 to checkout: 1 line added, 1 removed",
        "<tr class=\"removed\"><td class=\"num\">2</td><td class=\"num\"></td><td class=\"sign\">-</td><td><code>users: 1",
        "<tr class=\"added\"><td class=\"num\"></td><td class=\"num\">2</td><td class=\"sign\">+</td><td><code>users: 2",
    ];
    check(&html, &says, &["They are the same."]);
    let mut same = plan("checkout");
    same.compared =
        Some(Compared { from_text: "a".to_owned(), to_text: "a".to_owned(), ..Compared::default() });
    check(&same.render().unwrap(), &["They are the same."], &["class=\"diff\""]);
    let page = PlanPage { compared: None, ..plan("checkout") };
    check(&page.render().unwrap(), &[], &["id=\"changes\""]);
}

#[test]
fn somebody_who_was_overtaken_sees_by_what_and_loses_nothing() {
    let page = PlanPage { overtaken: true, text: "mine".to_owned(), faults: Vec::new(), ..plan("checkout") };
    let says = ["Somebody else has saved version 3 meanwhile.", "\nmine</textarea>"];
    check(&page.render().unwrap(), &says, &["Nothing was done:"]);
}
