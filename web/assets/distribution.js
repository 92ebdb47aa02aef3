// The plot of latency by percentile: uPlot, both axes logarithmic, the lower one of the share that is above.

import { write } from "./format.js";
import { label, logLines, logRange, LEAST } from "./scales.js";

const HEIGHT_PX = 220;
const Y_AXIS_PX = 52;
/** Where the axis has its labels. */
const LABELLED = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999];

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** How far to the right a percentile lies: the number of nines, so to speak. */
const place = (percentile) => -Math.log10(1 - percentile / 100);

/** So much room does a label take. */
const LABEL_PX = 44;

/** The labels that an axis has room for, at their places. */
function labelled({ scales: { x }, over }) {
  const room = (LABEL_PX * x.max) / over.clientWidth;
  const fits = (kept, percentile) => kept.length === 0 || place(percentile) - place(kept.at(-1)) >= room;
  const within = LABELLED.filter((percentile) => place(percentile) <= x.max);
  return within.reduce((kept, percentile) => (fits(kept, percentile) ? [...kept, percentile] : kept), []);
}

/** The slowest of all stands as far right as one request of so many. */
const places = (points, count) =>
  points.map(({ percentile }) => (percentile < 100 ? place(percentile) : Math.log10(Math.max(count, 2))));

export class Distribution {
  constructor(figure) {
    this.place = figure.querySelector(".plot");
    this.readout = figure.querySelector("[data-distribution-readout]");
    this.points = [];
    this.plot = null;
    this.place.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.resize()).observe(this.place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
  }

  update(points, count) {
    if (JSON.stringify([points, count]) === JSON.stringify([this.points, this.count])) return;
    Object.assign(this, { points, count });
    if (points.length === 0 || this.place.clientWidth === 0) return;
    this.plot ??= new window.uPlot(this.options(), [[]], this.place);
    this.plot.setData([places(points, count), points.map((point) => Math.max(point.latency_ms, LEAST))]);
  }

  options() {
    const grid = { stroke: css("--grid"), width: 1 };
    const axis = { stroke: css("--muted"), font: css("--chart-font"), grid, ticks: { ...grid, size: 4 } };
    const splits = (plot) => labelled(plot).map(place);
    const values = (plot) => labelled(plot).map((percentile) => `${percentile} %`);
    return {
      width: this.place.clientWidth,
      height: HEIGHT_PX,
      padding: [8, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: false, range: (_plot, _min, max) => [0, Math.max(1, max)] }, y: { distr: 3, range: logRange } },
      axes: [
        { ...axis, size: 28, gap: 4, splits, values },
        { ...axis, filter: logLines, grid: { ...grid, filter: logLines }, ticks: { ...axis.ticks, filter: logLines }, size: Y_AXIS_PX, gap: 6, space: 26, values: (_, ys) => ys.map(label) },
      ],
      series: [{}, { stroke: css("--p50"), width: 2, points: { show: false } }],
      hooks: { setCursor: [({ cursor }) => this.say(cursor.idx)] },
    };
  }

  say(i) {
    const point = this.points[i];
    this.readout.textContent = point ? `${write("percentile", point.percentile)} % · ${write("ms", point.latency_ms)} ms` : "";
  }

  /** Arrow keys move the cursor. */
  step(event) {
    const last = this.points.length - 1;
    const now = this.plot?.cursor.idx ?? last;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0 || !this.plot) return;
    event.preventDefault();
    const x = this.plot.data[0][Math.min(last, Math.max(0, to))];
    this.plot.setCursor({ left: this.plot.valToPos(x, "x"), top: HEIGHT_PX / 2 }, true, true);
  }

  resize() {
    const width = this.place.clientWidth;
    if (this.plot && width > 0) this.plot.setSize({ width, height: HEIGHT_PX });
    else this.restyle();
  }

  restyle() {
    const { points, count } = this;
    this.plot?.destroy();
    Object.assign(this, { plot: null, points: [] });
    this.update(points, count);
  }
}
