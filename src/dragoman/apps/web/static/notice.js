// What went wrong, and one thing to do about it.

import { byId } from "./elements.js";

export class Notice {
  #element = byId("notice");
  #text = byId("notice-text");
  #button = byId("notice-button");
  #run = null;

  constructor() {
    this.#button.addEventListener("click", () => this.#run?.());
  }

  /** @param {{label: string, run: () => void}} [action] */
  show(text, action) {
    this.#text.textContent = text;
    this.#button.textContent = action?.label ?? "";
    this.#button.hidden = !action;
    this.#run = action?.run;
    this.#element.hidden = false;
  }

  hide() {
    this.#element.hidden = true;
  }
}
