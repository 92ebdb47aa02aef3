// The seconds that the page's numbers are told of. The server computes them; the address keeps them.

const NOBODY = new AbortController();

/** The address of this page with other seconds, or none. */
function addressWith(seconds) {
  const address = new URL(location.href);
  for (const name of ["from", "to"]) address.searchParams.delete(name);
  if (seconds) {
    address.searchParams.set("from", seconds.from_s);
    address.searchParams.set("to", seconds.to_s);
  }
  return address;
}

/** The seconds that an address names. */
function named(address) {
  const query = new URL(address, location.href).searchParams;
  const [from_s, to_s] = ["from", "to"].map((name) => (query.has(name) ? Number(query.get(name)) : NaN));
  return from_s < to_s ? { from_s, to_s } : null;
}

export class Selected {
  /** `span` is what the page was made with; `changed` is called when it is another. */
  constructor(main, span, changed) {
    Object.assign(this, { main, span, changed, asking: NOBODY });
    this.form = main.querySelector("[data-span]");
    this.failed = main.querySelector("[data-span-failed]");
    this.form.addEventListener("submit", (event) => this.submitted(event));
    this.form.querySelector("a").addEventListener("click", (event) => this.followed(event));
    // An address may leave one of the two out, which the server knows then.
    if (span) history.replaceState(null, "", addressWith(span));
    addEventListener("popstate", () => this.show(named(location.href)));
    addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Another span, or null for the whole run: the address says so too, and the way back leads to the one before. */
  async choose(seconds) {
    const address = addressWith(seconds);
    if ((await this.show(seconds)) && address.href !== location.href) history.pushState(null, "", address);
  }

  /** Gives whether it is shown: only the latest that was asked for is, and what can't be told isn't. */
  async show(seconds) {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.form.ariaBusy = "true";
    try {
      this.take(seconds && (await this.ask(seconds, signal)), "");
      return true;
    } catch (error) {
      if (!signal.aborted) this.take(this.span, `These seconds can't be told: ${error.message}.`);
      return false;
    }
  }

  async ask({ from_s, to_s }, signal) {
    if (!(from_s < to_s)) throw new Error("the end must come after the beginning");
    const answer = await fetch(`${this.main.dataset.api}/span?from=${from_s}&to=${to_s}`, { signal });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail);
    return told;
  }

  take(span, complaint) {
    this.span = span;
    this.form.ariaBusy = "false";
    this.failed.textContent = complaint;
    this.failed.hidden = !complaint;
    if (!complaint) {
      this.form.elements.from.value = span?.from_s ?? "";
      this.form.elements.to.value = span?.to_s ?? "";
    }
    this.changed();
  }

  submitted(event) {
    event.preventDefault();
    const [from_s, to_s] = ["from", "to"].map((name) => Number(this.form.elements[name].value));
    this.choose({ from_s, to_s });
  }

  followed(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.choose(null);
  }

  /** Escape leads back to the whole run, but from a field, where it is the field's. */
  pressed(event) {
    const isInField = event.target.closest?.("input, textarea");
    if (event.key === "Escape" && this.span && !isInField) this.choose(null);
  }
}
