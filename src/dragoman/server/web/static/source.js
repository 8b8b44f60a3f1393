// The field for the source text.  A mirror behind it has the same text in the same place: it gives the
// field its height, and marks words in it.

import { byId, make } from "./elements.js";
import { countCharacters, direction, fits } from "./text.js";
import * as undo from "./undo.js";

export class Source {
  #field = byId("source");
  #mirror = byId("mirror");
  #count = byId("count");
  #clear = byId("clear");
  #limit = Number(document.documentElement.dataset.characters);

  /**
   * @param {{onChange: (pasted: boolean) => void, onClear: () => void}} events
   *   `onChange` is called when somebody has changed the text.
   */
  constructor({ onChange, onClear }) {
    this.#field.addEventListener("input", (event) => {
      undo.forget(); // which would remove what was written since
      this.#update();
      if (!fits(this.text, this.#field.dir)) this.#field.dir = this.#mirror.dir = "auto"; // until it is detected
      onChange(event.inputType?.startsWith("insertFrom"));
    });
    this.#clear.addEventListener("click", onClear);
    undo.connect(this.#field);
    this.#update();
  }

  get text() {
    return this.#field.value;
  }

  set text(value) {
    this.#field.value = value;
    this.#update();
  }

  get isBlank() {
    return !this.text.trim();
  }

  /** By how many characters the text is longer than the server allows. */
  get excess() {
    return countCharacters(this.text) - this.#limit;
  }

  get limit() {
    return this.#limit.toLocaleString("en");
  }

  focus() {
    this.#field.focus();
  }

  /** Say which language the text is in. */
  set language(code) {
    this.#field.lang = code;
    this.#field.dir = this.#mirror.dir = direction(code);
  }

  /** Mark parts of the text, sorted, in UTF-16 units. */
  mark(ranges) {
    const parts = [];
    let end = 0;
    for (const [from, to] of ranges) {
      if (from < end) continue;
      parts.push(this.text.slice(end, from), make("mark", {}, this.text.slice(from, to)));
      end = to;
    }
    this.#mirror.replaceChildren(...parts, `${this.text.slice(end)}\n`);
  }

  #update() {
    this.mark([]);
    const count = countCharacters(this.text);
    this.#count.textContent = `${count.toLocaleString("en")} / ${this.limit}`;
    this.#count.classList.toggle("over", count > this.#limit);
    this.#clear.hidden = !this.text;
    byId("text-panel").dataset.size = count > 600 ? "long" : count > 160 ? "medium" : "short";
  }
}
