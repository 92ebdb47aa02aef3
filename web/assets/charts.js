// The charts: uPlot, one time axis, one cursor. Colours and dashes are those of the legend's lines, so the style
// sheet is the one place that has them.

import { count, write } from "./format.js";
import { place, span } from "./said.js";

const SYNC = "run";
const Y_AXIS_PX = 52;

/** How each chart, by the id in its figure, takes its values from a tick. */
const KINDS = {
  rate: { value: (tick, key) => perSecond(tick, tick[key]), format: "count", height: 170 },
  latency: { value: (tick, key) => tick.latency_ms[key], format: "ms", height: 240, log: true },
  open: { value: (tick, key) => tick[key], format: "count", height: 130 },
  errors: { value: (tick, key) => perSecond(tick, tick.errors[key] ?? 0), format: "count", height: 130 },
};

const ERROR_CLASSES = 16;

function perSecond(tick, n) {
  return n / span(tick);
}

function lies(at_s, tick) {
  return at_s >= tick.second && at_s < tick.second + span(tick);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The latest round number (1, 2 or 5 times a power of ten) not above x, or the first not below it. */
function round125(x, up) {
  const power = 10 ** Math.floor(Math.log10(x) + 1e-9);
  const steps = [1, 2, 5, 10].map((n) => n * power);
  return up ? steps.find((s) => s >= x * (1 - 1e-9)) : steps.findLast((s) => s <= x * (1 + 1e-9));
}

function linearRange(_plot, _min, max) {
  return [0, max > 0 ? max * 1.08 : 1];
}

function logRange(_plot, min, max) {
  if (!(max > 0)) return [1, 10];
  const low = round125(Math.max(min, 1e-3), false);
  const high = round125(max, true);
  return [low, high > low ? high : low * 10];
}

function label(y) {
  if (y === null) return "";
  if (y >= 1e6) return `${+(y / 1e6).toPrecision(4)} M`;
  return y >= 1000 ? count(y) : String(+y.toPrecision(6));
}

/** On a logarithmic axis lines at the powers of ten, and at 2 and 5 where there are few decades. */
function logLines({ scales }, splits) {
  const first = scales.y.max / scales.y.min > 200 ? ["1"] : ["1", "2", "5"];
  return splits.map((y) => (first.includes(y.toExponential(6)[0]) ? y : null));
}

/** Indices of values without neighbours: a line would not show them. */
function alone(values) {
  const missing = (i) => values[i] === undefined || values[i] === null;
  return values.flatMap((_, i) => (!missing(i) && missing(i - 1) && missing(i + 1) ? [i] : []));
}

function lineStyle(key) {
  const style = getComputedStyle(key.querySelector("line"));
  const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat);
  const fill = style.fill === "none" ? undefined : style.fill;
  return { stroke: style.stroke, width: parseFloat(style.strokeWidth), dash, fill };
}

class Chart {
  constructor(figure, board) {
    this.figure = figure;
    this.board = board;
    this.kind = KINDS[figure.dataset.chart];
    this.place = figure.querySelector(".plot");
    this.legend = figure.querySelector(".legend");
    this.ticks = [];
    this.plot = null;
    this.legend.addEventListener("click", (event) => this.toggle(event.target.closest(".key")));
    this.place.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.resize()).observe(this.place);
    for (const key of this.keys()) key.disabled = false;
  }

  keys() {
    return [...this.legend.querySelectorAll(".key")];
  }

  /** Error kinds become lines in the order they first occur, so that a kind keeps its colour. */
  addKinds(ticks) {
    if (this.figure.dataset.chart !== "errors") return;
    const known = new Set(this.keys().map((key) => key.dataset.key));
    const before = known.size;
    for (const tick of ticks) {
      for (const [kind, n] of Object.entries(tick.errors)) {
        if (n > 0 && !known.has(kind)) {
          this.legend.append(legendItem(kind, `s-e${known.size % ERROR_CLASSES}`));
          known.add(kind);
        }
      }
    }
    if (known.size > before) this.rebuild();
  }

  update(ticks) {
    this.ticks = ticks;
    this.addKinds(ticks);
    this.place.hidden = this.keys().length === 0;
    if (this.place.hidden) return;
    if (!this.plot) this.build();
    this.plot.setData(this.data());
    this.showValues();
  }

  data() {
    const x = this.ticks.map((tick) => tick.second + span(tick) / 2);
    return [x, ...this.keys().map((key) => this.ticks.map((tick) => this.kind.value(tick, key.dataset.key) ?? null))];
  }

  rebuild() {
    this.plot?.destroy();
    this.plot = null;
  }

  build() {
    this.plot = new window.uPlot(this.options(), [[]], this.place);
  }

  options() {
    const grid = { stroke: css("--grid"), width: 1 };
    const axis = { stroke: css("--muted"), font: css("--chart-font"), grid, ticks: { ...grid, size: 4 } };
    return {
      width: Math.max(this.place.clientWidth, 100),
      height: this.kind.height,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: SYNC }, points: { size: 6 } },
      scales: {
        x: { time: false, range: () => [0, this.board.end] },
        y: this.kind.log ? { distr: 3, range: logRange } : { range: linearRange },
      },
      axes: [
        { ...axis, size: 28, gap: 4, space: 70, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600] },
        {
          ...axis,
          ...(this.kind.log && { filter: logLines, grid: { ...grid, filter: logLines }, ticks: { ...axis.ticks, filter: logLines } }),
          size: Y_AXIS_PX,
          gap: 6,
          space: 26,
          values: (_, splits) => splits.map(label),
        },
      ],
      series: [{}, ...this.keys().map((key) => this.series(key))],
      hooks: { setCursor: [() => this.showValues()], draw: [(plot) => this.drawMarks(plot)] },
    };
  }


  series(key) {
    return {
      ...lineStyle(key),
      show: key.getAttribute("aria-pressed") === "true",
      points: { show: false, filter: (plot, i, show) => (show ? null : alone(plot.data[i])), size: 6, width: 2 },
    };
  }

  /** The event log's lines, as dashed verticals through every chart. */
  drawMarks({ ctx, bbox, valToPos }) {
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { at_s, level } of this.board.marks) {
      const x = Math.round(valToPos(at_s, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = css(level === "warn" ? "--mark-warn" : "--mark");
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** The legend says the values under the cursor, or the latest. */
  showValues() {
    const i = this.plot?.cursor.idx ?? this.ticks.length - 1;
    const tick = this.ticks[i];
    for (const key of this.keys()) {
      const value = tick ? this.kind.value(tick, key.dataset.key) : null;
      // A minute's count by the second is hardly ever a whole number.
      const format = this.kind.format === "count" && !Number.isInteger(value) ? "rate" : this.kind.format;
      key.querySelector(".key-value").textContent = write(format, value);
    }
    this.board.say(this.plot?.cursor.idx ?? null, this.ticks);
  }

  toggle(key) {
    if (!key) return;
    const shown = key.getAttribute("aria-pressed") !== "true";
    key.setAttribute("aria-pressed", String(shown));
    this.plot?.setSeries(this.keys().indexOf(key) + 1, { show: shown });
  }

  /** Arrow keys move the cursor, in all charts at once. */
  step(event) {
    const last = this.ticks.length - 1;
    const now = this.plot?.cursor.idx ?? last;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0 || !this.plot) return;
    event.preventDefault();
    const x = this.plot.data[0][Math.min(last, Math.max(0, to))];
    const { height } = this.plot.over.getBoundingClientRect();
    this.plot.setCursor({ left: this.plot.valToPos(x, "x"), top: height / 2 }, true, true);
  }

  resize() {
    const width = this.place.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.kind.height });
  }
}

function legendItem(name, lineClass) {
  const template = document.getElementById("key-template").content.cloneNode(true);
  const key = template.querySelector(".key");
  key.dataset.key = name;
  key.querySelector("line").setAttribute("class", lineClass);
  key.querySelector(".key-name").textContent = name;
  return template;
}

/** All charts of the page. */
export class Board {
  constructor(root) {
    this.end = 10;
    this.marks = [];
    this.readout = root.querySelector("[data-readout]");
    this.charts = [...root.querySelectorAll("[data-chart]")].map((figure) => new Chart(figure, this));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
  }

  /** Draws the seconds given. A short plan's axis goes to its planned end from the start. */
  update(run, ticks, marks) {
    this.ticks = ticks;
    this.marks = marks;
    const measured = ticks.length ? ticks.at(-1).second + span(ticks.at(-1)) : 0;
    const planned = run.planned_s !== null && run.planned_s <= 300 && !run.over ? run.planned_s : 0;
    this.end = Math.max(measured, planned, run.over ? 1 : 10);
    for (const chart of this.charts) chart.update(ticks);
  }

  restyle() {
    for (const chart of this.charts) {
      chart.rebuild();
      chart.update(chart.ticks);
    }
  }

  /** Where the cursor is, and what the event log has for that second. */
  say(i, ticks) {
    const tick = i === null ? undefined : ticks[i];
    const texts = tick ? this.marks.filter((m) => lies(m.at_s, tick)).map((m) => m.text) : [];
    const words = tick ? [place(tick), ...texts] : [];
    this.readout.textContent = words.join(" · ");
  }
}
