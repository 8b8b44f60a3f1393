// What went wrong, and one thing to do about it.

import { byId } from "./elements.js";

const [element, text, button] = ["notice", "notice-text", "notice-button"].map(byId);

/** @param {string} [label] Of the button that calls `run`; without one, there is none. */
export function show(problem, label = "", run = null) {
  text.textContent = problem;
  Object.assign(button, { textContent: label, hidden: !label, onclick: run });
  element.hidden = false;
}

export function hide() {
  element.hidden = true;
}
