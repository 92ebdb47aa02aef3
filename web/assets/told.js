// What the numbers of a run's page are of: the whole run, or some of its seconds. src/told.rs is the same on the server,
// and a test holds the two together.

import { write } from "./format.js";
import { span as length } from "./said.js";

/** As a column is headed: `12–30 s`. */
export const head = ({ from_s, to_s }) => `${from_s}–${to_s} s`;

/** What is told of a run with those seconds drawn, where a span may be selected. `run` is for whoever derives something
 * from it: there a span is like a run that is over. */
export function told(run, drawn, span) {
  if (!span) return { shown: run, run, ticks: drawn, isSpan: false, head: "whole run", selected: "" };
  const { whole, distribution, steps, errors, statuses } = span.run;
  const shown = { ...run, whole, distribution, steps, errors, statuses };
  const isWarmup = span.to_s <= run.warmup_s;
  const ofSpan = {
    ...shown,
    over: true,
    elapsed_s: whole.rate_s,
    planned_requests: null,
    warmup: null,
    warmup_s: isWarmup ? 0 : run.warmup_s,
  };
  const covers = (tick) => tick.second < span.to_s && tick.second + length(tick) > span.from_s;
  const apart = (tick) => ({ ...tick, warmup: tick.warmup && !isWarmup });
  const ticks = drawn.filter(covers).map(apart);
  return { shown, run: ofSpan, ticks, isSpan: true, head: head(span), selected: sentence(span, run.warmup_s) };
}

/** What is so while a span is selected. */
function sentence({ from_s, to_s }, warmup_s) {
  let apart = "";
  if (to_s <= warmup_s) apart = ", which is in the warm-up";
  else if (from_s < warmup_s) apart = `, without the warm-up, which lasted ${write("seconds", warmup_s)}`;
  return `Numbers are of ${from_s} s to ${to_s} s${apart}.`;
}
