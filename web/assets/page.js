// What every page does: copy buttons, and lists that keep themselves current while something goes on.

const LIVE_MS = 2000;
const IDLE_MS = 10_000;
const seen = new WeakMap();

for (const command of document.querySelectorAll(".command")) offerCopy(command);
refreshLater();

function offerCopy(command) {
  const button = command.querySelector(".copy");
  if (!button || !navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.querySelector("code").textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it by hand";
    }
    setTimeout(() => (button.textContent = "Copy"), LIVE_MS);
  });
}

function refreshLater() {
  setTimeout(() => refresh().finally(refreshLater), document.querySelector("[data-live]") ? LIVE_MS : IDLE_MS);
}

/** Fetches the page again and takes over its live parts. */
async function refresh() {
  const { from } = document.getElementById("main").dataset;
  if (document.hidden || !from) return;
  let text;
  try {
    const answer = await fetch(from, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    text = await answer.text();
  } catch {
    return; // The coordinator is away; the next round asks again.
  }
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    replace(part, fresh.querySelector(`[data-refresh="${part.dataset.refresh}"]`));
  }
}

/** Leaves a part alone while somebody is in it, by keyboard or with a selection. */
function replace(part, fresh) {
  if (!fresh || seen.get(part) === fresh.innerHTML) return;
  if (part.contains(document.activeElement) || !getSelection().isCollapsed) return;
  seen.set(part, fresh.innerHTML);
  part.replaceChildren(...fresh.childNodes);
  for (const command of part.querySelectorAll(".command")) offerCopy(command);
}
