//! Runs that tests render: a full one, an empty one, one with hostile names everywhere, one over a long time; those of
//! the open model in a file of their own.

pub(crate) mod open;
pub(crate) mod spans;

use std::collections::BTreeMap;

use crate::stream::{
    AddressTotals, AgentShare, ConnectionTotals, ErrorCount, LogLine, PercentilePoint, Percentiles, Recent,
    Snapshot, Standing, StatusCount, StepTotals, ThresholdTotals, Tick, Totals,
};
use crate::{Fact, RunPage};

pub(crate) const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&</script>";

pub(crate) fn percentiles(p50: f64) -> Percentiles {
    let [p90, p95, p99, p99_9, max] = [1.5, 2.0, 4.0, 8.0, 16.5].map(|times| Some(p50 * times));
    Percentiles { p50: Some(p50), p90, p95, p99, p99_9, max }
}

/// As many points as a test needs to see.
pub(crate) fn distribution(p50: f64) -> Vec<PercentilePoint> {
    let points = [(0.0, 0.5), (50.0, 1.0), (90.0, 1.5), (99.0, 4.0), (99.85, 7.5), (100.0, 16.5)];
    points.map(|(percentile, times)| PercentilePoint { percentile, latency_ms: p50 * times }).to_vec()
}

pub(crate) fn tick(second: u64, ok: u64, failed: u64) -> Tick {
    Tick {
        second,
        elapsed_s: second as f64 + 1.25,
        iterations: ok + failed,
        started: ok + failed,
        ok,
        failed,
        in_flight: 50,
        connections: 48,
        bytes_received: ok * 220,
        latency_ms: if ok > 0 { percentiles(1.25 + second as f64) } else { Percentiles::default() },
        errors: BTreeMap::from([("connect_refused".to_owned(), failed), ("status".to_owned(), second % 2)]),
        complete: true,
        ..Tick::default()
    }
}

fn agent(name: &str) -> AgentShare {
    AgentShare {
        name: name.to_owned(),
        state: "running".to_owned(),
        ok: true,
        version: "0.1.0".to_owned(),
        cores: 8,
        share: "25 users".to_owned(),
        part: 0.5,
        users: 25,
        granted: 600,
        started: 479,
        unknown: Some(42),
        round_trip_ms: Some(0.182),
        last_seen_s: Some(0.4),
        ..AgentShare::default()
    }
}

/// Connections without TLS; every number there.
pub(crate) fn connections(opened: u64, reused: u64) -> ConnectionTotals {
    ConnectionTotals {
        connections_opened: opened,
        connections_reused: Some(reused),
        connections_closed: Some(7),
        handshakes: Some(0),
        handshakes_resumed: Some(0),
    }
}

fn address(address: &str, failures: u64, requests: u64) -> AddressTotals {
    AddressTotals { address: address.to_owned(), connections: 26, failures, requests }
}

/// Of the measured part, or over a stretch that broke it.
fn threshold(standing: Standing) -> ThresholdTotals {
    let broken = standing == Standing::Broken;
    let text = |holds: &str, broke: &str| if broken { broke.to_owned() } else { holds.to_owned() };
    ThresholdTotals {
        expect: text("p99 < 300ms", "error_rate < 0.1%"),
        over_s: broken.then_some(10.0),
        standing,
        unit: text("ms", "share"),
        limit: if broken { 0.001 } else { 300.0 },
        value: Some(if broken { 0.0436 } else { 1.25 }),
        latest: Some(if broken { 0.0002 } else { 1.25 }),
        margin: Some(if broken { -42.6 } else { 0.9958 }),
        broken_at_s: broken.then_some(12.0),
        metric: text("p99", "error_rate"),
        scope: text("measured part", "each 10 s"),
        value_words: text("1.25 ms", "4.36%"),
        latest_words: text("1.25 ms", "0.02%"),
        limit_words: text("300 ms", "0.1%"),
        standing_words: text("holds", "broken at 12 s"),
        ..ThresholdTotals::default()
    }
}

fn fact(name: &str, words: &str) -> Fact {
    Fact { name: name.to_owned(), words: words.to_owned(), is_doubt: false }
}

/// Every field has a value, so that no dash may show.
pub(crate) fn full() -> RunPage {
    let latency_ms = percentiles(1.25);
    let run = Snapshot {
        state: "running".to_owned(),
        sentence: "Running with 2 agents.".to_owned(),
        elapsed_s: 12.4,
        run_s: 12.4,
        planned_s: Some(30.0),
        planned_requests: Some(1000),
        whole: Totals {
            iterations: 958,
            started: 958,
            ok: 900,
            failed: 41,
            cancelled: 10,
            unknown: Some(42),
            unresolved: 3,
            rate: 77.4,
            rate_s: 11.63,
            error_rate: Some(0.0436),
            latency_ms,
            connections: connections(52, 899),
            ..Totals::default()
        },
        distribution: distribution(1.25),
        last5: Recent { rate: 80.2, error_rate: Some(0.000_004), latency_ms: percentiles(0.057) },
        steps: vec![StepTotals {
            scenario: "checkout".to_owned(),
            name: "list".to_owned(),
            started: 958,
            ok: 900,
            failed: 41,
            rate: 77.4,
            latency_ms,
        }],
        errors: vec![ErrorCount {
            kind: "connect_refused".to_owned(),
            phase: "connect".to_owned(),
            words: "connection refused".to_owned(),
            count: 41,
            first_s: 0,
            last_s: 4,
        }],
        statuses: vec![StatusCount { status: 200, count: 900 }],
        addresses: vec![address("10.0.0.1:8080", 0, 476), address("[fd00::2]:8080", 3, 475)],
        thresholds: vec![threshold(Standing::Holds), threshold(Standing::Broken)],
        agents: vec![agent("a"), agent("b")],
        ..Snapshot::default()
    };
    RunPage {
        id: "r-1".to_owned(),
        name: "checkout".to_owned(),
        target: "http://127.0.0.1:8080/".to_owned(),
        load: "50 users closed".to_owned(),
        started_at: "2026-01-14T09:32:11.123Z".to_owned(),
        note: "a note".to_owned(),
        environment: vec![fact("Time-outs", "10 s for a request, 5 s of it for connecting")],
        plan: "target: http://127.0.0.1:8080/".to_owned(),
        run,
        ticks: vec![tick(0, 500, 0), tick(1, 300, 12), tick(2, 100, 29)],
        log: vec![LogLine { at_s: 2.5, text: "agent b answers late".to_owned(), level: "warn".to_owned() }],
        ..RunPage::default()
    }
}

/// Over, one agent lost, the books balanced.
pub(crate) fn over() -> RunPage {
    let mut page = full();
    page.run.state = "finished".to_owned();
    page.run.over = true;
    page.run.verdict = Some("passed".to_owned());
    page.run.incomplete = true;
    page.run.whole.cancelled = 14;
    page.run.agents[1].ok = false;
    page
}

/// Nothing has happened yet.
pub(crate) fn empty() -> RunPage {
    let whole = Totals { unknown: Some(0), ..Totals::default() };
    let run = Snapshot { state: "gathering".to_owned(), whole, ..Snapshot::default() };
    RunPage { id: "r-0".to_owned(), name: "empty".to_owned(), run, ..RunPage::default() }
}

/// Every request failed, numbers that no division can give, a second not yet complete.
pub(crate) fn nothing_succeeded() -> RunPage {
    let mut page = full();
    page.run.verdict = Some("invalid".to_owned());
    page.run.whole = Totals {
        iterations: 10,
        started: 10,
        failed: 10,
        unknown: Some(0),
        rate: f64::NAN,
        ..Totals::default()
    };
    page.run.last5 = Recent { rate: f64::INFINITY, error_rate: Some(1.0), ..Recent::default() };
    page.ticks = vec![tick(0, 0, 10), Tick { complete: false, ..tick(1, 0, 0) }];
    page
}

/// Markup wherever a name can be.
pub(crate) fn hostile() -> RunPage {
    let mut page = full();
    let name = HOSTILE.to_owned();
    page.id.clone_from(&name);
    page.name.clone_from(&name);
    page.target.clone_from(&name);
    page.load.clone_from(&name);
    page.note.clone_from(&name);
    page.plan.clone_from(&name);
    page.started_at.clone_from(&name);
    page.run.sentence.clone_from(&name);
    page.run.verdict = Some(name.clone());
    page.run.state.clone_from(&name);
    page.run.steps[0].name.clone_from(&name);
    page.run.steps[0].scenario.clone_from(&name);
    page.run.health_notes.push(name.clone());
    page.run.errors[0].kind.clone_from(&name);
    page.run.errors[0].phase.clone_from(&name);
    page.run.errors[0].words.clone_from(&name);
    page.run.addresses[1].address.clone_from(&name);
    page.run.thresholds[1].expect.clone_from(&name);
    page.environment = vec![Fact { name: name.clone(), words: name.clone(), is_doubt: true }];
    page.run.agents[0].name.clone_from(&name);
    page.run.agents[0].state.clone_from(&name);
    page.run.agents[0].share.clone_from(&name);
    page.run.agents[0].outlier = Some(name.clone());
    page.run.adjusted = Some(name.clone());
    page.adjust.why_not.clone_from(&name);
    page.run.agents[0].version.clone_from(&name);
    page.ticks[1].errors.insert(name.clone(), 40);
    page.log[0].text.clone_from(&name);
    page.log[0].level = name;
    page
}

/// More seconds than a table lists.
pub(crate) fn long() -> RunPage {
    let mut page = full();
    page.ticks = (0..700).map(|second| tick(second, 500 + second % 7, second % 3)).collect();
    (page.run.elapsed_s, page.run.run_s) = (4000.0, 4000.0);
    page.run.planned_s = Some(7265.0);
    page.run.planned_requests = None;
    page
}

/// A run of hours: by the minute, the last one cut short.
pub(crate) fn minutes() -> RunPage {
    let mut page = over();
    let minute = |n: u64| Tick { span_s: 60, ..tick(n * 60, 30_007 + n % 7, n % 3) };
    page.ticks = (0..700).map(minute).collect();
    page.ticks.push(Tick { span_s: 17, ..tick(42_000, 8_000, 0) });
    (page.run.elapsed_s, page.run.run_s, page.run.whole.failed) = (42_016.5, 42_016.5, 699);
    page.run.stop_s = Some(42_016.5);
    page
}

/// The same while it goes on: the latest hour by the second.
pub(crate) fn minutes_and_seconds() -> RunPage {
    let mut page = full();
    page.ticks = vec![Tick { span_s: 60, ..tick(0, 30_000, 1) }, tick(60, 512, 0), tick(61, 512, 3)];
    page
}

pub(crate) fn all() -> Vec<RunPage> {
    let mut all = vec![
        full(),
        over(),
        empty(),
        nothing_succeeded(),
        hostile(),
        long(),
        minutes(),
        minutes_and_seconds(),
        lost_with_open_unknown(),
        queued(),
        adjusted(),
        over_tls(),
        told_by_an_earlier_version(),
    ];
    all.extend([
        open::full(),
        open::warming_up(),
        open::over(),
        open::late(),
        open::lost(),
        open::cut_short(),
    ]);
    all.extend(spans::all());
    all
}

/// Over TLS that nobody verified, to one address.
pub(crate) fn over_tls() -> RunPage {
    let mut page = over();
    page.target = "https://shop.test/".to_owned();
    let (handshakes, handshakes_resumed) = (Some(51), Some(40));
    page.run.whole.connections = ConnectionTotals { handshakes, handshakes_resumed, ..connections(52, 899) };
    page.run.addresses = vec![address("10.0.0.1:443", 0, 951)];
    let kind = |kind: &str, phase: &str, words: &str, count| ErrorCount {
        kind: kind.to_owned(),
        phase: phase.to_owned(),
        words: words.to_owned(),
        count,
        ..ErrorCount::default()
    };
    page.run.errors = vec![
        kind("first_byte_timeout", "first_byte", "no first byte within its timeout", 40),
        kind("tls", "tls", "TLS handshake failed", 1),
    ];
    let words = "certificates were not verified".to_owned();
    page.environment.push(Fact { name: "TLS".to_owned(), words, is_doubt: true });
    page
}

/// Of a document that doesn't say of connections more than how many were opened, nor errors in words.
pub(crate) fn told_by_an_earlier_version() -> RunPage {
    let mut page = over();
    page.run.whole.connections = ConnectionTotals { connections_opened: 52, ..ConnectionTotals::default() };
    page.run.addresses.clear();
    page.run.errors[0].words.clear();
    page
}

/// It waits for its turn.
pub(crate) fn queued() -> RunPage {
    let mut page = empty();
    page.run.state = "queued".to_owned();
    page.run.sentence = "Queued, number 2 in line: run r-1 loads 127.0.0.1:8080.".to_owned();
    page
}

/// One whose load was adjusted, and one of whose agents differs from the others.
pub(crate) fn adjusted() -> RunPage {
    let mut page = full();
    page.run.adjusted = Some("20 users from 12.3 s on".to_owned());
    let words = "latency p99 above its peers' in 18 of 20 seconds, by up to 12.4 ms";
    page.run.agents[1].outlier = Some(words.to_owned());
    page
}

/// A timed closed run that lost an agent: nobody can say what it did before it was lost.
pub(crate) fn lost_with_open_unknown() -> RunPage {
    let mut page = over();
    page.run.planned_requests = None;
    page.run.whole.unknown = None;
    page.run.agents[0].unknown = Some(0);
    page.run.agents[1] = AgentShare { state: "lost".to_owned(), unknown: None, ..page.run.agents[1].clone() };
    page.log.push(LogLine { at_s: 1.2, text: "agent b is lost".to_owned(), level: "warn".to_owned() });
    page
}
