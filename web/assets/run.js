// The page of a run: starts from what the server put into the page, and follows the stream until the run is over.

import { bind } from "./bind.js";
import { Board } from "./charts.js";
import { Distribution } from "./distribution.js";
import { span } from "./said.js";
import { Selected } from "./selected.js";
import { drawn, view } from "./view.js";

const LOG_LINES_MAX = 500;

const main = document.getElementById("main");
const board = window.uPlot ? new Board(main, (seconds) => selected.choose(seconds)) : null;
const distribution = window.uPlot ? new Distribution(main.querySelector("[data-distribution]")) : null;
const data = JSON.parse(document.getElementById("run-data").textContent);
const model = { run: data.run, ticks: [], log: [] };
const selected = new Selected(main, data.span, renderSoon);
const logged = new Set();
let frame = 0;

/** A tick takes the place of those that it covers: of the same second before it was corrected, of a minute's seconds. */
function addTick(tick) {
  const { ticks } = model;
  const end = tick.second + span(tick);
  let i = ticks.length;
  while (i > 0 && ticks[i - 1].second >= end) i--;
  let covered = 0;
  while (i > 0 && ticks[i - 1].second >= tick.second) [i, covered] = [i - 1, covered + 1];
  ticks.splice(i, covered, tick);
}

/** The stream starts from the beginning on each new connection, so a line may come twice. */
function addLine(line) {
  const key = JSON.stringify([line.at_s, line.level, line.text]);
  if (logged.has(key)) return;
  logged.add(key);
  model.log.push(line);
  if (model.log.length > LOG_LINES_MAX) model.log.shift();
}

function render() {
  frame = 0;
  const tree = view(main.dataset.name, model.run, model.ticks, model.log, selected.span);
  bind(main, tree);
  document.title = tree.title;
  board?.update(model.run, drawn(model.run.over, model.ticks), model.log, selected.span);
  distribution?.update(tree.distribution, tree.whole.ok);
}

/** A replay brings many events at once: they are drawn together. */
function renderSoon() {
  frame ||= requestAnimationFrame(render);
}

function say(link, words) {
  main.dataset.connection = link;
  main.querySelector("[data-link]").textContent = words;
}

function follow() {
  const stream = new EventSource(main.dataset.stream);
  const on = (name, take) =>
    stream.addEventListener(name, (event) => {
      take(event.data ? JSON.parse(event.data) : null);
      renderSoon();
    });
  on("tick", addTick);
  on("state", (run) => (model.run = run));
  on("log", addLine);
  on("end", () => {
    stream.close();
    model.run = { ...model.run, over: true };
    say("over", "");
  });
  stream.onopen = () => say("live", "live");
  stream.onerror = () => {
    if (stream.readyState !== EventSource.CLOSED) return say("lost", "connection lost, retrying");
    // Closed for good is the answer 204: the run ended after this page was made, so another tells more. But once.
    if (performance.getEntriesByType("navigation")[0]?.type === "reload") say("over", "no longer followed");
    else location.reload();
  };
}

data.ticks.forEach(addTick);
data.log.forEach(addLine);
main.addEventListener("toggle", renderSoon, true);
render();
if (!("over" in main.dataset)) follow();
