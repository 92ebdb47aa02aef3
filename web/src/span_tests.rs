//! What the page of a run says where some seconds of it are selected.

use crate::html::{check, seen};
use crate::samples::spans;
use crate::{RunPage, samples};

fn page(page: &RunPage) -> String {
    seen(&page.render().unwrap())
}

#[test]
fn without_a_span_the_page_says_that_numbers_are_of_the_whole_run() {
    let says = ["Numbers are of the whole run.", "last 5 s"];
    check(
        &page(&samples::over()),
        &says,
        &["Numbers are of 1 s", "of the whole run</span>", "Whole run</a>"],
    );
}

#[test]
fn every_number_is_of_the_span_and_the_page_says_what_is_not() {
    let says = [
        "Numbers are of 1 s to 2 s.",
        "Verdict, thresholds, agents and addresses are of the whole run.",
        "Thresholds of the whole run",
        "321 started; ended: 317 ok + 3 failed + 14 cancelled",
        "Half of the ok requests took 2.50 ms at most",
        "Over 1 s: 300 ok requests per second; 3 failed, most in second 1 (12).",
    ];
    let others = ["900 ok", "last 5 s", "Warm-up, kept apart", "off by", "≠", "Numbers are of the whole run"];
    check(&page(&spans::a_second()), &says, &others);
    let says = [
        "<a href=\"/runs/r-1\">Whole run</a>",
        ">1–2 s</span></th>",
        "required value=\"1\"",
        "required value=\"2\"",
        "<td class=\"num\">321</td>",
        "<td class=\"num\">99.85</td>",
        "<td class=\"num\">18.8</td>",
        "<td class=\"word\">204</td>",
    ];
    check(&spans::a_second().render().unwrap(), &says, &[]);
}

#[test]
fn charts_go_on_while_the_numbers_of_a_live_run_stay_put() {
    let says = [
        "Numbers are of 3 s to 8 s, without the warm-up, which lasted 5 s.",
        "last 5 s",
        "321 = 321 started",
        "498",
    ];
    check(&page(&spans::over_the_warm_up()), &says, &["15,000 planned", "Open now"]);
    let data = "\"span\":{\"from_s\":3,\"run\":{";
    check(&spans::over_the_warm_up().render().unwrap(), &[data], &[]);
}

#[test]
fn a_span_within_the_warm_up_tells_the_warm_up() {
    let says = ["Numbers are of 1 s to 4 s, which is in the warm-up.", "Latency by percentile 1–4 s"];
    check(&page(&spans::in_the_warm_up()), &says, &["No second has been measured yet."]);
}
