// Takes pictures of the pages at two widths, light and dark: an empty home, a steady run, a failing target, runs of the
// open model (one in its warm-up and when over, one that misses, one whose generator stood still), a lost agent, one that
// joins, another that drains, a load that is adjusted, a run that waits for its turn, one of whose addresses answers
// nobody, one over TLS that nobody verified, seconds of a run that are selected, and the library of plans.
// Starts all it needs on free ports of this machine and ends it. `make screenshots` calls it.
//
// Usage: node screenshots.mjs VOLLEY CHROMIUM DIRECTORY

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { launch } from "./watched.mjs";

const [volley, browserPath, directory] = process.argv.slice(2);
const ANY = "127.0.0.1:0";
const WIDTHS = [1400, 400];
const SCHEMES = ["light", "dark"];
const URL = /(http:\/\/[0-9.]+:[0-9]+)/;
const children = [];

/** Starts a process and waits until it has said all that the patterns find; gives each pattern's first group by name. */
function start(patterns, ...words) {
  const child = spawn(volley, words, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const said = { child };
  const told = [];
  return new Promise((resolve, reject) => {
    const take = (line) => {
      told.push(line);
      for (const [name, pattern] of Object.entries(patterns)) said[name] ??= line.match(pattern)?.[1];
      if (Object.keys(patterns).every((name) => said[name])) resolve(said);
    };
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", take);
    child.on("exit", () => reject(new Error(`volley ${words.join(" ")} ended:\n${told.join("\n")}`)));
  });
}

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function post(coordinator, plan) {
  const answer = await fetch(`${coordinator}/api/v1/runs`, { method: "POST", body: JSON.stringify(plan) });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  return (await answer.json()).id;
}

async function ask(coordinator, method, path, body) {
  const answer = await fetch(`${coordinator}/api/v1/${path}`, { method, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

async function over(coordinator, id) {
  const answer = await fetch(`${coordinator}/api/v1/runs/${id}?wait=60s`);
  const run = await answer.json();
  if (!run.over) throw new Error(`${id} is not over: ${run.sentence}`);
  return run;
}

async function joined(coordinator, count) {
  for (let tries = 0; tries < 100; tries++) {
    const { agents } = await (await fetch(`${coordinator}/api/v1/agents`)).json();
    if (agents.length === count) return;
    await sleep(0.1);
  }
  throw new Error("the agents did not join");
}

async function shoot(browser, address, name) {
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      await page.goto(address);
      await page.waitForTimeout(700);
      await page.screenshot({ path: join(directory, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      await page.close();
    }
  }
}

async function pictures(browser) {
  const { url: target } = await start({ url: URL }, "target", "--listen", ANY);
  const words = ["coordinator", "--http", ANY, "--agents", ANY, "--store", "memory"];
  const { http, agents } = await start({ http: URL, agents: /agents on ([0-9.]+:[0-9]+)/ }, ...words);
  await shoot(browser, http, "home-empty");
  const agent = (name) => start({ to: /(coordinator at)/ }, "agent", "--coordinator", agents, "--name", name);
  await agent("berlin-1");
  const second = await agent("berlin-2");
  await joined(http, 2);

  const steady = await post(http, { name: "steady", target: `${target}/bytes/2048?delay=5ms`, users: 20, duration: "20s" });
  await sleep(8);
  await shoot(browser, `${http}/runs/${steady}`, "run-live");
  await over(http, steady);
  await shoot(browser, `${http}/runs/${steady}`, "run-steady");
  await shoot(browser, `${http}/runs/${steady}?from=4&to=9`, "run-span");

  const failing = { name: "failing", target: `${target}/fail/40?delay=3ms`, users: 10, duration: "10s" };
  const failed = await post(http, failing);
  await over(http, failed);
  await shoot(browser, `${http}/runs/${failed}`, "run-failing");

  const stages = [{ rate: "50/s", ramp_to: "400/s", for: "8s" }, { rate: "400/s", for: "6s" }];
  const steps = (path) => [{ get: path }, { think: "50ms..150ms" }, { get: "/bytes/20000?delay=8ms", name: "cart" }];
  const scenarios = {
    browse: { weight: 9, steps: steps("/bytes/2000?delay=4ms") },
    buy: { weight: 1, steps: steps("/bytes/500?delay=40ms") },
  };
  const shop = { name: "shop", target, load: { warmup: "5s", arrivals: "poisson", stages }, scenarios };
  const open = await post(http, shop);
  await sleep(3.5);
  await shoot(browser, `${http}/runs/${open}`, "run-warm-up");
  await over(http, open);
  await shoot(browser, `${http}/runs/${open}`, "run-open");

  const slow = { name: "too slow", target: `${target}/?delay=400ms`, rate: "200/s", duration: "8s", max_in_flight: 60 };
  const missing = await post(http, slow);
  await over(http, missing);
  await shoot(browser, `${http}/runs/${missing}`, "run-missed");

  const still = await post(http, { name: "stood still", target: `${target}/`, rate: "200/s", duration: "8s" });
  await sleep(4);
  second.child.kill("SIGSTOP");
  await sleep(0.8);
  second.child.kill("SIGCONT");
  await over(http, still);
  await shoot(browser, `${http}/runs/${still}`, "run-stood-still");

  const count = { name: "lost agent", target: `${target}/?delay=10ms`, users: 20, requests: 20000 };
  const lost = await post(http, count);
  await sleep(3);
  second.child.kill("SIGKILL");
  await over(http, lost);
  await shoot(browser, `${http}/runs/${lost}`, "run-lost-agent");

  await connections(browser, http, target);
  await library(browser, http, target);
  await fleet(browser, http, target, agents);
  await shoot(browser, http, "home");
}

/** Plans that are kept, versions that differ, runs that are noted, and one that an editor refuses. */
async function library(browser, http, target) {
  await shoot(browser, `${http}/plans`, "plans-empty");
  const text = (rate, limit) =>
    `name: checkout\ntarget: ${target}/?delay=3ms\nrate: ${rate}\nduration: 4s\nthresholds:\n  - p99 < ${limit}\n`;
  const versions = [text("100/s", "300ms"), text("150/s", "1ms")];
  for (const [i, body] of versions.entries()) {
    const saved = await fetch(`${http}/api/v1/plans/checkout`, { method: "PUT", body });
    if (!saved.ok) throw new Error(await saved.text());
    const marks = "label=zone%3Deu&label=branch%3Dmain&note=before%20the%20release";
    const { id } = await ask(http, "POST", `runs?plan=checkout&version=${i + 1}&${marks}`);
    await over(http, id);
    await shoot(browser, `${http}/runs/${id}`, `run-of-version-${i + 1}`);
  }
  await shoot(browser, `${http}/plans`, "plans");
  await shoot(browser, `${http}/plans/checkout?version=2&against=1`, "plan");
  await shoot(browser, `${http}/?label=zone%3Deu`, "home-filtered");
  await shoot(browser, `${http}/?plan=nothing`, "home-filtered-away");
}

/** A target of which one address refuses, and one that speaks TLS with a certificate that nobody vouches for. */
async function connections(browser, http, target) {
  const { port } = new globalThis.URL(target);
  const to = [`127.0.0.1:${port}`, `127.0.0.2:${port}`];
  const plan = { name: "two addresses", target, users: 10, duration: "4s", keep_alive: false, connect: { to } };
  const turns = await post(http, plan);
  await over(http, turns);
  await shoot(browser, `${http}/runs/${turns}`, "run-addresses");

  const server = createServer(certificate(), (request, answer) => answer.end("hello world"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${server.address().port}/`;
  const insecure = await post(http, { name: "tls", target: url, users: 5, duration: "4s", tls: { insecure: true } });
  await over(http, insecure);
  await shoot(browser, `${http}/runs/${insecure}`, "run-tls");
  server.close();
}

/** A key and a certificate that it has signed itself. */
function certificate() {
  const folder = mkdtempSync(join(tmpdir(), "volley-pictures-"));
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder, name));
  const words = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1"];
  execFileSync("openssl", ["req", "-x509", ...words, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const read = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return read;
}

/** Agents that join and drain, a load that is adjusted, and a run that waits for its turn. */
async function fleet(browser, http, target, agents) {
  const load = { target: `${target}/?delay=3ms`, rate: "100/s" };
  const first = await post(http, { ...load, name: "elastic", duration: "150s", agents: { elastic: true } });
  await sleep(3);
  const words = ["--label", "zone=eu", "--weight", "3"];
  await start({ to: /(coordinator at)/ }, "agent", "--coordinator", agents, "--name", "berlin-3", ...words);
  await sleep(6);
  await ask(http, "POST", `runs/${first}/adjust`, { rate: "200/s" });
  const waiting = await post(http, { ...load, name: "waiting", duration: "5s" });
  await sleep(5);
  await shoot(browser, `${http}/runs/${waiting}`, "run-queued");
  await shoot(browser, `${http}/agents`, "agents-busy");
  await shoot(browser, http, "home-queued");
  const { agents: all } = await ask(http, "GET", "agents");
  const berlin1 = all.find((agent) => agent.name === "berlin-1");
  await ask(http, "PATCH", `agents/${berlin1.incarnation}`, { drain: true });
  await sleep(6);
  await shoot(browser, `${http}/runs/${first}`, "run-fleet");
  await shoot(browser, `${http}/agents`, "agents");
  await ask(http, "POST", `runs/${first}/stop`);
  await over(http, first);
  await over(http, waiting);
}

await mkdir(directory, { recursive: true });
const browser = await launch(browserPath);
try {
  await pictures(browser);
} finally {
  await browser.close();
  for (const child of children) {
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
  }
}
