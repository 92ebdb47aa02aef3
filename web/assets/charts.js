// The charts: uPlot, one time axis, one cursor. Colours and dashes are those of the legend's lines, so the style
// sheet is the one place that has them.

import { write } from "./format.js";
import { isCut, isPast, place, span } from "./said.js";
import { KeyboardSelection, dragOver } from "./selection.js";
import { LEAST, alone, label, linearRange, logLines, logRange, shareLabel, shareRange } from "./scales.js";
import { head } from "./told.js";

const SYNC = "run";
const Y_AXIS_PX = 52;
const RIGHT_AXIS_PX = 44;
const RIGHT_PX = 10;
/** A load that stops within a second leaves so many ticks at most that are not rates of it. */
const TAIL_MAX = 2;
const X_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600];
/** Lines that are of the open model only, which has ticks with a plan. */
const OPEN_ONLY = ["planned", "iterations", "missed", "unknown"];
const SHARES = ["busiest_cpu"];

/** How each chart, by the id in its figure, takes its values from a tick. */
const KINDS = {
  rate: { value: rateOf, format: "count", height: 170, names: true },
  latency: { value: latencyOf, format: "ms", height: 240, log: true },
  generator: { value: (tick, key) => tick[key], format: "ms", height: 130, log: true },
  open: { value: (tick, key) => tick[key], format: "count", height: 130 },
  errors: { value: (tick, key) => perSecond(tick, tick.errors[key] ?? 0), format: "count", height: 130 },
};

const ERROR_CLASSES = 16;

function perSecond(tick, n) {
  return n / span(tick);
}

function rateOf(tick, key, board) {
  if (board.partial.has(tick) || (OPEN_ONLY.includes(key) && tick.planned == null)) return null;
  return perSecond(tick, tick[key]);
}

function latencyOf(tick, key) {
  return key === "service" ? tick.service_ms["99"] : tick.latency_ms[key];
}

function lies(at_s, tick) {
  return at_s >= tick.second && at_s < tick.second + span(tick);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function lineStyle(key) {
  const style = getComputedStyle(key.querySelector("line"));
  const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat);
  const fill = style.fill === "none" ? undefined : style.fill;
  return { stroke: style.stroke, width: parseFloat(style.strokeWidth), dash, fill };
}

const scaleOf = (key) => (SHARES.includes(key.dataset.key) ? "share" : "y");

/** Where the point is that is nearest to a place: the cursor stands at the second that the legend tells. */
function nearest(plot, left) {
  const x = left < 0 ? undefined : plot.data[0][plot.posToIdx(left)];
  return x === undefined ? left : plot.valToPos(x, "x");
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
    this.selection = new KeyboardSelection(this.place, board);
    new ResizeObserver(() => this.resize()).observe(this.place);
    for (const key of this.legend.querySelectorAll(".key")) key.disabled = false;
  }

  /** The legend's lines, but for those that nothing is known of. */
  keys() {
    return [...this.legend.querySelectorAll("li:not([hidden]) .key")];
  }

  value(tick, key) {
    return this.kind.value(tick, key.dataset.key, this.board) ?? null;
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

  showKnown(ticks) {
    for (const item of this.legend.querySelectorAll("[data-optional]")) {
      const key = item.querySelector(".key");
      const hidden = ticks.every((tick) => this.value(tick, key) === null);
      if (item.hidden !== hidden) this.rebuild();
      item.hidden = hidden;
    }
  }

  update(ticks) {
    this.ticks = ticks;
    this.addKinds(ticks);
    this.showKnown(ticks);
    this.place.hidden = this.keys().length === 0;
    if (this.place.hidden) return;
    if (!this.plot) this.build();
    this.plot.setData(this.data());
    this.showValues();
  }

  data() {
    const x = this.ticks.map((tick) => tick.second + span(tick) / 2);
    return [x, ...this.keys().map((key) => this.ticks.map((tick) => this.drawn(tick, key)))];
  }

  drawn(tick, key) {
    const value = this.value(tick, key);
    return this.kind.log && scaleOf(key) === "y" && value !== null ? Math.max(value, LEAST) : value;
  }

  rebuild() {
    this.plot?.destroy();
    this.plot = null;
  }

  build() {
    this.plot = new window.uPlot(this.options(), [[]], this.place);
    this.overlay = new Overlay(this.plot);
    dragOver(this.plot, this.board);
  }

  options() {
    const grid = { stroke: css("--grid"), width: 1 };
    const axis = { stroke: css("--muted"), font: css("--chart-font"), grid, ticks: { ...grid, size: 4 } };
    const scales = [...new Set(this.keys().map(scaleOf))].sort().reverse();
    return {
      width: Math.max(this.place.clientWidth, 100),
      height: this.kind.height,
      padding: [8, scales.length > 1 ? 0 : this.board.right_px, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        sync: { key: SYNC },
        points: { size: 6 },
        move: (plot, left, top) => [nearest(plot, left), top],
      },
      scales: {
        x: { time: false, range: () => [0, this.board.end] },
        y: this.kind.log ? { distr: 3, range: logRange } : { range: linearRange },
        share: { range: shareRange },
      },
      axes: [{ ...axis, size: 28, gap: 4, space: 70, incrs: X_STEPS }, ...this.sides(axis, scales)],
      series: [{}, ...this.keys().map((key) => this.series(key))],
      hooks: {
        drawClear: [(plot) => this.shade(plot)],
        draw: [(plot) => this.drawMarks(plot), () => this.showOverlay()],
        setCursor: [() => this.showValues()],
      },
    };
  }

  /** The axis on the left, and one on the right where lines are of two measures. */
  sides(axis, scales) {
    const lines = this.kind.log && { filter: logLines, grid: { ...axis.grid, filter: logLines }, ticks: { ...axis.ticks, filter: logLines } };
    const value = { ...axis, ...lines, size: Y_AXIS_PX, gap: 6, space: 26, values: (_, splits) => splits.map(label) };
    const share = { ...axis, scale: "share", size: Y_AXIS_PX, gap: 6, space: 26, values: (_, splits) => splits.map(shareLabel) };
    if (scales.length > 1) return [value, { ...share, side: 1, size: RIGHT_AXIS_PX, gap: 4, grid: { show: false } }];
    return scales[0] === "share" ? [share] : [value];
  }

  series(key) {
    return {
      ...lineStyle(key),
      scale: scaleOf(key),
      show: key.getAttribute("aria-pressed") === "true",
      points: { show: false, filter: (plot, i, show) => (show ? null : alone(plot.data[i])), size: 6, width: 2 },
    };
  }

  /** The warm-up, and in the first chart its name. */
  shade({ ctx, bbox, valToPos, scales }) {
    const end = Math.min(this.board.warmup_s, scales.x.max ?? 0);
    if (!(end > 0)) return;
    const width = valToPos(end, "x", true) - bbox.left;
    ctx.save();
    ctx.fillStyle = css("--apart");
    ctx.fillRect(bbox.left, bbox.top, width, bbox.height);
    ctx.fillStyle = css("--muted");
    ctx.font = css("--chart-font").replace(/[\d.]+px/, (px) => `${parseFloat(px) * devicePixelRatio}px`);
    const inset = 4 * devicePixelRatio;
    // The axes leave theirs behind.
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    if (this.kind.names && ctx.measureText("warm-up").width + 2 * inset < width) {
      ctx.fillText("warm-up", bbox.left + inset, bbox.top + bbox.height / 2);
    }
    ctx.restore();
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

  showOverlay() {
    this.overlay?.show(this.board);
  }

  /** The legend says the values under the cursor, or the latest. */
  showValues() {
    const latest = this.ticks.findLastIndex((tick) => !this.board.partial.has(tick));
    const tick = this.ticks[this.plot?.cursor.idx ?? latest];
    for (const key of this.keys()) {
      const value = tick ? this.value(tick, key) : null;
      key.querySelector(".key-value").textContent = write(this.format(key, value), value);
    }
    this.board.say(this.plot?.cursor.idx ?? null, this.ticks);
  }

  format(key, value) {
    if (scaleOf(key) === "share") return "percent";
    // A minute's count by the second is hardly ever a whole number.
    return this.kind.format === "count" && !Number.isInteger(value) ? "rate" : this.kind.format;
  }

  toggle(key) {
    if (!key) return;
    const shown = key.getAttribute("aria-pressed") !== "true";
    key.setAttribute("aria-pressed", String(shown));
    this.plot?.setSeries(this.keys().indexOf(key) + 1, { show: shown });
  }

  /** Arrow keys move the cursor, in all charts at once; with Shift they select. */
  step(event) {
    const last = this.ticks.length - 1;
    const now = this.plot?.cursor.idx ?? last;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0 || !this.plot) return;
    event.preventDefault();
    const x = this.plot.data[0][Math.min(last, Math.max(0, to))];
    const { height } = this.plot.over.getBoundingClientRect();
    this.plot.setCursor({ left: this.plot.valToPos(x, "x"), top: height / 2 }, true, true);
    if (event.shiftKey) this.selection.extend(this.ticks[now], this.ticks[Math.min(last, Math.max(0, to))]);
  }

  resize() {
    const width = this.place.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.kind.height });
  }
}

/** What lies over a plot: the seconds that are selected, and the titles of the event log's marks. */
class Overlay {
  constructor(plot) {
    this.plot = plot;
    this.band = this.add("band");
    this.titles = [];
  }

  add(name) {
    const element = document.createElement("div");
    element.className = name;
    this.plot.over.append(element);
    return element;
  }

  show({ draft, selected, marks }) {
    const seconds = draft ?? selected;
    this.band.hidden = !seconds;
    if (seconds) this.put(this.band, seconds.from_s, seconds.to_s);
    while (this.titles.length > marks.length) this.titles.pop().remove();
    while (this.titles.length < marks.length) this.titles.push(this.add("mark"));
    this.titles.forEach((title, i) => {
      title.title = marks[i].text;
      title.style.left = `${this.plot.valToPos(marks[i].at_s, "x")}px`;
    });
  }

  put(element, from_s, to_s) {
    const width = this.plot.over.clientWidth;
    const [left, right] = [from_s, to_s].map((s) => Math.min(width, Math.max(0, this.plot.valToPos(s, "x"))));
    Object.assign(element.style, { left: `${left}px`, width: `${right - left}px` });
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

/** All charts of the page. `choose` is told the seconds that somebody selects in them. */
export class Board {
  constructor(root, choose) {
    this.onChoose = choose;
    /** The end of what was measured, in whole seconds. */
    this.measured_s = 0;
    this.selected = null;
    this.draft = null;
    /** Where a pointer that drags went down. */
    this.drag = null;
    this.end = 10;
    this.warmup_s = 0;
    this.right_px = RIGHT_PX;
    this.marks = [];
    /** Ticks that the measured load did not fill, which would read as a fall of its rate. */
    this.partial = new Set();
    this.readout = root.querySelector("[data-readout]");
    this.charts = [...root.querySelectorAll("[data-chart]")].map((figure) => new Chart(figure, this));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    addEventListener("keydown", (event) => this.pressed(event), true);
  }

  /** Draws the seconds given. A short plan's axis goes to its planned end from the start. */
  update(run, ticks, marks, selected) {
    Object.assign(this, { marks, selected });
    this.warmup_s = run.warmup_s;
    const measured = ticks.length ? ticks.at(-1).second + span(ticks.at(-1)) : 0;
    this.measured_s = measured;
    const planned = run.planned_s !== null && run.planned_s <= 300 && !run.over ? run.warmup_s + run.planned_s : 0;
    this.end = Math.max(measured, planned, run.over ? 1 : 10);
    const past = ticks.filter((tick) => isPast(run, tick));
    const partial = [...ticks.filter((tick) => isCut(run, tick)), ...(past.length <= TAIL_MAX ? past : [])];
    this.partial = new Set(partial.length < ticks.length ? partial : []);
    this.align(ticks);
    for (const chart of this.charts) chart.update(ticks);
  }

  /** Where one chart has an axis on its right, all leave room for it, so that a time is below itself in all. */
  align(ticks) {
    const two = ticks.some((t) => t.lag_max_ms != null) && ticks.some((t) => t.busiest_cpu != null);
    const right_px = two ? RIGHT_AXIS_PX : RIGHT_PX;
    if (this.right_px !== right_px) for (const chart of this.charts) chart.rebuild();
    this.right_px = right_px;
  }

  /** Shows the seconds that are being selected; null when nothing is. */
  sketch(seconds) {
    this.draft = seconds;
    for (const chart of this.charts) chart.showOverlay();
    this.readout.textContent = seconds ? head(seconds) : "";
  }

  giveUp() {
    this.drag = null;
    this.sketch(null);
  }

  /** Escape ends what is being selected, and nothing else then. */
  pressed(event) {
    if (event.key !== "Escape" || !this.draft) return;
    event.stopImmediatePropagation();
    this.giveUp();
  }

  /** Takes the seconds that were being selected. */
  choose() {
    const seconds = this.draft;
    this.giveUp();
    if (seconds) this.onChoose(seconds);
  }

  restyle() {
    for (const chart of this.charts) {
      chart.rebuild();
      chart.update(chart.ticks);
    }
  }

  /** Where the cursor is, and what the event log has for that second. */
  say(i, ticks) {
    if (this.draft) return;
    const tick = i === null ? undefined : ticks[i];
    const texts = tick ? this.marks.filter((m) => lies(m.at_s, tick)).map((m) => m.text) : [];
    const words = tick ? [place(tick), ...(tick.warmup ? ["warm-up"] : []), ...texts] : [];
    this.readout.textContent = words.join(" · ");
  }
}
