//! What the page of a run says and how, live and over, of the closed and the open model.

use serde_json::json;

use crate::format::NOTHING;
use crate::html::{check, seen};
use crate::{samples, view};

#[test]
fn a_full_run_has_a_number_in_every_cell() {
    for page in [samples::full(), samples::open::full()] {
        check(&seen(&page.render().unwrap()), &["whole run"], &[NOTHING, "NaN", "inf\""]);
    }
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
            "<form method=\"post\" action=\"/runs/r-1/stop\" data-hide=\"over\">",
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
fn a_live_run_can_be_adjusted_while_it_runs_and_else_says_why_not() {
    let action = "action=\"/runs/r-1/adjust\" data-hide=\"over\"";
    let mut page = samples::full();
    check(
        &page.render().unwrap(),
        &[&format!("{action}>"), "<fieldset data-enable=\"has/running\" aria", "name=\"users\" required"],
        &["name=\"rate\" required", "Adjusted to <span data-bind=\"adjusted\" data-format=\"text\">20"],
    );
    page.adjust.is_rate = true;
    page.run.state = "draining".to_owned();
    let why = "The load can be adjusted while the run is running.";
    let disabled = "<fieldset data-enable=\"has/running\" disabled";
    check(
        &page.render().unwrap(),
        &[disabled, "name=\"rate\" required", &format!("data-hide=\"has/running\">{why}")],
        &[],
    );
    page.adjust.why_not = "each user does a number".to_owned();
    let says = ["<fieldset disabled", "This run's load can't be adjusted: each user does a number."];
    check(&page.render().unwrap(), &says, &[why]);
    check(&samples::over().render().unwrap(), &[&format!("{action} hidden>")], &[]);
    let says = ["20 users from 12.3 s on", "running · outlier", "18 of 20 seconds"];
    check(&seen(&samples::adjusted().render().unwrap()), &says, &[]);
}

#[test]
fn a_queued_run_says_where_it_stands_and_can_be_cancelled() {
    let html = samples::queued().render().unwrap();
    let says =
        ["number 2 in line: run r-1 loads 127.0.0.1:8080", "<span data-show=\"has/queued\">Cancel</span>"];
    check(&html, &says, &[]);
    check(&samples::full().render().unwrap(), &["<span data-show=\"has/queued\" hidden>Cancel</span>"], &[]);
}

#[test]
fn without_script_a_page_can_be_held_still() {
    let mut page = samples::full();
    check(
        &page.render().unwrap(),
        &["http-equiv=\"refresh\"", "href=\"/runs/r-1?still=1\""],
        &["follow again"],
    );
    page.still = true;
    check(&page.render().unwrap(), &["follow again"], &["http-equiv=\"refresh\""]);
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
            "data-show=\"incomplete\">",
            "1 / 2",
            "14 cut off at the end",
        ],
        &["http-equiv=\"refresh\"", "in flight</dd>", "off by"],
    );
}

#[test]
fn case_31_a_warm_up_is_counted_and_kept_apart() {
    let html = seen(&samples::open::warming_up().render().unwrap());
    let warmup = "1,500 started: 1,490 ok, 1 failed, 7 missed";
    check(
        &html,
        &[
            "warm-up 3 s of 5 s",
            "Warm-up, kept apart",
            warmup,
            "15,000 planned: 0 started so far",
            "none due yet",
        ],
        &[],
    );
    let html = seen(&samples::open::over().render().unwrap());
    check(&html, &["of 10 s", "2,500 started: 2,498 ok, 2 failed"], &["warm-up 3 s"]);
    check(&seen(&samples::full().render().unwrap()), &[], &["Warm-up, kept"]);
}

#[test]
fn the_open_model_shows_what_was_due_missed_and_served() {
    let html = samples::open::over().render().unwrap();
    let live = seen(&samples::open::full().render().unwrap());
    check(&live, &["15,000 planned: 4,880 started + 120 missed so far", "2.40 % of those due"], &[]);
    let due = "data-bind=\"pace/last5/planned\" data-format=\"rate\">500<";
    check(&html, &[due], &[]);
    let html = seen(&html);
    check(
        &html,
        &[
            "of 500 /s due",
            "2.40 % of those due",
            "5,000 = 4,880 started + 120 missed",
            "4,880 started = 4,863 ok + 5 failed + 12 cancelled",
            "12 cut off at the end, 120 ms old at the median, 1,980 ms at most",
            "service time",
            "browse › list",
            "buy › pay",
            "request sent until the answer began",
            "Generator: fit",
            "1 of 2 of the arrivals",
            "0 of 10",
            "18.0 MiB",
            "61 of 65,536",
        ],
        &["Generator in doubt", "TLS handshake", "throttled", "granted"],
    );
    check(&seen(&samples::full().render().unwrap()), &["last 5 s"], &["service time", "Missed", "Generator"]);
}

#[test]
fn connections_addresses_and_handshakes_are_told() {
    let html = samples::full().render().unwrap();
    let reused = "data-bind=\"whole/connections_reused\" data-format=\"count\">899<";
    check(&html, &[reused, "data-bind=\"last/connections\" data-format=\"count\">48<"], &[]);
    let html = seen(&html);
    check(
        &html,
        &["Open now", "[fd00::2]:8080", "Failed are attempts to connect", "10 s for a request"],
        &["TLS handshakes"],
    );
    check(&html, &[], &["counted with the warm-up"]);
    let html = seen(&samples::over_tls().render().unwrap());
    check(&html, &["11 full, 40 resumed"], &["Open now", "10.0.0.1:443"]);
    assert_eq!(html.matches("certificates were not verified").count(), 2, "at the head and below");
}

#[test]
fn thresholds_are_told_with_what_is_left() {
    let html = samples::full().render().unwrap();
    check(&html, &["data-mark=\"holds\"", "data-mark=\"broken\""], &[]);
    check(
        &seen(&html),
        &["p99 &#60; 300ms", "4.36%", "each 10 s", "broken at 12 s", "99.58"],
        &["The plan demands nothing."],
    );
}

#[test]
fn errors_are_told_by_kind_with_phase_and_words() {
    let html = samples::over_tls().render().unwrap();
    check(
        &html,
        &[
            "<td class=\"word\">no first byte within its timeout</td><td class=\"word\">first byte</td>\
             <td class=\"num\">40</td><td class=\"num\">0</td><td class=\"num\">0</td>\
             <td class=\"word\">first_byte_timeout</td>",
            "<td class=\"word\">TLS handshake failed</td><td class=\"word\">TLS</td>",
        ],
        &[],
    );
}

#[test]
fn what_an_earlier_version_did_not_count_is_a_dash() {
    let html = samples::told_by_an_earlier_version().render().unwrap();
    let reused = "data-bind=\"whole/connections_reused\" data-format=\"count\">–<";
    check(&html, &[reused, "<td class=\"word\">connect_refused</td><td class=\"word\">connect</td>"], &[]);
}

#[test]
fn a_rate_says_what_it_is_over() {
    let html = seen(&samples::over().render().unwrap());
    check(&html, &["over 11.6 s", "of the whole run is over 11.6 s"], &[]);
    let html = seen(&samples::open::cut_short().render().unwrap());
    check(&html, &["of 500 /s due", "of the whole run is over 2.45 s"], &[]);
    let phases = "Of requests that were answered";
    check(&html, &[phases], &["Phases of all requests"]);
}

#[test]
fn a_generator_in_doubt_says_why() {
    let html = seen(&samples::open::late().render().unwrap());
    let says = ["Generator in doubt", "late in 2 of 10 seconds", "<li>", "2 of 10", "throttled", "24.0 %"];
    check(&html.replace("\n", ""), &says[..2], &["Generator: fit"]);
    check(&html, &says[3..], &[]);
    check(&samples::open::late().render().unwrap(), &["<li>6 % of agent berlin-1&#39;s"], &[]);
}

#[test]
fn what_nobody_can_count_is_an_unknown_number() {
    let html = seen(&samples::lost_with_open_unknown().render().unwrap());
    check(&html, &["958 started + unknown number by a lost agent", "unknown number"], &[" + 0 unknown"]);
    assert_eq!(html.matches("unknown number").count(), 2, "in the accounting and in the agent's row");
}

#[test]
fn books_that_do_not_balance_say_by_how_much() {
    let mut page = samples::over();
    page.run.whole.unknown = Some(40);
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
        &["<td class=\"num\">97</td>"],
    );
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
