// What the accounting says: what was planned and what became of it. src/accounts.rs is the same on the server, and a
// test holds the two together.

import { count, write } from "./format.js";

/** What stands where nobody can say how many. */
export const UNKNOWN_NUMBER = "unknown number";

/** Every line of the accounting; empty ones aren't shown. In a span some requests end that began before it, so nothing
 * balances there. */
export function accounts(run, isSpan) {
  return {
    iterations: iterations(run),
    requests: isSpan ? requestsOfSpan(run) : requests(run),
    cancelled: cancelled(run.whole),
    warmup: run.warmup ? warmup(run.warmup) : "",
  };
}

function iterations({ whole, planned_requests, over }) {
  const { iterations: started, missed, unknown } = whole;
  const known = terms(" + ", [[started, "started"]], [[missed, "missed"], [unknown ?? 0, "unknown"]]);
  const parts = unknown == null ? `${known} + ${UNKNOWN_NUMBER} by a lost agent` : known;
  const planned = whole.planned ?? planned_requests;
  if (planned == null) return parts;
  if (over && unknown != null) return balance(count(planned), planned, started + missed + unknown, parts);
  return `${count(planned)} planned: ${parts}${over ? "" : " so far"}`;
}

function requests({ whole, over }) {
  const { started, ok, failed, cancelled, unresolved } = whole;
  const ended = ok + failed + cancelled + unresolved;
  const flying = over ? 0 : Math.max(0, started - ended);
  const parts = terms(
    " + ",
    [[ok, "ok"], [failed, "failed"]],
    [[cancelled, "cancelled"], [unresolved, "unresolved"], [flying, "in flight"]],
  );
  return balance(`${count(started)} started`, started, ended + flying, parts);
}

function requestsOfSpan({ whole: { started, ok, failed, cancelled } }) {
  return `${count(started)} started; ended: ${terms(" + ", [[ok, "ok"], [failed, "failed"]], [[cancelled, "cancelled"]])}`;
}

function cancelled({ cancelled: n, cancelled_age_ms: age }) {
  if (n === 0) return "";
  const cut = `${count(n)} cut off at the end`;
  if (age["50"] == null || age["100"] == null) return cut;
  return `${cut}, ${write("ms", age["50"])} ms old at the median, ${write("ms", age["100"])} ms at most`;
}

function warmup({ started, ok, failed, cancelled, missed }) {
  const parts = terms(", ", [[ok, "ok"], [failed, "failed"]], [[cancelled, "cancelled"], [missed, "missed"]]);
  return `${count(started)} started: ${parts}`;
}

function terms(glue, always, unlessZero) {
  const shown = [...always, ...unlessZero.filter(([n]) => n > 0)];
  return shown.map(([n, word]) => `${count(n)} ${word}`).join(glue);
}

function balance(left, is, total, parts) {
  return is === total ? `${left} = ${parts}` : `${left} ≠ ${parts} (off by ${count(Math.abs(is - total))})`;
}
