// Looks at the page of a run as people do: live, when it is over, reloaded, and without script. Prints what stands there
// as one JSON document. The run must be going on when this begins.
//
// Usage: node run_page.mjs '{"chromium": PATH, "coordinator": URL, "run": ID, "screenshots": DIRECTORY}'

import { join } from "node:path";

import { chromium } from "playwright-core";

const TABLES = ["steps", "errors", "statuses", "agents", "log"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-sync",
  "--no-first-run",
  "--disable-component-update",
];
const PATIENCE_MS = 30_000;

const task = JSON.parse(process.argv[2]);
const address = `${task.coordinator}/runs/${task.run}`;
const complaints = [];

/** Notes everything that a page should not say or do, violations of its content security policy included. */
function watch(page) {
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error}`));
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} from ${response.url()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(task.coordinator)) complaints.push(`asks elsewhere: ${request.url()}`);
  });
  return page;
}

/** What stands on the page: every bound value by its name, and the tables as lists of rows. */
async function read(page) {
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
    word: await page.locator(".badge-word").textContent(),
    bound: Object.fromEntries(bound),
    tables: Object.fromEntries(tables.filter(([name]) => TABLES.includes(name))),
    charts: await page.locator(".uplot canvas").count(),
  };
}

function shoot(page, name) {
  return page.screenshot({ path: join(task.screenshots, `${name}.png`), fullPage: true });
}

async function withScript(browser) {
  const page = watch(await browser.newPage({ viewport: { width: 1280, height: 900 } }));
  await page.goto(address);
  // Some seconds have been measured, so that the charts have something to draw.
  await page.waitForSelector('main[data-connection="live"]');
  await page.waitForFunction(() => {
    const rate = document.querySelector('[data-bind="last5/rate"]').textContent;
    return Number(rate.replaceAll(",", "")) > 0;
  });
  const live = await read(page);
  await shoot(page, "run-live");
  await page.waitForSelector('main[data-connection="over"]');
  const over = await read(page);
  await shoot(page, "run-over");
  await page.reload();
  const reloaded = await read(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "run-dark");
  await page.goto(`${task.coordinator}/agents`);
  await shoot(page, "agents");
  await page.goto(task.coordinator);
  await shoot(page, "home");
  const listed = await page.locator(`a[href$="/runs/${task.run}"]`).count();
  return { live, over, reloaded, listed };
}

async function withoutScript(browser) {
  const page = watch(await browser.newPage({ javaScriptEnabled: false }));
  await page.goto(address);
  await shoot(page, "run-without-script");
  return { scriptless: await readWithoutScript(page) };
}

/** A page without script can't be asked by script of ours either, so its HTML is read in another one. */
async function readWithoutScript(page) {
  const html = await page.content();
  const reader = await page.context().browser().newPage();
  await reader.route("**/*", (route) => route.abort());
  await reader.setContent(html.replaceAll(/<script\b.*?<\/script>/gs, ""), { waitUntil: "commit" });
  return read(reader);
}

const browser = await chromium.launch({ executablePath: task.chromium, headless: true, args: FLAGS });
try {
  const seen = { ...(await withScript(browser)), ...(await withoutScript(browser)), complaints };
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
