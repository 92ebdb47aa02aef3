// Numbers as text. src/format.rs is the same on the server, and a test holds the two together.

export const NOTHING = "–";

export function count(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

function fixed(x, decimals) {
  const scale = 10 ** decimals;
  const scaled = Math.round(Math.abs(x) * scale);
  const sign = x < 0 && scaled > 0 ? "−" : "";
  const whole = count(Math.floor(scaled / scale));
  return decimals === 0 ? sign + whole : `${sign}${whole}.${String(scaled % scale).padStart(decimals, "0")}`;
}

function significant(x) {
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 99.95) return fixed(x, 0);
  if (size >= 9.995) return fixed(x, 1);
  return fixed(x, size >= 0.9995 ? 2 : 3);
}

function percent(fraction) {
  const x = fraction * 100;
  if (x > 0 && x < 0.001) return "<0.001 %";
  // Cut, not rounded: 100 % is kept for all.
  if (x < 100 && x >= 99.5) return `${fixed(Math.floor(x * 100) / 100, 2)} %`;
  return `${significant(x)} %`;
}

function seconds(x) {
  const whole = Math.floor(Math.max(0, x));
  const two = (n) => String(n).padStart(2, "0");
  if (whole < 60) return x === whole ? `${whole} s` : `${fixed(Math.floor(Math.max(0, x) * 10) / 10, 1)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

function bytes(x) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; x >= 1024 && unit < units.length - 1; unit++) x /= 1024;
  return `${significant(x)} ${units[unit]}`;
}

const WRITERS = {
  text: (x) => fixed(x, 0),
  count: (x) => fixed(x, 0),
  rate: significant,
  ms: significant,
  signed: (x) => (x > 0 ? "+" : "") + significant(x),
  percent,
  seconds,
  ago: (x) => `${seconds(x)} ago`,
  bytes,
  // Which percentile, with the decimals that it needs.
  percentile: (x) => fixed(x, 5).replace(/\.?0+$/, ""),
};

/** Writes a value: text as it is, a number in the named format, anything else as a dash. */
export function write(format, value) {
  if (typeof value === "string") return value;
  return Number.isFinite(value) ? WRITERS[format](value) : NOTHING;
}
