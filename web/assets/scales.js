// How the charts' axes run, and how they are labelled.

import { count } from "./format.js";

/** What a logarithmic axis can begin with. */
export const LEAST = 1e-3;

/** The latest round number (1, 2 or 5 times a power of ten) not above x, or the first not below it. */
function round125(x, up) {
  const power = 10 ** Math.floor(Math.log10(x) + 1e-9);
  const steps = [1, 2, 5, 10].map((n) => n * power);
  return up ? steps.find((s) => s >= x * (1 - 1e-9)) : steps.findLast((s) => s <= x * (1 + 1e-9));
}

export function linearRange(_plot, _min, max) {
  return [0, max > 0 ? max * 1.08 : 1];
}

export function logRange(_plot, min, max) {
  if (!(max > 0)) return [1, 10];
  const low = round125(Math.max(min, LEAST), false);
  const high = round125(max, true);
  return [low, high > low ? high : low * 10];
}

/** All of a processor, and more where a second took a little longer. */
export function shareRange(_plot, _min, max) {
  return [0, Math.max(1, max ?? 0)];
}

export function label(y) {
  if (y === null) return "";
  if (y >= 1e6) return `${+(y / 1e6).toPrecision(4)} M`;
  return y >= 1000 ? count(y) : String(+y.toPrecision(6));
}

export function shareLabel(y) {
  return `${Math.round(y * 100)} %`;
}

/** On a logarithmic axis lines at the powers of ten, and at 2 and 5 where there are few decades. */
export function logLines({ scales }, splits) {
  const first = scales.y.max / scales.y.min > 200 ? ["1"] : ["1", "2", "5"];
  return splits.map((y) => (first.includes(y.toExponential(6)[0]) ? y : null));
}

/** Indices of values without neighbours: a line would not show them. */
export function alone(values) {
  const missing = (i) => values[i] === undefined || values[i] === null;
  return values.flatMap((_, i) => (!missing(i) && missing(i - 1) && missing(i + 1) ? [i] : []));
}
