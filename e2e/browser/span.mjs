// Selects seconds of a run on its page: while it goes on and when it is over, by mouse, by keyboard, by the form, and without
// script. Prints what stands on the page each time as one JSON document. The run must be going on when this begins.
//
// Usage: node span.mjs '{"chromium": PATH, "coordinator": URL, "run": ID, "screenshots": DIRECTORY}'

import { join } from "node:path";

import { launch, read, readWithoutScript, watch } from "./watched.mjs";

const task = JSON.parse(process.argv[2]);
const address = `${task.coordinator}/runs/${task.run}`;
const complaints = [];
const LATENCY = '[data-chart="latency"] .u-over';

/** What stands there, and which seconds the address names. */
async function look(page) {
  return { ...(await read(page)), query: new URL(page.url()).search };
}

/** Waits until the page tells what is to be told. */
async function tells(page, sentence) {
  await page.waitForFunction(
    (expected) => document.querySelector('[data-bind="selected"]').textContent === expected,
    sentence,
  );
  return look(page);
}

const of = (from_s, to_s) => `Numbers are of ${from_s} s to ${to_s} s.`;

/** The end of a chart's time axis, which begins at 0: a live run's is that of its plan, until it has gone on for longer. */
async function axisEnd(page, isOver) {
  const { run, ticks } = await page.evaluate(() => JSON.parse(document.getElementById("run-data").textContent));
  return isOver ? ticks.at(-1).second + 1 : run.planned_s;
}

/** Presses the mouse at a run time, and moves it to another. */
async function dragTo(page, from_s, to_s, end_s) {
  await page.locator(LATENCY).scrollIntoViewIfNeeded();
  const box = await page.locator(LATENCY).boundingBox();
  const x = (second) => box.x + (box.width * second) / end_s;
  const y = box.y + box.height / 2;
  await page.mouse.move(x(from_s), y);
  await page.mouse.down();
  await page.mouse.move(x((from_s + to_s) / 2), y, { steps: 3 });
  await page.mouse.move(x(to_s), y, { steps: 3 });
}

/** Two seconds of a run that goes on: what is told of them stays while the charts go on. */
async function live(browser) {
  const page = watch(await browser.newPage({ viewport: { width: 1280, height: 900 } }), task.coordinator, complaints);
  await page.goto(address);
  await page.locator('[data-chart="rate"] summary').click();
  await page.waitForFunction(() => document.querySelectorAll('[data-chart="rate"] tbody tr').length >= 3);
  await dragTo(page, 0.3, 1.8, await axisEnd(page, false));
  await page.mouse.up();
  const first = await tells(page, of(0, 2));
  await page.waitForFunction(() => document.querySelector('[data-bind="state"]').textContent === "finished");
  const later = await look(page);
  await page.close();
  return { live: first, live_later: later };
}

async function over(browser) {
  const page = watch(await browser.newPage({ viewport: { width: 1280, height: 900 } }), task.coordinator, complaints);
  await page.goto(address);
  const end_s = await axisEnd(page, true);
  await page.waitForSelector(LATENCY);
  const seen = { whole: await look(page) };
  await page.locator("[data-distribution] summary").click();
  await dragTo(page, 2.3, 4.7, end_s);
  seen.bands = await page.locator(".band:visible").count();
  seen.while_dragged = await look(page);
  await page.mouse.up();
  seen.dragged = await tells(page, of(2, 5));
  seen.percentiles = await page.locator("[data-distribution] tbody tr td:first-child").allTextContents();
  await page.screenshot({ path: join(task.screenshots, "span.png"), fullPage: true });
  await page.reload();
  seen.reloaded = await tells(page, of(2, 5));
  seen.bands_reloaded = await page.locator(".band:visible").count();
  await page.keyboard.press("Escape");
  seen.escaped = await tells(page, "");
  await page.goBack();
  seen.back = await tells(page, of(2, 5));
  await page.getByRole("link", { name: "Whole run" }).click();
  seen.linked = await tells(page, "");
  await byKeyboard(page, seen);
  await byForm(page, seen);
  await byFaultyForm(page, seen);
  await page.close();
  return seen;
}

/** The second and third second, from the first one on; then one that is given up. */
async function byKeyboard(page, seen) {
  await page.locator('[data-chart="rate"] .plot').focus();
  for (const key of ["Home", "ArrowRight", "Shift+ArrowRight"]) await page.keyboard.press(key);
  seen.by_keyboard = await tells(page, of(1, 3));
  await page.keyboard.down("Shift");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Escape");
  await page.keyboard.up("Shift");
  seen.given_up = await look(page);
}

async function byForm(page, seen) {
  await page.locator('input[name="from"]').fill("2");
  await page.locator('input[name="to"]').fill("5");
  await page.getByRole("button", { name: "Show" }).click();
  seen.by_form = await tells(page, of(2, 5));
}

/** An end before the beginning is refused, and what was told stays. */
async function byFaultyForm(page, seen) {
  await page.locator('input[name="to"]').fill("1");
  await page.getByRole("button", { name: "Show" }).click();
  seen.refused = await page.locator("[data-span-failed]").textContent();
  seen.kept = await look(page);
}

async function withoutScript(browser) {
  const page = watch(await browser.newPage({ javaScriptEnabled: false }), task.coordinator, complaints);
  await page.goto(address);
  await page.locator('input[name="from"]').fill("2");
  await page.locator('input[name="to"]').fill("5");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL("**?from=2&to=5");
  return { ...(await readWithoutScript(page)), query: new URL(page.url()).search };
}

const browser = await launch(task.chromium);
try {
  const seen = { ...(await live(browser)), ...(await over(browser)), scriptless: await withoutScript(browser) };
  console.log(JSON.stringify({ ...seen, complaints }));
} finally {
  await browser.close();
}
