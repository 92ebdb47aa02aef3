// Looks at the page of a run as people do: live, when it is over, reloaded, and without script. Prints what stands there
// as one JSON document. The run must be going on when this begins.
//
// Usage: node run_page.mjs '{"chromium": PATH, "coordinator": URL, "run": ID, "screenshots": DIRECTORY}'

import { join } from "node:path";

import { launch, read, readWithoutScript, watch } from "./watched.mjs";

const task = JSON.parse(process.argv[2]);
const address = `${task.coordinator}/runs/${task.run}`;
const complaints = [];
const watched = (page) => watch(page, task.coordinator, complaints);

function shoot(page, name) {
  return page.screenshot({ path: join(task.screenshots, `${name}.png`), fullPage: true });
}

async function withScript(browser) {
  const page = watched(await browser.newPage({ viewport: { width: 1280, height: 900 } }));
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
  const page = watched(await browser.newPage({ javaScriptEnabled: false }));
  await page.goto(address);
  await shoot(page, "run-without-script");
  return { scriptless: await readWithoutScript(page) };
}

const browser = await launch(task.chromium);
try {
  const seen = { ...(await withScript(browser)), ...(await withoutScript(browser)), complaints };
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
