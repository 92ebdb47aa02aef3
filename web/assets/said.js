// What the charts and the accounting say in a sentence. src/said.rs is the same on the server, and a test holds
// the two together.

import { count, write } from "./format.js";

const sum = (values) => values.reduce((a, b) => a + b, 0);
// Not Math.min(...values): a day has more seconds than a call has arguments.
const least = (values) => values.reduce((a, b) => (b < a ? b : a));
const most = (values) => values.reduce((a, b) => (b > a ? b : a));
const present = (values) => values.filter((x) => Number.isFinite(x));

export function rate(ticks) {
  if (ticks.length === 0) return "No second has been measured yet.";
  const oks = ticks.map((t) => t.ok);
  const [low, high] = [least(oks), most(oks)];
  const mean = write("rate", sum(oks) / oks.length);
  const ok =
    low === high
      ? `${count(high)} ok requests per second`
      : `${count(low)} to ${count(high)} ok requests per second, ${mean} on average`;
  return `Over ${write("seconds", ticks.length)}: ${ok}; ${failed(ticks)}.`;
}

function failed(ticks) {
  const total = sum(ticks.map((t) => t.failed));
  if (total === 0) return "none failed";
  const worst = ticks.reduce((a, b) => (b.failed > a.failed ? b : a));
  return `${count(total)} failed, most in second ${count(worst.second)} (${count(worst.failed)})`;
}

export function latency(ticks) {
  const measured = ticks.filter((t) => Number.isFinite(t.latency_ms["100"]));
  if (measured.length === 0) return "No request has succeeded, so there is no latency to show.";
  const slowest = measured.reduce((a, b) => (b.latency_ms["100"] > a.latency_ms["100"] ? b : a));
  const median = between(ticks.map((t) => t.latency_ms["50"]));
  const p99 = between(ticks.map((t) => t.latency_ms["99"]));
  const ms = write("ms", slowest.latency_ms["100"]);
  return (
    `By the second, the median was ${median} and p99 ${p99}; ` +
    `the slowest request took ${ms} ms, in second ${count(slowest.second)}.`
  );
}

function between(values) {
  const known = present(values);
  const [low, high] = known.length ? [least(known), most(known)].map((x) => write("ms", x)) : ["–", "–"];
  return low === high ? `${low} ms` : `${low} to ${high} ms`;
}

export function open(ticks) {
  if (ticks.length === 0) return "No second has been measured yet.";
  const flying = ticks.map((t) => t.in_flight);
  const [low, high] = [least(flying), most(flying)];
  const range = low === high ? count(low) : `${count(low)} to ${count(high)}`;
  const connections = count(most(ticks.map((t) => t.connections)));
  return `At the seconds' ends ${range} requests were in flight, on at most ${connections} connections.`;
}

export function errors(ticks) {
  const totals = new Map();
  for (const tick of ticks) {
    for (const [kind, n] of Object.entries(tick.errors)) if (n > 0) totals.set(kind, (totals.get(kind) ?? 0) + n);
  }
  if (totals.size === 0) return "No request failed.";
  const kinds = [...totals].sort(([a], [b]) => (a < b ? -1 : 1));
  const [kind, n] = kinds.reduce((a, b) => (b[1] > a[1] ? b : a));
  const all = requests(sum(kinds.map(([, n]) => n)));
  if (kinds.length === 1) return `${all} failed, all of kind ${kind}.`;
  return `${all} failed, of ${kinds.length} kinds; most were ${kind} (${count(n)}).`;
}

const requests = (n) => (n === 1 ? "1 request" : `${count(n)} requests`);

export function iterations(run) {
  const { started, missed, unknown } = run.whole;
  const parts = terms([[started, "started"]], [[missed, "missed"], [unknown, "unknown"]]);
  const planned = run.planned_requests;
  if (planned == null) return parts;
  if (!run.over) return `${count(planned)} planned: ${parts} so far`;
  return balance(count(planned), planned, started + missed + unknown, parts);
}

export function requestsEnded(run) {
  const { started, ok, failed, cancelled, unresolved } = run.whole;
  const ended = ok + failed + cancelled + unresolved;
  const flying = run.over ? 0 : Math.max(0, started - ended);
  const parts = terms(
    [[ok, "ok"], [failed, "failed"]],
    [[cancelled, "cancelled"], [unresolved, "unresolved"], [flying, "in flight"]],
  );
  return balance(`${count(started)} started`, started, ended + flying, parts);
}

function terms(always, unlessZero) {
  const shown = [...always, ...unlessZero.filter(([n]) => n > 0)];
  return shown.map(([n, word]) => `${count(n)} ${word}`).join(" + ");
}

function balance(left, is, total, parts) {
  return is === total ? `${left} = ${parts}` : `${left} ≠ ${parts} (off by ${count(Math.abs(is - total))})`;
}
