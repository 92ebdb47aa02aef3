//! What monitoring reads of coordinator and agents, held against what the target saw.

use reqwest::blocking::Client;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use volley_e2e::{Coordinator, CoordinatorOptions, Reply, Samples, Server};

use crate::play;

const TOKEN: &str = "0123456789abcdef0123";

/// The answer at an address to whoever shows this: status, media type and text.
fn scraped(url: &str, shown: &str, accept: &str) -> (u16, String, String) {
    let request = Client::new().get(format!("{url}/metrics")).header(ACCEPT, accept);
    let answer = request.header(AUTHORIZATION, shown).send().expect("an answer");
    let kind = answer.headers()[CONTENT_TYPE].to_str().expect("a media type").to_owned();
    (answer.status().as_u16(), kind, answer.text().expect("a whole answer"))
}

fn samples(url: &str) -> Samples {
    let (status, kind, text) =
        scraped(url, &format!("Bearer {TOKEN}"), "application/openmetrics-text;version=1.0.0");
    assert_eq!((status, kind.as_str()), (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"));
    Samples::of(&text)
}

/// The counts of both parts, by outcome, and those of the histogram.
fn counts(samples: &Samples) -> [f64; 4] {
    let total = |name, outcome| samples.sum(name, &[("outcome", outcome)]);
    let (requests, timed) = ("volley_requests_total", "volley_request_duration_seconds_count");
    [total(requests, "ok"), total(requests, "failed"), total(timed, "ok"), total(timed, "failed")]
}

#[test]
fn metrics_count_what_the_target_saw_over_the_life_of_a_process() {
    let options = CoordinatorOptions { token: Some(TOKEN), ..CoordinatorOptions::default() };
    let coordinator = Coordinator::start_as(options);
    let agents = ["a", "b"].map(|name| coordinator.agent_with(name, &["--http", "127.0.0.1:0"]));
    let server = Server::start(|request| match request.on_connection % 4 {
        0 => Reply::status(503, ""),
        _ => Reply::ok("hello"),
    });
    let plans = [
        format!("target: {}\nrate: 100/s\nduration: 2s\nwarmup: 1s\n", server.url("/")),
        format!("target: {}\nusers: 4\nrequests: 50\n", server.url("/")),
    ];
    let mut sent = 0.0;
    for plan in plans {
        let report = play(&coordinator.api(), 2, &plan);
        let (of_fleet, seen) = (samples(&coordinator.url), server.requests() as f64);
        let [ok, failed, timed_ok, timed_failed] = counts(&of_fleet);
        assert_eq!((ok + failed, timed_ok, timed_failed), (seen, ok, failed), "{of_fleet:?}");
        assert!(failed > 0.0 && seen > sent, "{of_fleet:?}");
        sent = seen;
        let measured = of_fleet.sum("volley_answers_total", &[("status", "200"), ("part", "measured")]);
        assert!(measured >= report.count("ok") as f64);
        let of_agents = agents.each_ref().map(|agent| counts(&samples(&agent.http())));
        assert_eq!([0, 1].map(|place| of_agents[0][place] + of_agents[1][place]), [ok, failed]);
    }
    let of_fleet = samples(&coordinator.url);
    let sum = |name, labels: &[_]| of_fleet.sum(name, labels);
    assert_eq!(sum("volley_agents", &[]), 2.0);
    // On a busy machine the generator may have been late in one of them.
    let finished =
        ["none", "invalid"].map(|verdict| sum("volley_runs_finished_total", &[("verdict", verdict)]));
    assert_eq!(finished.iter().sum::<f64>(), 2.0);
    assert_eq!(sum("volley_iterations_total", &[]), 350.0);
    assert_eq!(sum("volley_schedule_lag_seconds_count", &[]), 300.0);
    assert_eq!(sum("volley_requests_in_flight", &[]), 0.0);
}

#[test]
fn metrics_are_for_those_with_the_token_and_in_the_older_form_for_those_who_name_none() {
    let coordinator =
        Coordinator::start_as(CoordinatorOptions { token: Some(TOKEN), ..CoordinatorOptions::default() });
    let agent = coordinator.agent_with("a", &["--http", "127.0.0.1:0"]);
    for url in [coordinator.url.clone(), agent.http()] {
        for shown in ["", "Bearer x", &format!("Basic {TOKEN}")] {
            let (status, ..) = scraped(&url, shown, "*/*");
            assert_eq!(status, 401, "{url} {shown}");
        }
        let (status, kind, text) = scraped(&url, &format!("Bearer {TOKEN}"), "*/*");
        assert_eq!((status, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"), "{text}");
        assert!(text.contains("# TYPE volley_requests_total counter\n"), "{text}");
    }
}
