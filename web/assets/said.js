// What the charts say in a sentence, of the measured part. src/said.rs is the same on the server, and a test holds the
// two together.

import { count, write } from "./format.js";

const NOTHING_YET = "No second has been measured yet.";

export const sum = (values) => values.reduce((a, b) => a + b, 0);
// Not Math.min(...values): a day has more seconds than a call has arguments.
const least = (values) => values.reduce((a, b) => (b < a ? b : a));
const greatest = (values) => values.reduce((a, b) => (b > a ? b : a));
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

/** The ticks of the measured part. */
export const measured = (ticks) => ticks.filter((t) => !t.warmup);

/** The warm-up ended within the tick, whose counts are of the rest. */
export const isCut = (run, tick) => !tick.warmup && tick.second < run.warmup_s - 1e-9;

/** The load stopped within the tick, or before it. */
export const isPast = (run, tick) => tick.second + span(tick) > (run.stop_s ?? Infinity) + 1e-9;

/** The ticks over all of whose time the load was on, for averages. */
export const loaded = (run, ticks) => ticks.filter((t) => !isCut(run, t) && !isPast(run, t));

/** The measured time that ticks are of: whole seconds, but for the one in which the warm-up ended. */
const measured_s = (run, ticks) => sum(ticks.map((t) => t.second + span(t) - Math.max(run.warmup_s, t.second)));

/** The sentence of every chart, by its id. */
export function charts(run, allTicks) {
  const ticks = measured(allTicks);
  const warmup = write("seconds", run.warmup_s);
  const apart = run.warmup_s > 0 ? ` The warm-up (shaded, ${warmup}) is kept apart.` : "";
  return {
    rate: rate(run, ticks) + apart,
    latency: latency(ticks) + apart,
    generator: generator(ticks) + apart,
    open: open(ticks) + apart,
    errors: errors(ticks) + apart,
    distribution: distribution(run.whole.latency_ms),
  };
}

function distribution(latency_ms) {
  if (latency_ms["100"] == null) return "No request has succeeded.";
  const [half, p90, p99, p999, slowest] = ["50", "90", "99", "99.9", "100"].map((key) => write("ms", latency_ms[key]));
  return (
    `Half of the ok requests took ${half} ms at most, 90 % ${p90} ms, 99 % ${p99} ms and 99.9 % ${p999} ms; ` +
    `the slowest took ${slowest} ms.`
  );
}

/** Of a run that is over, time and counts are the whole run's: its ticks are of whole seconds, and it hardly ever is. */
function rate(run, all) {
  if (all.length === 0) return NOTHING_YET;
  const seconds = run.over ? run.elapsed_s : measured_s(run, all);
  const of = grain(all);
  const by = of === "seconds" ? "" : ` ${BY[of].toLowerCase()}`;
  const failed = most(all, "failed", run.over ? run.whole.failed : null);
  return `Over ${write("seconds", seconds)}${by}: ${due(run, all)}${ok(run, loaded(run, all), of)}; ${failed}.`;
}

function due({ over, whole }, ticks) {
  const known = present(ticks.map((t) => t.planned));
  if (known.length === 0) return "";
  const planned = write("count", (over ? whole.planned : null) ?? sum(known));
  const started = count(over ? whole.iterations : sum(ticks.map((t) => t.iterations)));
  const missed = most(ticks, "missed", over ? whole.missed : null);
  return `${started} of ${planned} iterations due were started, ${missed}; `;
}

function ok(run, ticks, of) {
  if (ticks.length === 0) return `${write("rate", run.whole.rate)} ok requests per second`;
  const rates = ticks.map((t) => t.ok / span(t));
  const format = of === "seconds" ? "count" : "rate";
  const [low, high] = [write(format, least(rates)), write(format, greatest(rates))];
  const mean = write("rate", sum(ticks.map((t) => t.ok)) / sum(ticks.map(span)));
  if (low === high) return `${high} ok requests per second`;
  return `${low} to ${high} ok requests per second, ${mean} on average`;
}

/** How many in all, which is `all` or the ticks' sum, and where most of them were. */
function most(ticks, word, all) {
  const total = all ?? sum(ticks.map((t) => t[word]));
  if (total === 0) return `none ${word}`;
  const worst = ticks.reduce((a, b) => (b[word] > a[word] ? b : a));
  if (worst[word] === 0) return `${count(total)} ${word}`;
  if (worst[word] === total) return `${count(total)} ${word}, all in ${place(worst)}`;
  return `${count(total)} ${word}, most in ${place(worst)} (${count(worst[word])})`;
}

/** The first tick with the largest value. */
function largest(ticks, value) {
  const known = ticks.filter((t) => Number.isFinite(value(t)));
  return known.length ? known.reduce((a, b) => (value(b) > value(a) ? b : a)) : null;
}

function latency(ticks) {
  const slowest = largest(ticks, (t) => t.latency_ms["100"]);
  if (!slowest) return "No request has succeeded, so there is no latency to show.";
  const range = (values) => between("ms", " ms", values);
  const median = range(ticks.map((t) => t.latency_ms["50"]));
  const p99 = range(ticks.map((t) => t.latency_ms["99"]));
  const service = range(ticks.map((t) => t.service_ms["99"]));
  return (
    `${BY[grain(ticks)]}, the median was ${median} and p99 ${p99}${service && " from when they were due"}; ` +
    `the slowest request took ${write("ms", slowest.latency_ms["100"])} ms, in ${place(slowest)}` +
    `${service && `; p99 of the service time was ${service}`}.`
  );
}

/** The range of some numbers, nothing where there are none. */
function between(format, unit, values) {
  const known = present(values);
  if (known.length === 0) return "";
  const [low, high] = [least(known), greatest(known)].map((x) => write(format, x));
  return low === high ? low + unit : `${low} to ${high}${unit}`;
}

function generator(ticks) {
  const parts = [];
  const latest = largest(ticks, (t) => t.lag_max_ms);
  if (latest) {
    const p99 = between("ms", " ms", ticks.map((t) => t.lag_p99_ms));
    const most_ms = write("ms", latest.lag_max_ms);
    parts.push(`Lag was at most ${most_ms} ms, in ${place(latest)}${p99 && `, p99 was ${p99}`}`);
  }
  const cpu = between("percent", "", ticks.map((t) => t.busiest_cpu));
  if (cpu) parts.push(`${latest ? "the" : "The"} busiest worker used ${cpu} of its processor`);
  return parts.length ? `${parts.join("; ")}.` : "Nothing has been measured of the generator.";
}

function open(ticks) {
  if (ticks.length === 0) return NOTHING_YET;
  const flying = ticks.map((t) => t.in_flight);
  const [low, high] = [least(flying), greatest(flying)];
  const range = low === high ? count(low) : `${count(low)} to ${count(high)}`;
  const connections = count(greatest(ticks.map((t) => t.connections)));
  return `At the ${ENDS[grain(ticks)]} ends ${range} requests were in flight, on at most ${connections} connections.`;
}

function errors(ticks) {
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
