// Rows of the run page's tables, where they say more than the stream does. src/rows.rs is the same on the server, and a
// test holds the two together.

import { UNKNOWN_NUMBER } from "./accounts.js";
import { count } from "./format.js";

/** Rows that a table by the second lists at most: the latest ones. */
export const ROWS_MAX = 600;

/** Steps, named with their scenario where there are several scenarios. */
export function steps(run) {
  const many = run.steps.some((step) => step.scenario !== run.steps[0].scenario);
  return run.steps.map((step) => ({ ...step, label: many ? `${step.scenario} › ${step.name}` : step.name }));
}

/** Names of phases that are not what people call them. */
const PHASE_LABELS = { tls: "TLS", first_byte: "first byte" };

/** Failures by kind, with what happened and in which phase as people read it. */
export function errors(run) {
  const label = ({ words, kind }) => words || kind;
  const within = ({ phase }) => (Object.hasOwn(PHASE_LABELS, phase) ? PHASE_LABELS[phase] : phase);
  return run.errors.map((error) => ({ ...error, label: label(error), within: within(error) }));
}

/** Agents, with what is said of them in two numbers or words. */
export function agents(run) {
  return run.agents.map((agent) => ({
    ...agent,
    late: agent.seconds > 0 ? of(agent.late_seconds, agent.seconds) : null,
    unknown: agent.unknown ?? UNKNOWN_NUMBER,
    files: agent.descriptors == null ? null : of(agent.descriptors, agent.descriptors_limit),
    standing: agent.outlier == null ? agent.state : `${agent.state} · outlier`,
  }));
}

const of = (part, whole) => (whole == null ? count(part) : `${count(part)} of ${count(whole)}`);

/** Seconds, with the part of the run that they are of. */
export const ticks = (listed) => listed.map((tick) => ({ ...tick, part: tick.warmup ? "warm-up" : "" }));

/** Failures by second and kind. */
export function errorSeconds(listed) {
  const rows = listed.flatMap((t) => {
    const kinds = Object.entries(t.errors).sort(([a], [b]) => (a < b ? -1 : 1));
    return kinds.map(([kind, n]) => ({ second: t.second, kind, count: n }));
  });
  return rows.filter((row) => row.count > 0).slice(-ROWS_MAX);
}
