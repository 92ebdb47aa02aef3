//! What every page must hold to, and what each one says.

use serde_json::json;

use crate::format::Format;
use crate::html::{check, values};
use crate::samples::{self, HOSTILE};
use crate::{
    Agent, AgentsPage, Fault, HomePage, MessagePage, NewRun, RunFilter, RunLink, RunRow, Sample, assets,
    plans_tests,
};

fn row(name: &str, verdict: Option<&str>) -> RunRow {
    RunRow {
        id: "r-1".to_owned(),
        name: name.to_owned(),
        waits: if verdict.is_some() { String::new() } else { name.to_owned() },
        state: if verdict.is_some() { "finished" } else { "running" }.to_owned(),
        over: verdict.is_some(),
        verdict: verdict.map(str::to_owned),
        started_at: "2026-01-14T09:32:11.123Z".to_owned(),
        duration_s: Some(214.0),
        load: "50 users closed".to_owned(),
        requests: 149_880,
        latency_ms: samples::percentiles(1.25),
        error_rate: Some(0.0384),
        note: name.to_owned(),
        labels: vec![format!("{name}={name}")],
        ..RunRow::default()
    }
}

fn home(name: &str) -> HomePage {
    let text = name.to_owned();
    HomePage {
        runs: vec![row(name, Some("failed")), row(name, None)],
        form: NewRun {
            url: text.clone(),
            model: text.clone(),
            users: text.clone(),
            rate: text.clone(),
            connections: text.clone(),
            requests: text.clone(),
            duration: text.clone(),
            warmup: text.clone(),
            plan: text.clone(),
        },
        faults: vec![Fault { place: text.clone(), detail: text.clone(), hint: text.clone() }],
        filter: RunFilter {
            state: text.clone(),
            plan: text.clone(),
            label: text.clone(),
            fault: text.clone(),
        },
        before: text.clone(),
        older: text,
        ..HomePage::default()
    }
}

fn first(name: &str) -> HomePage {
    HomePage {
        first_run_command: name.to_owned(),
        add_agent_command: name.to_owned(),
        sample: Some(Sample { label: name.to_owned(), plan: name.to_owned() }),
        ..HomePage::default()
    }
}

fn fleet(name: &str) -> AgentsPage {
    let idle = Agent {
        id: name.to_owned(),
        name: name.to_owned(),
        state: "idle".to_owned(),
        ok: true,
        version: name.to_owned(),
        labels: name.to_owned(),
        cores: 8,
        last_seen_s: Some(0.3),
        round_trip_ms: Some(0.183),
        ..Agent::default()
    };
    let busy = Agent {
        state: "busy".to_owned(),
        weight: Some(4),
        capacity: Some(12_000),
        run: Some(RunLink { id: name.to_owned(), name: name.to_owned() }),
        part: Some(0.25),
        outlier: name.to_owned(),
        cpu: Some(1.5),
        lag_p99_ms: Some(0.057),
        descriptors: Some(1203),
        descriptors_limit: Some(65_536),
        local_ports: Some(28_232),
        drift_ms: Some(-0.231),
        ..idle.clone()
    };
    let gone = Agent { ok: false, gone: true, state: "gone".to_owned(), ..idle.clone() };
    let draining = Agent { draining: true, state: "draining".to_owned(), ..idle.clone() };
    let leaving = Agent { leaving: true, ..draining.clone() };
    AgentsPage { agents: vec![idle, busy, gone, draining, leaving], add_agent_command: name.to_owned() }
}

fn message(name: &str) -> MessagePage {
    let text = name.to_owned();
    MessagePage { status: 404, title: text.clone(), detail: text.clone(), command: text }
}

/// Every page in every shape, with this name wherever a name can be.
fn pages(name: &str) -> Vec<String> {
    let mut pages: Vec<String> = samples::all().iter().map(|page| page.render().unwrap()).collect();
    pages.extend([home(name).render().unwrap(), first(name).render().unwrap()]);
    pages.extend([plans_tests::plans(name).render().unwrap(), plans_tests::plan(name).render().unwrap()]);
    pages.extend([fleet(name).render().unwrap(), message(name).render().unwrap()]);
    pages
}

#[test]
fn hostile_names_stay_text() {
    for html in pages(HOSTILE) {
        check(&html, &[], &["<img", "onerror=alert(1)>\"'", "x onerror=alert(1)>", "alert(1)&#62;\""]);
        assert_eq!(html.matches("</script>").count(), html.matches("<script").count(), "{html}");
    }
    let html = samples::hostile().render().unwrap();
    check(&html, &["&#60;img src=x onerror=alert(1)&#62;", "\\u003cimg src=x"], &[]);
    assert!(values(&html, "action").iter().all(|action| action.starts_with("/runs/%3Cimg%20")), "{html}");
    let html = fleet(HOSTILE).render().unwrap();
    assert!(values(&html, "action").iter().all(|action| action.starts_with("/agents/%3Cimg%20")), "{html}");
}

#[test]
fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
    for html in pages("plain") {
        check(&html, &[], &[" style=", " onclick=", " onload=", "javascript:", "<style"]);
        for script in html.split("<script").skip(1) {
            let tag = script.split('>').next().unwrap();
            assert!(tag.contains("src=\"/assets/") || tag.contains("type=\"application/json\""), "{tag}");
        }
        for link in [values(&html, "href"), values(&html, "src"), values(&html, "action")].concat() {
            let known = ["/assets/", "/runs", "/plans", "/agents", "/api/v1/runs/", "/?", "#"];
            assert!(link == "/" || known.iter().any(|start| link.starts_with(start)), "{link}");
        }
    }
}

#[test]
fn every_asset_that_a_page_names_is_served() {
    let paths: Vec<&str> = assets().iter().map(|asset| asset.path).collect();
    for html in pages("plain") {
        let links = [values(&html, "href"), values(&html, "src")].concat();
        let named: Vec<&str> = links.into_iter().filter(|link| link.starts_with("/assets/")).collect();
        assert!(named.len() >= 3);
        assert!(named.iter().all(|link| paths.contains(link)), "{named:?}, {paths:?}");
    }
}

#[test]
fn every_module_that_a_script_imports_is_served() {
    let mut imports = 0;
    for asset in assets().iter().filter(|asset| asset.path.ends_with(".js")) {
        let text = std::str::from_utf8(asset.bytes).unwrap();
        for import in text.split(" from \"./").skip(1).filter_map(|rest| rest.split('"').next()) {
            imports += 1;
            let served = format!("{}/{import}", asset.path.rsplit_once('/').unwrap().0);
            assert!(assets().iter().any(|other| other.path == served), "{served}");
        }
    }
    assert!(imports >= 5, "{imports}");
}

#[test]
fn assets_have_types_and_tags() {
    for asset in assets() {
        assert!(asset.content_type != "application/octet-stream", "{}", asset.path);
        assert!(asset.etag.starts_with('"') && asset.etag.len() == 18, "{}", asset.etag);
        assert!(!asset.bytes.is_empty(), "{}", asset.path);
    }
}

#[test]
fn the_lock_file_holds_no_address() {
    let lock = include_str!("../package-lock.json");
    check(lock, &["\"integrity\""], &["resolved", "http"]);
}

#[test]
fn the_home_page_lists_runs_with_their_verdicts() {
    let html = home("checkout").render().unwrap();
    check(
        &html,
        &[
            "data-tone=\"failed\"",
            "data-tone=\"going\"",
            "data-live",
            "<time datetime=\"2026-01-14T09:32:11.123Z\">2026-01-14 09:32:11Z</time>",
            "3 min 34 s",
            "149,880",
            "3.84 %",
            "<details open>",
            "No agent is ready",
        ],
        &["No run yet"],
    );
}

#[test]
fn the_form_keeps_what_was_typed() {
    let open = NewRun {
        url: "http://127.0.0.1:1/".to_owned(),
        model: "rate".to_owned(),
        rate: "200/s".to_owned(),
        warmup: "5s".to_owned(),
        ..NewRun::default()
    };
    let form = |form: NewRun| HomePage { form, ..HomePage::default() }.render().unwrap();
    let says = [
        "name=\"model\" value=\"rate\" checked>",
        "name=\"rate\" value=\"200/s\"",
        "<details class=\"more\" open>",
        "name=\"warmup\" value=\"5s\"",
    ];
    let names = ["url", "model", "model", "users", "rate", "requests", "duration", "warmup", "connections"];
    check(&form(open), &says, &["value=\"users\" checked"]);
    let html = form(NewRun::default());
    check(
        &html,
        &["name=\"model\" value=\"users\" checked>", "<details class=\"more\">"],
        &["value=\"rate\" checked"],
    );
    let new = html.split("<section aria-labelledby=\"runs-title\"").next().unwrap();
    let sent: Vec<&str> = values(new, "name").into_iter().filter(|name| *name != "plan").collect();
    assert_eq!(
        sent.iter().filter(|name| names.contains(name)).collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>()
    );
}

#[test]
fn an_empty_home_page_says_how_to_begin() {
    let html = HomePage { agents_ready: 2, ..first("volley run plan.yaml") }.render().unwrap();
    let button = "<input type=\"hidden\" name=\"plan\" value=\"volley run plan.yaml\">";
    check(
        &html,
        &["No run yet", "<code>volley run plan.yaml</code>", button, "2 agents are ready"],
        &["role=\"alert\""],
    );
}

#[test]
fn the_agents_page_shows_the_fleet_and_how_to_add_to_it() {
    let html = fleet("load-1").render().unwrap();
    let says = [
        "4 of 5 well",
        "data-mark=\"false\"",
        "<code>load-1</code>",
        "0.183",
        "0.3 s ago",
        "25.0 %",
        "1,203 of 65,536",
        "28,232",
        "12,000",
        "−0.231",
        "outlier: load-1",
    ];
    check(&html, &says, &["No agent has joined"]);
    check(&AgentsPage::default().render().unwrap(), &["No agent has joined"], &[]);
}

#[test]
fn agents_are_drained_by_their_buttons_and_what_nobody_has_takes_no_room() {
    let html = fleet("load-1").render().unwrap();
    assert_eq!(
        values(&html, "action"),
        ["/agents/load-1/drain"; 3],
        "one that is gone or leaves has no button"
    );
    let says = ["value=\"true\"><button", "value=\"false\"><button", "leaves by itself", "Drain load-1"];
    check(&html, &says, &[]);
    let idle = AgentsPage { agents: vec![fleet("load-1").agents[0].clone()], ..AgentsPage::default() };
    let without = ["capacity", "weight", "local ports", "descriptors", ">share<", ">run<"];
    let html = idle.render().unwrap();
    let table = html.split("<table").nth(1).unwrap().split("</table>").next().unwrap();
    check(table, &["clock drift"], &without);
}

#[test]
fn a_busy_fleet_lets_runs_wait_and_says_so() {
    let page = |agents_busy| HomePage { agents_busy, ..home("checkout") }.render().unwrap();
    check(&page(1), &["The one agent is busy; a new run waits in the queue"], &["No agent is ready"]);
    check(&page(3), &["All 3 agents are busy; a new run waits in the queue"], &["No agent is ready"]);
    let waits = "Queued, next in line: run r-0 loads 127.0.0.1:8080.";
    let mut home = home("checkout");
    (home.runs[1].state, home.runs[1].waits) = ("queued".to_owned(), waits.to_owned());
    check(&home.render().unwrap(), &[waits, "<span class=\"badge-word\">queued</span>"], &[]);
}

#[test]
fn a_filter_is_kept_from_page_to_page() {
    let filter = RunFilter { plan: "a b&c".to_owned(), label: "zone=eu".to_owned(), ..RunFilter::default() };
    let mut page = HomePage { filter, older: "r-1".to_owned(), ..home("checkout") };
    page.before.clear();
    let says = [
        "data-from=\"/?plan=a%20b%26c&#38;label=zone%3Deu\"",
        "href=\"/?plan=a%20b%26c&#38;label=zone%3Deu&#38;before=r-1\"",
        "name=\"plan\" value=\"a b&#38;c\"",
        "name=\"label\" value=\"zone=eu\"",
        "href=\"/?label=checkout%3Dcheckout\">checkout=checkout</a>",
    ];
    check(&page.render().unwrap(), &says, &["in all</span>", "<option selected"]);
    page.filter = RunFilter { state: "finished".to_owned(), ..RunFilter::default() };
    check(&page.render().unwrap(), &["<option selected>finished</option>"], &[]);
    page.filter = RunFilter::default();
    check(&page.render().unwrap(), &["data-from=\"/\"", "href=\"/?before=r-1\"", "in all</span>"], &[]);
}

#[test]
fn a_filter_that_finds_nothing_says_so() {
    let with = |filter| HomePage { filter, ..HomePage::default() }.render().unwrap();
    let filter = RunFilter { plan: "checkout".to_owned(), ..RunFilter::default() };
    check(&with(filter), &["No run is like that.", "<a href=\"/\">All runs</a>"], &["No run yet"]);
    let fault = "label: found zone, expected KEY=VALUE".to_owned();
    let filter = RunFilter { label: "zone".to_owned(), fault: fault.clone(), ..RunFilter::default() };
    check(&with(filter), &[&fault, "value=\"zone\""], &["No run yet"]);
}

#[test]
fn numbers_read_well() {
    let cases = [
        (Format::Percent, 0.0, "0 %"),
        (Format::Percent, 0.000_001, "<0.001 %"),
        (Format::Percent, 0.999_999, "99.99 %"),
        (Format::Percent, 1.0, "100 %"),
        (Format::Ms, 0.057, "0.057"),
        (Format::Ms, 412.3, "412"),
        (Format::Seconds, 59.96, "59.9 s"),
        (Format::Seconds, 90.0, "1 min 30 s"),
        (Format::Seconds, 7500.0, "2 h 05 min"),
        (Format::Signed, -0.231, "−0.231"),
        (Format::Bytes, 18_874_368.0, "18.0 MiB"),
        (Format::Bytes, 512.0, "512 B"),
    ];
    for (format, number, expected) in cases {
        assert_eq!(format.write(&json!(number)), expected);
    }
}
