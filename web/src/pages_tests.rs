//! What every page must hold to, and what each one says.

use serde_json::json;

use crate::format::{Format, NOTHING};
use crate::samples::{self, HOSTILE};
use crate::{
    Agent, AgentsPage, Fault, HomePage, MessagePage, NewRun, RunLink, RunRow, Sample, assets, said, view,
};

fn row(name: &str, verdict: Option<&str>) -> RunRow {
    RunRow {
        id: "r-1".to_owned(),
        name: name.to_owned(),
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
        ..RunRow::default()
    }
}

fn home(name: &str) -> HomePage {
    let text = name.to_owned();
    HomePage {
        runs: vec![row(name, Some("failed")), row(name, None)],
        form: NewRun {
            url: text.clone(),
            users: text.clone(),
            requests: text.clone(),
            duration: text.clone(),
            plan: text.clone(),
        },
        faults: vec![Fault { place: text.clone(), detail: text.clone(), hint: text }],
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
    let agent = Agent {
        name: name.to_owned(),
        state: "running".to_owned(),
        ok: true,
        version: name.to_owned(),
        cores: 8,
        run: Some(RunLink { id: name.to_owned(), name: name.to_owned() }),
        last_seen_s: Some(0.3),
        offset_ms: Some(0.042),
        round_trip_ms: Some(0.183),
    };
    let lost = Agent { ok: false, state: "lost".to_owned(), run: None, ..agent.clone() };
    AgentsPage { agents: vec![agent, lost], add_agent_command: name.to_owned() }
}

fn message(name: &str) -> MessagePage {
    let text = name.to_owned();
    MessagePage { status: 404, title: text.clone(), detail: text.clone(), command: text }
}

/// Every page in every shape, with this name wherever a name can be.
fn pages(name: &str) -> Vec<String> {
    let mut pages: Vec<String> = samples::all().iter().map(|page| page.render().unwrap()).collect();
    pages.extend([home(name).render().unwrap(), first(name).render().unwrap()]);
    pages.extend([fleet(name).render().unwrap(), message(name).render().unwrap()]);
    pages
}

fn check(html: &str, says: &[&str], says_not: &[&str]) {
    for text in says {
        assert!(html.contains(text), "{text:?} is missing in\n{html}");
    }
    for text in says_not {
        assert!(!html.contains(text), "{text:?} is in\n{html}");
    }
}

/// The values of an attribute, wherever it occurs.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    html.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
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
            let known = ["/assets/", "/runs", "/agents", "/api/v1/runs/", "#"];
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
fn a_full_run_has_a_number_in_every_cell() {
    let html = samples::full().render().unwrap();
    check(&html, &[], &[NOTHING, "NaN", "inf\""]);
}

#[test]
fn without_numbers_there_are_dashes() {
    for page in [samples::empty(), samples::nothing_succeeded()] {
        check(&page.render().unwrap(), &[NOTHING], &["NaN", "inf ", ">inf", "-nan"]);
    }
}

#[test]
fn a_live_run_can_be_stopped_and_follows_its_stream() {
    let html = samples::full().render().unwrap();
    check(
        &html,
        &[
            "data-stream=\"/api/v1/runs/r-1/stream\"",
            "<form method=\"post\" action=\"/runs/r-1/stop\" data-hide=\"over\" >",
            "http-equiv=\"refresh\"",
            "1,000 planned: 958 started + 42 unknown so far",
            "958 started = 900 ok + 41 failed + 10 cancelled + 3 unresolved + 4 in flight",
            "<title>running · checkout · Volley</title>",
            "<0.001 %".replace('<', "&#60;").as_str(),
            "href=\"/api/v1/runs/r-1\"",
        ],
        &[" data-over"],
    );
}

#[test]
fn a_run_that_is_over_balances_its_books() {
    let html = samples::over().render().unwrap();
    check(
        &html,
        &[
            " data-over",
            "data-hide=\"over\" hidden>",
            "1,000 = 958 started + 42 unknown",
            "958 started = 900 ok + 41 failed + 14 cancelled + 3 unresolved",
            "data-tone=\"passed\"",
            "data-show=\"incomplete\" >",
            "1 / 2",
        ],
        &["http-equiv=\"refresh\"", "in flight</dd>", "off by"],
    );
}

#[test]
fn books_that_do_not_balance_say_by_how_much() {
    let mut page = samples::over();
    page.run.whole.unknown = 40;
    page.run.whole.ok = 899;
    check(
        &page.render().unwrap(),
        &[
            "1,000 ≠ 958 started + 40 unknown (off by 2)",
            "958 started ≠ 899 ok + 41 failed + 14 cancelled + 3 unresolved (off by 1)",
        ],
        &[],
    );
}

#[test]
fn charts_say_in_a_sentence_what_they_draw() {
    let page = samples::full();
    let cases = [
        (
            said::rate(&page.ticks),
            "Over 3 s: 100 to 500 ok requests per second, 300 on average; 41 failed, most in second 2 (29).",
        ),
        (
            said::latency(&page.ticks),
            "By the second, the median was 1.25 to 3.25 ms and p99 5.00 to 13.0 ms; \
             the slowest request took 53.6 ms, in second 2.",
        ),
        (
            said::open(&page.ticks),
            "At the seconds' ends 50 requests were in flight, on at most 48 connections.",
        ),
        (said::errors(&page.ticks), "42 requests failed, of 2 kinds; most were connect_refused (41)."),
        (said::errors(&page.ticks[..1]), "No request failed."),
        (said::latency(&[]), "No request has succeeded, so there is no latency to show."),
    ];
    for (ours, expected) in cases {
        assert_eq!(ours, expected);
    }
}

#[test]
fn a_second_is_drawn_when_every_agent_has_reported_it() {
    let mut ticks = samples::full().ticks;
    ticks[2].complete = false;
    assert_eq!(view::drawn(false, &ticks).len(), 2);
    ticks[1].complete = false;
    ticks[2].complete = true;
    assert_eq!(view::drawn(false, &ticks).len(), 3, "a later complete second ends the wait");
    ticks[2].complete = false;
    assert_eq!(view::drawn(true, &ticks).len(), 3, "over: nothing more will come");
}

#[test]
fn a_long_run_lists_its_last_seconds() {
    let html = samples::long().render().unwrap();
    check(
        &html,
        &["Only the last 600 of 700 seconds are listed.", "<td class=\"num\">699</td>"],
        &["<td class=\"num\">99</td>"],
    );
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
    let says = ["1 of 2 well", "data-mark=\"false\"", "<code>load-1</code>", "+0.042", "0.3 s ago"];
    check(&html, &says, &["No agent has joined"]);
    check(&AgentsPage::default().render().unwrap(), &["No agent has joined"], &[]);
}

#[test]
fn the_stream_is_keyed_as_documented() {
    let tick = serde_json::to_value(samples::tick(3, 10, 2)).unwrap();
    let keys = json!({ "50": 4.25, "90": 6.375, "95": 8.5, "99": 17.0, "99.9": 34.0, "100": 70.125 });
    assert_eq!(tick["latency_ms"], keys);
    assert_eq!(tick["errors"], json!({ "connect_refused": 2, "status": 1 }));
    let none = serde_json::to_value(samples::tick(3, 0, 2)).unwrap();
    assert_eq!(none["latency_ms"]["99"], json!(null));
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
        (Format::Offset, -0.231, "−0.231"),
    ];
    for (format, number, expected) in cases {
        assert_eq!(format.write(&json!(number)), expected);
    }
}
