// What the charts and the accounting say in a sentence. src/said.rs is the same on the server, and a test holds
// the two together.

import { count, write } from "./format.js";

const sum = (values) => values.reduce((a, b) => a + b, 0);
// Not Math.min(...values): a day has more seconds than a call has arguments.
const least = (values) => values.reduce((a, b) => (b < a ? b : a));
const most = (values) => values.reduce((a, b) => (b > a ? b : a));
const present = (values) => values.filter((x) => Number.isFinite(x));

/** How many seconds a tick covers. */
export const span = (tick) => Math.max(1, tick.span_s ?? 1);

/** What the ticks are of: "seconds", "minutes", or "both". */
function grain(ticks) {
  const minutes = ticks.filter((t) => span(t) > 1).length;
  if (minutes === 0) return "seconds";
  return minutes === ticks.length ? "minutes" : "both";
}

const BY = {
  seconds: "By the second",
  minutes: "By the minute",
  both: "By the second in the latest hour and by the minute before",
};
const ENDS = { seconds: "seconds'", minutes: "minutes'", both: "seconds' or minutes'" };
const ROWS_OF = {
  seconds: "",
  minutes: "Each row is of a minute.",
  both: "Rows of more than an hour ago are of a minute each.",
};

/** Where a tick lies. */
export function place(tick) {
  return span(tick) === 1 ? `second ${count(tick.second)}` : `the minute from second ${count(tick.second)}`;
}

export function cut(ticks, rowsMax) {
  const parts = [ROWS_OF[grain(ticks)]];
  const rows = parts[0] ? "rows" : "seconds";
  if (ticks.length > rowsMax) parts.push(`Only the last ${rowsMax} of ${count(ticks.length)} ${rows} are listed.`);
  return parts.filter(Boolean).join(" ");
}

export function rate(ticks) {
  if (ticks.length === 0) return "No second has been measured yet.";
  const seconds = sum(ticks.map(span));
  const rates = ticks.map((t) => t.ok / span(t));
  const of = grain(ticks);
  const format = of === "seconds" ? "count" : "rate";
  const [low, high] = [write(format, least(rates)), write(format, most(rates))];
  const mean = write("rate", sum(ticks.map((t) => t.ok)) / seconds);
  const ok =
    low === high
      ? `${high} ok requests per second`
      : `${low} to ${high} ok requests per second, ${mean} on average`;
  const by = of === "seconds" ? "" : ` ${BY[of].toLowerCase()}`;
  return `Over ${write("seconds", seconds)}${by}: ${ok}; ${failed(ticks)}.`;
}

function failed(ticks) {
  const total = sum(ticks.map((t) => t.failed));
  if (total === 0) return "none failed";
  const worst = ticks.reduce((a, b) => (b.failed > a.failed ? b : a));
  return `${count(total)} failed, most in ${place(worst)} (${count(worst.failed)})`;
}

export function latency(ticks) {
  const measured = ticks.filter((t) => Number.isFinite(t.latency_ms["100"]));
  if (measured.length === 0) return "No request has succeeded, so there is no latency to show.";
  const slowest = measured.reduce((a, b) => (b.latency_ms["100"] > a.latency_ms["100"] ? b : a));
  const median = between(ticks.map((t) => t.latency_ms["50"]));
  const p99 = between(ticks.map((t) => t.latency_ms["99"]));
  const ms = write("ms", slowest.latency_ms["100"]);
  return (
    `${BY[grain(ticks)]}, the median was ${median} and p99 ${p99}; ` +
    `the slowest request took ${ms} ms, in ${place(slowest)}.`
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
  return `At the ${ENDS[grain(ticks)]} ends ${range} requests were in flight, on at most ${connections} connections.`;
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
