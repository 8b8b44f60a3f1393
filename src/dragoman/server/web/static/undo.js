// The last click that removed something, and how to take it back.

import { byId } from "./elements.js";

const button = byId("undo");
let restore = null;

/** Offer to take something back, such as "clearing"; the offer holds until the next one or `forget`. */
export function offer(what, run) {
  restore = run;
  button.ariaLabel = button.title = `Undo ${what}`;
  button.hidden = false;
}

export function forget() {
  restore = null;
  button.hidden = true;
}

function undo() {
  const run = restore;
  forget();
  run?.();
}

button.addEventListener("click", undo);

/** Let the keys that undo typing take back what replaced the whole text of a field. */
export function connect(field) {
  field.addEventListener("keydown", (event) => {
    const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "z";
    if (!isUndo || !restore) return;
    event.preventDefault();
    undo();
  });
}
