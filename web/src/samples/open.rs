//! Runs of the open model: with a warm-up, with arrivals missed, by a generator that was late, with an agent lost.

use super::{agent, connections, percentiles, tick};
use crate::RunPage;
use crate::stream::{
    AgentShare, Percentiles, PhaseTotals, Recent, Snapshot, StatusCount, StepTotals, Tick, Totals,
    WarmupTotals,
};

const RATE: u64 = 500;
const WARMUP_S: u64 = 5;
const MEASURED_S: u64 = 10;
/// Arrivals turned away, all due in this second.
const MISSED: u64 = 120;
const MISSED_AT: u64 = 11;

/// A second that is full of arrivals, all of them ok.
fn second(second: u64) -> Tick {
    let missed = if second == MISSED_AT { MISSED } else { 0 };
    let slowness = 1.0 + (second % 3) as f64 * 0.25;
    Tick {
        warmup: second < WARMUP_S,
        planned: Some(RATE as f64),
        missed,
        service_ms: percentiles(0.75 * slowness),
        latency_ms: percentiles(slowness),
        lag_p99_ms: Some(0.06 * slowness),
        lag_max_ms: Some(0.4 * slowness),
        busiest_cpu: Some(0.125 * slowness),
        stolen: Some(0.005),
        ..tick(second, RATE - missed, second % 2)
    }
}

fn measured(second: &AgentShare) -> AgentShare {
    AgentShare {
        share: "1 of 2 of the arrivals".to_owned(),
        users: 0,
        granted: 0,
        started: 2440,
        unknown: Some(0),
        drift_ms: Some(-0.042),
        cpu: Some(0.214),
        busiest_cpu: Some(0.1875),
        lag_p99_ms: Some(0.09),
        lag_max_ms: Some(0.6),
        seconds: MEASURED_S,
        late_seconds: 0,
        stall_max_ms: Some(1.84),
        stolen: Some(0.005),
        throttled: Some(0.0),
        resident_bytes: Some(18_874_368),
        descriptors: Some(61),
        descriptors_limit: Some(65_536),
        local_ports: Some(28_232),
        ..second.clone()
    }
}

fn phases() -> Vec<PhaseTotals> {
    let of =
        |name: &str, count, p50| PhaseTotals { name: name.to_owned(), count, latency_ms: percentiles(p50) };
    vec![
        of("lag", 4880, 0.05),
        of("wait", 4880, 0.002),
        of("connect", 48, 0.11),
        of("send", 4880, 0.021),
        of("first_byte", 4880, 0.8),
        of("receive", 4880, 0.009),
    ]
}

fn step(scenario: &str, name: &str, started: u64) -> StepTotals {
    StepTotals {
        scenario: scenario.to_owned(),
        name: name.to_owned(),
        started,
        ok: started,
        failed: 5,
        rate: started as f64 / MEASURED_S as f64,
        latency_ms: percentiles(1.25),
    }
}

fn totals() -> Totals {
    Totals {
        planned: Some(RATE * MEASURED_S),
        iterations: RATE * MEASURED_S - MISSED,
        started: RATE * MEASURED_S - MISSED,
        ok: 4863,
        failed: 5,
        cancelled: 12,
        missed: MISSED,
        unknown: Some(0),
        unresolved: 0,
        rate: 486.3,
        rate_s: 10.0,
        error_rate: Some(5.0 / 4868.0),
        latency_ms: percentiles(1.25),
        service_ms: percentiles(0.9375),
        cancelled_age_ms: percentiles(120.0),
        phases: phases(),
        connections: connections(48, 4825),
    }
}

/// While it goes on, every number there.
pub(crate) fn full() -> RunPage {
    let page = super::full();
    let run = Snapshot {
        elapsed_s: MEASURED_S as f64,
        planned_s: Some(30.0),
        planned_requests: None,
        run_s: (WARMUP_S + MEASURED_S) as f64,
        warmup_s: WARMUP_S as f64,
        warmup: Some(WarmupTotals { started: 2500, ok: 2498, failed: 2, cancelled: 0, missed: 0 }),
        whole: Totals { planned: Some(RATE * 30), ..totals() },
        last5: Recent { rate: 497.6, error_rate: Some(0.002), latency_ms: percentiles(1.5) },
        steps: vec![step("browse", "list", 4392), step("buy", "pay", 488)],
        statuses: vec![StatusCount { status: 200, count: 4863 }, StatusCount { status: 503, count: 5 }],
        agents: vec![measured(&agent("berlin-1")), measured(&agent("berlin-2"))],
        ..page.run
    };
    let ticks = (0..WARMUP_S + MEASURED_S).map(second).collect();
    RunPage {
        name: "open".to_owned(),
        load: "500/s open, 30 s after 5 s of warm-up".to_owned(),
        run,
        ticks,
        ..page
    }
}

/// Three seconds and a bit into the warm-up.
pub(crate) fn warming_up() -> RunPage {
    let mut page = full();
    page.ticks.truncate(3);
    let run = &mut page.run;
    (run.elapsed_s, run.run_s) = (0.0, 3.25);
    run.whole = Totals { planned: Some(RATE * 30), unknown: Some(0), ..Totals::default() };
    run.warmup = Some(WarmupTotals { started: 1500, ok: 1490, failed: 1, cancelled: 0, missed: 7 });
    run.errors.clear();
    page
}

/// Over: stopped after ten measured seconds, the drain reaching into one more.
pub(crate) fn over() -> RunPage {
    let mut page = full();
    let run = &mut page.run;
    run.state = "finished".to_owned();
    run.over = true;
    run.verdict = Some("none".to_owned());
    run.sentence =
        "4,880 of 5,000 planned requests were sent, 120 missed; p99 was 5.00 ms from when they were due."
            .to_owned();
    run.planned_s = Some(MEASURED_S as f64);
    run.whole = totals();
    run.stop_s = Some((WARMUP_S + MEASURED_S) as f64);
    let drain = Tick {
        planned: Some(0.0),
        iterations: 0,
        started: 0,
        lag_p99_ms: None,
        ..second(WARMUP_S + MEASURED_S)
    };
    page.ticks.push(Tick { ok: 3, failed: 0, cancelled: 12, in_flight: 0, ..drain });
    page
}

/// Over: 2.5 s of warm-up and as long measured, so that both begin or end within a second.
pub(crate) fn cut_short() -> RunPage {
    let mut page = over();
    let run = &mut page.run;
    (run.warmup_s, run.elapsed_s, run.run_s, run.stop_s) = (2.5, 2.45, 4.95, Some(4.95));
    run.planned_s = Some(2.45);
    let all = 1225;
    run.whole = Totals {
        planned: Some(all),
        iterations: all,
        started: all,
        ok: 1222,
        failed: 3,
        cancelled: 0,
        missed: 0,
        rate: 1222.0 / 2.45,
        rate_s: 2.45,
        ..totals()
    };
    let part = |n: u64, of: u64, failed| Tick {
        warmup: n < 2,
        planned: Some(of as f64),
        iterations: of,
        started: of,
        ok: of - failed,
        failed,
        ..second(n)
    };
    page.ticks = vec![part(0, 500, 0), part(1, 500, 0), part(2, 250, 1), part(3, 500, 1), part(4, 475, 1)];
    page
}

/// The generator itself was late in two of ten seconds, so the run is invalid.
pub(crate) fn late() -> RunPage {
    let mut page = over();
    let because = "agent berlin-2 was late in 2 of 10 seconds, by up to 310 ms: a CPU quota of its control group \
                   (cgroup) held it up; give it more CPU, or it less load";
    let run = &mut page.run;
    run.verdict = Some("invalid".to_owned());
    run.sentence = format!("Invalid: {because}.");
    run.health_notes = vec![
        because.to_owned(),
        "6 % of agent berlin-1's processors' time was stolen by its machine's host".to_owned(),
    ];
    run.agents[0].stolen = Some(0.0612);
    let agent = &mut run.agents[1];
    (agent.late_seconds, agent.throttled, agent.busiest_cpu) = (2, Some(0.24), Some(0.97));
    (agent.lag_p99_ms, agent.lag_max_ms, agent.stall_max_ms) = (Some(288.0), Some(310.0), Some(305.0));
    for tick in &mut page.ticks[8..10] {
        (tick.lag_p99_ms, tick.lag_max_ms, tick.busiest_cpu) = (Some(288.0), Some(310.0), Some(0.97));
        tick.latency_ms = percentiles(60.0);
    }
    page
}

/// An agent was lost: what it had leave for is unknown, what came after is missed until the others had its stripes.
pub(crate) fn lost() -> RunPage {
    let mut page = over();
    let run = &mut page.run;
    run.incomplete = true;
    run.whole.unknown = Some(700);
    run.whole.missed = 800;
    run.whole.iterations = 3500;
    run.whole.started = 3500;
    (run.whole.ok, run.whole.failed, run.whole.cancelled, run.whole.unresolved) = (3480, 5, 12, 3);
    run.agents[1].ok = false;
    run.agents[1].state = "lost".to_owned();
    run.agents[1].unknown = Some(700);
    for tick in &mut page.ticks[9..12] {
        (tick.iterations, tick.started, tick.ok, tick.missed) = (250, 250, 250, 0);
    }
    page.ticks[12].missed = 250;
    page.ticks[12].latency_ms = Percentiles::default();
    page
}
