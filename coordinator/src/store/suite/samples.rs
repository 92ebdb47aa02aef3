//! Runs and windows to keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use volley_lifecycle::{AgentFacts, AgentShare, Run, Settings};
use volley_plan::link::{Incarnation, RunId, WindowFacts};
use volley_stats::{Health, Iterations, Part, Row, RowKey, SealedWindow, Second, Timed, Window};

use crate::document::{DOCUMENT_VERSION, Progress, RunDocument};
use crate::store::Standing;

/// The document of a run that has just been asked for.
pub(crate) fn document(id: &str) -> RunDocument {
    RunDocument {
        volley: DOCUMENT_VERSION,
        id: RunId::new(id).unwrap(),
        name: format!("plan of {id}"),
        note: None,
        labels: BTreeMap::new(),
        library: None,
        created_at: "2026-11-30T12:00:00Z".to_owned(),
        started_at: None,
        load: "1 user closed, 1 s".to_owned(),
        target: "http://127.0.0.1:1/".to_owned(),
        plan: "{}".to_owned(),
        plan_hash: "0".repeat(64),
        progress: Progress { state: "gathering".to_owned(), ..Progress::default() },
        log: Vec::new(),
        log_lines_dropped: 0,
    }
}

/// Where the decider stands of a run of two users for each of these agents, once it has told them to prepare.
pub(crate) fn standing(run: &RunId, agents: &[u64]) -> Standing {
    let plan = format!("target: http://127.0.0.1:1/\nduration: 60s\nusers: {}", 2 * agents.len());
    let plan = Arc::new(volley_plan::parse(&plan).unwrap());
    let facts = |agent: &u64| AgentFacts {
        incarnation: Incarnation(*agent),
        name: format!("agent {agent}"),
        version: "1".to_owned(),
        workers: 2,
        labels: BTreeMap::new(),
        weight: None,
        capacity: None,
    };
    let agents = agents.iter().map(facts).collect();
    let (run, _) = Run::new(0, run.clone(), plan, 42, Settings::default(), agents);
    let agents = run.agents().map(AgentShare::record).collect();
    Standing { run: run.record(), agents }
}

/// What a window says of its agent, as its first.
pub(crate) fn facts(sequence: u64, window: &Window) -> WindowFacts {
    WindowFacts { sequence, ..WindowFacts::counted(&sealed(window)) }
}

/// A window as a store takes it.
pub(crate) fn sealed(window: &Window) -> Arc<SealedWindow> {
    Arc::new(SealedWindow::of(window))
}

/// A window of `ok` requests of 1 ms in one second.
pub(crate) fn window(second: u32, ok: u64) -> Arc<Window> {
    let mut row = Row::default();
    for _ in 0..ok {
        row.latency.record(1_000_000);
    }
    (row.counters.started, row.counters.ok) = (ok, ok);
    row.counters.statuses.add(200, ok);
    let iterations = Iterations { started: ok, finished: ok, missed: 0 };
    Arc::new(Window {
        rows: BTreeMap::from([(RowKey::second(second, 0), row)]),
        seconds: BTreeMap::from([(second, Second { iterations, users: 1, ..Second::default() })]),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000 + 1,
        ..Window::default()
    })
}

/// The same of the warm-up.
pub(crate) fn warmup_window(second: u32, ok: u64) -> Arc<Window> {
    let mut window = Window::clone(&window(second, ok));
    let warm = |key: RowKey| RowKey { part: Part::Warmup, ..key };
    window.rows = window.rows.into_iter().map(|(key, row)| (warm(key), row)).collect();
    for scalars in window.seconds.values_mut() {
        (scalars.warmup, scalars.iterations) = (scalars.iterations, Iterations::default());
    }
    Arc::new(window)
}

/// A window of the open model, as agents send them: with service times, lag, and how the agent was. The lag is as many
/// milliseconds as `lag_ms` says.
pub(crate) fn open_window(second: u32, ok: u64, lag_ms: u64) -> Arc<Window> {
    let mut window = Window::clone(&window(second, ok));
    let mut all = Row::default();
    for row in window.rows.values_mut() {
        for _ in 0..ok {
            row.service_time.record(900_000);
            all.timing.record(Timed::Lag, lag_ms * 1_000_000);
        }
    }
    window.rows.insert(RowKey::all_steps(second, Part::Measured), all);
    window.health.insert(second, health(lag_ms));
    Arc::new(window)
}

/// How an agent was in a second with that much lag.
pub(crate) fn health(lag_ms: u64) -> Health {
    Health {
        span_ns: 1_000_000_000,
        lag_p99_ns: lag_ms * 1_000_000,
        lag_max_ns: lag_ms * 1_000_000,
        busiest_cpu_ns: lag_ms * 10_000_000,
        descriptors: 20,
        ..Health::default()
    }
}
