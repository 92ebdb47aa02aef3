// Everything a run's page binds to, as one tree: the snapshot, and what is derived from it and the ticks.
// src/view.rs is the same on the server, and a test holds the two together.

import { accounts } from "./accounts.js";
import { count, write } from "./format.js";
import * as rows from "./rows.js";
import * as said from "./said.js";
import { told } from "./told.js";

/** Ticks of which the latest rates are. */
const LATEST = 5;

/** The seconds that are drawn: up to the last that every agent has reported, all once the run is over. */
export function drawn(over, ticks) {
  return over ? ticks : ticks.slice(0, ticks.findLastIndex((t) => t.complete) + 1);
}

export function view(name, run, allTicks, log, selected) {
  const ticks = drawn(run.over, allTicks);
  const tells = told(run, ticks, selected);
  const word = run.verdict ?? run.state;
  const listed = tells.ticks.slice(-rows.ROWS_MAX);
  const { rate, error_rate, latency_ms } = tells.run.over ? tells.run.whole : run.last5;
  return {
    ...tells.shown,
    title: `${word} · ${name} · Volley`,
    word,
    selected: tells.selected,
    span: spanWords(tells),
    columns: { whole: tells.head },
    now: { rate, error_rate, latency_ms },
    units: units(run, ticks),
    pace: pace(run, ticks, tells),
    missed_share: missedShare(tells.run),
    last: tells.ticks.at(-1) ?? null,
    agents_well: `${run.agents.filter((a) => a.ok).length} / ${run.agents.length}`,
    planned: planned(run),
    progress: progress(run),
    accounts: accounts(tells.run, tells.isSpan),
    said: said.charts(tells.run, tells.ticks),
    cut: said.cut(tells.ticks, rows.ROWS_MAX),
    has: has(run, ticks, tells),
    phase: Object.fromEntries(tells.run.whole.phases.map((phase) => [phase.name, phase])),
    handshakes_full: full(tells.run.whole),
    steps: rows.steps(tells.run),
    errors: rows.errors(tells.run),
    agents: rows.agents(run),
    ticks: rows.ticks(listed),
    error_seconds: rows.errorSeconds(listed),
    log,
  };
}

/** What the strip's figures are of. */
const spanWords = (tells) => (tells.run.over ? tells.head : "last 5 s");
const isOpen = (ticks) => ticks.some((t) => t.planned != null);

/** What the page has anything to show of. */
function has(run, ticks, tells) {
  const doubts = run.health_notes.length > 0;
  const checked = run.agents.some((agent) => agent.seconds > 0);
  const { whole, distribution } = tells.run;
  return {
    open: isOpen(ticks),
    service: whole.service_ms["100"] != null,
    generator: ticks.some((t) => t.lag_max_ms != null || t.busiest_cpu != null),
    queued: run.state === "queued",
    running: run.state === "running",
    doubts,
    fit: checked && !doubts,
    phases: whole.phases.length > 0,
    tls: whole.handshakes > 0,
    addresses: run.addresses.length > 1 || run.addresses.some((address) => address.failures > 0),
    health: checked,
    thresholds: run.thresholds.length > 0,
    distribution: distribution.length > 0,
    // Figures of this moment say nothing beside those of a span that is past.
    latest: !(run.over && tells.isSpan),
    now: !tells.run.over,
  };
}

/** Handshakes that began from nothing. */
function full({ handshakes, handshakes_resumed }) {
  return handshakes == null || handshakes_resumed == null ? null : Math.max(0, handshakes - handshakes_resumed);
}

/** What the charts count, by their ids. */
function units(run, ticks) {
  const differ = isOpen(ticks) && run.steps.length > 1;
  const lag = ticks.some((t) => t.lag_max_ms != null) ? "ms, logarithmic" : "";
  const cpu = ticks.some((t) => t.busiest_cpu != null);
  return {
    rate: differ ? "per second; target, started and missed of iterations" : "per second",
    latency: "ms, logarithmic",
    generator: lag && cpu ? `${lag}; right: % of a core` : lag || "% of a core",
    open: "at the second's end",
    errors: "per second",
  };
}

/** Iterations due and started per second. In the strip the open model shows these, and the closed one its ok requests. */
function pace(run, ticks, tells) {
  const { over: isOver, whole: numbers } = tells.run;
  const measured = said.measured(ticks);
  const last5 = due(said.loaded(run, measured.length ? measured : ticks).slice(-LATEST));
  const whole = isOpen(ticks) && isOver ? wholePace(tells.run) : due(said.loaded(run, measured));
  // What the rate of the whole run is over, with the digits that it takes to multiply.
  const over = isOver && !tells.isSpan && numbers.rate_s > 0 ? `${write("rate", numbers.rate_s)} s` : null;
  return { strip: strip(run, ticks, tells, { last5, whole, over }), last5, whole, over };
}

function strip(run, ticks, tells, { last5, whole, over }) {
  const isOver = tells.run.over;
  const { planned, started } = isOver ? whole : last5;
  if (isOpen(ticks)) return { name: "Started", rate: started, words: `of ${write("rate", planned)} /s due` };
  if (isOver) return { name: "Rate", rate: tells.run.whole.rate, words: over ? `over ${over}` : spanWords(tells) };
  return { name: "Rate", rate: run.last5.rate, words: spanWords(tells) };
}

/** Iterations due and started per second, in all of a run that is over. */
function wholePace({ elapsed_s, whole: { planned, iterations } }) {
  const perSecond = (n) => (n != null && elapsed_s > 0 ? n / elapsed_s : null);
  return { planned: perSecond(planned), started: perSecond(iterations) };
}

function due(ticks) {
  if (!isOpen(ticks)) return { planned: null, started: null };
  const seconds = said.sum(ticks.map(said.span));
  return {
    planned: said.sum(ticks.map((t) => t.planned ?? 0)) / seconds,
    started: said.sum(ticks.map((t) => t.iterations)) / seconds,
  };
}

/** How much was missed of what was due. While the run goes on, that is less than what is planned in all. */
function missedShare({ over, whole: { planned, iterations, missed } }) {
  const due = (over ? planned : null) ?? iterations + missed;
  return due > 0 ? `${write("percent", missed / due)} of those due` : "none due yet";
}

function planned(run) {
  if (!run.over && run.run_s > 0 && run.run_s < run.warmup_s) {
    return `warm-up ${write("seconds", Math.floor(run.run_s))} of ${write("seconds", run.warmup_s)}`;
  }
  const parts = [];
  if (run.planned_s != null) parts.push(`of ${write("seconds", run.planned_s)}`);
  if (run.planned_requests != null) parts.push(`${count(run.whole.iterations)} of ${count(run.planned_requests)}`);
  return parts.join(" · ");
}

function progress(run) {
  const parts = [];
  if (run.over) return null;
  if (run.planned_s > 0) parts.push(run.run_s / (run.warmup_s + run.planned_s));
  if (run.planned_requests > 0) parts.push(run.whole.iterations / run.planned_requests);
  return parts.length ? Math.min(1, Math.max(0, ...parts)) : null;
}
