// Selects whole seconds in a chart: by dragging over it, or with Shift and the arrow keys. What is being selected is a
// draft, which all charts show; letting go chooses it.

import { span as length } from "./said.js";

/** So far a pointer has to go before it is a drag and not a click. */
const DRAG_PX = 4;

/** The whole seconds between two run times, within what was measured. */
export function wholeSeconds(a_s, b_s, end_s) {
  const from_s = Math.max(0, Math.min(Math.floor(Math.min(a_s, b_s)), end_s - 1));
  const to_s = Math.min(end_s, Math.max(Math.ceil(Math.max(a_s, b_s)), from_s + 1));
  return { from_s, to_s };
}

/** Lets a pointer drag over what lies over a plot. */
export function dragOver(plot, board) {
  const { over } = plot;
  const time = (event) => plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || board.measured_s < 1) return;
    board.drag = { x: event.clientX, time_s: time(event) };
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    const { drag } = board;
    if (!drag || (!board.draft && Math.abs(event.clientX - drag.x) < DRAG_PX)) return;
    board.sketch(wholeSeconds(drag.time_s, time(event), board.measured_s));
  });
  over.addEventListener("pointerup", () => board.choose());
  over.addEventListener("pointercancel", () => board.giveUp());
}

/** Extends the draft from the tick where it began to the one where the cursor has been moved to. */
export class KeyboardSelection {
  constructor(place, board) {
    this.board = board;
    this.anchor = null;
    place.addEventListener("keyup", (event) => event.key === "Shift" && this.end());
    place.addEventListener("blur", () => this.end());
  }

  extend(from, to) {
    this.anchor ??= from;
    const [first, last] = this.anchor.second <= to.second ? [this.anchor, to] : [to, this.anchor];
    this.board.sketch(wholeSeconds(first.second, last.second + length(last), this.board.measured_s));
  }

  end() {
    if (this.anchor === null) return;
    this.anchor = null;
    this.board.choose();
  }
}
