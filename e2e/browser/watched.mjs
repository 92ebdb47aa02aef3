// What every script here shares: the browser, a page of which every complaint is noted, and what stands on a run's page.

import { chromium } from "playwright-core";

const TABLES = ["steps", "errors", "statuses", "agents", "log"];
const PATIENCE_MS = 30_000;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-sync",
  "--no-first-run",
  "--disable-component-update",
];

export function launch(executablePath) {
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}

/** Notes everything that a page should not say or do, violations of its content security policy included. */
export function watch(page, home, complaints) {
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error}`));
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} from ${response.url()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(home)) complaints.push(`asks elsewhere: ${request.url()}`);
  });
  return page;
}

/** What stands on the page: every bound value by its name, and the tables as lists of rows. */
export async function read(page) {
  const bound = await page.locator("[data-bind]").evaluateAll((elements) =>
    elements.map((element) => [element.dataset.bind, element.textContent]),
  );
  const tables = await page.locator("table[data-rows]").evaluateAll((elements) =>
    elements.map((table) => [
      table.dataset.rows,
      [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
    ]),
  );
  return {
    title: await page.title(),
    word: await page.locator(".badge-word").first().textContent(),
    bound: Object.fromEntries(bound),
    tables: Object.fromEntries(tables.filter(([name]) => TABLES.includes(name))),
    charts: await page.locator(".uplot canvas").count(),
  };
}

/** A page without script can't be asked by script of ours either, so its HTML is read in another one. */
export async function readWithoutScript(page) {
  const html = await page.content();
  const reader = await page.context().browser().newPage();
  await reader.route("**/*", (route) => route.abort());
  await reader.setContent(html.replaceAll(/<script\b.*?<\/script>/gs, ""), { waitUntil: "commit" });
  return read(reader);
}
