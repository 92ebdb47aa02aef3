//! What the charts say of runs.

use crate::{RunPage, said, samples};

/// The sentence of one chart.
fn said(page: &RunPage, chart: &str) -> String {
    said::charts(&page.run, &page.ticks)[chart].clone()
}

#[test]
fn charts_say_in_a_sentence_what_they_draw() {
    let page = samples::full();
    let without = |n: usize| RunPage { ticks: page.ticks[..n].to_vec(), ..page.clone() };
    let cases = [
        (
            said(&page, "rate"),
            "Over 3 s: 100 to 500 ok requests per second, 300 on average; 41 failed, most in second 2 (29).",
        ),
        (
            said(&page, "latency"),
            "By the second, the median was 1.25 to 3.25 ms and p99 5.00 to 13.0 ms; \
             the slowest request took 53.6 ms, in second 2.",
        ),
        (said(&page, "open"), "At the seconds' ends 50 requests were in flight, on at most 48 connections."),
        (said(&page, "errors"), "42 requests failed, of 2 kinds; most were connect_refused (41)."),
        (said(&page, "generator"), "Nothing has been measured of the generator."),
        (said(&without(1), "errors"), "No request failed."),
        (said(&without(0), "latency"), "No request has succeeded, so there is no latency to show."),
        (said(&without(0), "rate"), "No second has been measured yet."),
    ];
    for (ours, expected) in cases {
        assert_eq!(ours, expected);
    }
}

#[test]
fn charts_of_the_open_model_tell_what_was_due_and_leave_the_warm_up_out() {
    let page = samples::open::over();
    let apart = " The warm-up (shaded, 5 s) is kept apart.";
    let cases = [
        (
            said(&page, "rate"),
            "Over 10 s: 4,880 of 5,000 iterations due were started, 120 missed, all in second 11; \
             380 to 500 ok requests per second, 488 on average; 5 failed, most in second 5 (1).",
        ),
        (
            said(&page, "latency"),
            "By the second, the median was 1.00 to 1.50 ms and p99 4.00 to 6.00 ms from when they were due; \
             the slowest request took 24.8 ms, in second 5; p99 of the service time was 3.00 to 4.50 ms.",
        ),
        (
            said(&page, "generator"),
            "Lag was at most 0.600 ms, in second 5, p99 was 0.060 to 0.090 ms; \
             the busiest worker used 12.5 % to 18.8 % of its processor.",
        ),
    ];
    for (ours, expected) in cases {
        assert_eq!(ours, format!("{expected}{apart}"));
    }
    assert_eq!(
        said(&samples::open::warming_up(), "rate"),
        format!("No second has been measured yet.{apart}")
    );
}

#[test]
fn the_second_in_which_the_load_stopped_pulls_no_average_down() {
    let mut page = samples::over();
    page.ticks.push(samples::tick(3, 7, 0));
    (page.run.stop_s, page.run.elapsed_s) = (Some(3.0), 3.0);
    let with_drain = said(&page, "rate");
    assert!(
        with_drain.starts_with("Over 3 s: 100 to 500 ok requests per second, 300 on average"),
        "{with_drain}"
    );
    (page.run.stop_s, page.run.elapsed_s) = (Some(0.4), 0.4);
    let short = said(&page, "rate");
    assert!(
        short.starts_with("Over 0.4 s: 77.4 ok requests per second; 41 failed"),
        "a run shorter than a second has no second to tell: {short}"
    );
}

#[test]
fn parts_of_seconds_are_told_as_what_they_are() {
    let mut page = samples::open::cut_short();
    let apart = " The warm-up (shaded, 2.5 s) is kept apart.";
    let ok = "499 ok requests per second; 3 failed, most in second 2 (1).";
    let due = "iterations due were started, none missed";
    assert_eq!(said(&page, "rate"), format!("Over 2.4 s: 1,225 of 1,225 {due}; {ok}{apart}"));
    // While it goes on, the ticks are all that every agent has reported.
    page.run.over = false;
    page.run.stop_s = None;
    page.ticks.truncate(4);
    let ok = "499 ok requests per second; 2 failed, most in second 2 (1).";
    assert_eq!(said(&page, "rate"), format!("Over 1.5 s: 750 of 750 {due}; {ok}{apart}"));
}

#[test]
fn counts_that_no_second_has_are_told_all_the_same() {
    let mut page = samples::open::cut_short();
    page.run.whole.missed = 7;
    assert!(said(&page, "rate").contains("were started, 7 missed;"), "{}", said(&page, "rate"));
}
