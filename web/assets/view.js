// Everything a run's page binds to, as one tree: the snapshot, and what is derived from it and the ticks.
// src/view.rs is the same on the server, and a test holds the two together.

import { count, write } from "./format.js";
import * as said from "./said.js";

const ROWS_MAX = 600;

/** The seconds that are drawn: up to the last that every agent has reported, all once the run is over. */
export function drawn(over, ticks) {
  return over ? ticks : ticks.slice(0, ticks.findLastIndex((t) => t.complete) + 1);
}

export function view(name, run, allTicks, log) {
  const ticks = drawn(run.over, allTicks);
  const word = run.verdict ?? run.state;
  const listed = ticks.slice(-ROWS_MAX);
  const { rate, error_rate, latency_ms } = run.over ? run.whole : run.last5;
  return {
    ...run,
    title: `${word} · ${name} · Volley`,
    word,
    span: run.over ? "whole run" : "last 5 s",
    now: { rate, error_rate, latency_ms },
    last: ticks.at(-1) ?? null,
    agents_well: `${run.agents.filter((a) => a.ok).length} / ${run.agents.length}`,
    planned: planned(run),
    progress: progress(run),
    iterations: said.iterations(run),
    requests: said.requestsEnded(run),
    said: {
      rate: said.rate(ticks),
      latency: said.latency(ticks),
      open: said.open(ticks),
      errors: said.errors(ticks),
    },
    cut: said.cut(ticks, ROWS_MAX),
    ticks: listed,
    error_seconds: errorSeconds(listed),
    log,
  };
}

function planned(run) {
  const parts = [];
  if (run.planned_s != null) parts.push(`of ${write("seconds", run.planned_s)}`);
  if (run.planned_requests != null) parts.push(`${count(run.whole.started)} of ${count(run.planned_requests)}`);
  return parts.join(" · ");
}

function progress(run) {
  const parts = [];
  if (run.over) return null;
  if (run.planned_s > 0) parts.push(run.elapsed_s / run.planned_s);
  if (run.planned_requests > 0) parts.push(run.whole.started / run.planned_requests);
  return parts.length ? Math.min(1, Math.max(0, ...parts)) : null;
}

function errorSeconds(ticks) {
  const rows = ticks.flatMap((t) => {
    const kinds = Object.entries(t.errors).sort(([a], [b]) => (a < b ? -1 : 1));
    return kinds.map(([kind, n]) => ({ second: t.second, kind, count: n }));
  });
  return rows.filter((row) => row.count > 0).slice(-ROWS_MAX);
}
