// Brings the page up to date from the view: bound values, tables, the badge. Text goes in as text, never as HTML.

import { write } from "./format.js";

const VERDICTS = ["passed", "failed", "invalid", "none"];

function at(tree, path) {
  return path.split("/").reduce((node, key) => node?.[key], tree);
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts the view's values wherever the page names them. */
export function bind(root, view) {
  for (const element of root.querySelectorAll("[data-bind]")) {
    setText(element, write(element.dataset.format, at(view, element.dataset.bind)));
  }
  for (const element of root.querySelectorAll("[data-show]")) element.hidden = !at(view, element.dataset.show);
  for (const element of root.querySelectorAll("[data-hide]")) element.hidden = !!at(view, element.dataset.hide);
  for (const element of root.querySelectorAll("[data-enable]")) element.disabled = !at(view, element.dataset.enable);
  for (const element of root.querySelectorAll("[data-list]")) list(element, at(view, element.dataset.list) ?? []);
  for (const table of root.querySelectorAll("table[data-rows]")) fill(table, at(view, table.dataset.rows) ?? []);
  badge(root.querySelector(".badge"), view.word);
  progress(root.querySelector("[data-progress]"), view.progress);
}

function badge(element, word) {
  const tone = VERDICTS.includes(word) ? word : "going";
  element.dataset.tone = tone;
  element.querySelector("use").setAttribute("href", `#i-${tone}`);
  setText(element.querySelector(".badge-word"), word);
}

function progress(element, value) {
  element.hidden = value === null;
  element.value = value ?? 0;
}

function list(element, texts) {
  while (element.children.length > texts.length) element.lastElementChild.remove();
  while (element.children.length < texts.length) element.append(document.createElement("li"));
  texts.forEach((text, i) => setText(element.children[i], text));
}

/** Makes a table's rows those given, by the cells its template names. What is folded away waits until unfolded. */
export function fill(table, rows) {
  if (table.closest("details:not([open])")) return;
  const body = table.tBodies[0];
  const template = table.parentElement.querySelector("template").content.firstElementChild;
  table.parentElement.hidden = rows.length === 0;
  table.parentElement.nextElementSibling.hidden = rows.length > 0;
  while (body.rows.length > rows.length) body.deleteRow(-1);
  while (body.rows.length < rows.length) body.append(template.cloneNode(true));
  const cells = [...template.cells].map((cell) => cell.dataset);
  const hidden = cells.map(({ cell, optional }) => optional !== undefined && rows.every((row) => !at(row, cell)));
  rows.forEach((row, i) => {
    const line = body.rows[i];
    cells.forEach(({ cell, format }, j) => {
      setText(line.cells[j], write(format, at(row, cell)));
      line.cells[j].hidden = hidden[j];
    });
    line.dataset.mark = String(row[table.dataset.mark] ?? "");
  });
  hidden.forEach((isHidden, j) => (table.tHead.rows[0].cells[j].hidden = isHidden));
}
