// Terms that translations must use, kept in this browser for each direction.

import { byId, closable, iconButton, make } from "./elements.js";
import { load, save } from "./storage.js";
import { direction } from "./text.js";

export class Glossary {
  #dialog = closable(byId("glossary"));
  #source = byId("term-source");
  #target = byId("term-target");
  #kept = load("glossary", {});
  #direction = null;
  #changed = false;

  /** @param {() => void} onChange Called when the dialog closes with other terms than before. */
  constructor(onChange) {
    byId("term-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const [term, translation] = [this.#source.value.trim(), this.#target.value.trim()];
      if (!term || !translation) return;
      this.#source.value = this.#target.value = "";
      this.#keep({ ...this.terms(...this.#direction), [term]: translation });
    });
    this.#dialog.addEventListener("close", () => {
      if (this.#changed) onChange();
      this.#changed = false;
    });
  }

  /** Terms of a direction and their translations, as the API takes them. */
  terms(source, target) {
    return this.#kept[`${source}>${target}`] ?? {};
  }

  /** Show how many terms there are for what is being translated. */
  count(source, target) {
    const count = Object.keys(this.terms(source, target)).length;
    byId("glossary-count").textContent = count;
    byId("glossary-count").hidden = count === 0;
    const terms = count === 1 ? "1 term" : `${count} terms`;
    byId("glossary-button").ariaLabel = count ? `Glossary (${terms})` : "Glossary";
  }

  open(source, target, languages) {
    this.#kept = load("glossary", this.#kept); // another window may have changed it
    this.#direction = [source, target];
    byId("glossary-title").textContent = `Glossary: ${languages.name(source)} to ${languages.name(target)}`;
    Object.assign(this.#source, { lang: source, dir: direction(source) });
    Object.assign(this.#target, { lang: target, dir: direction(target) });
    this.#draw();
    this.#dialog.showModal();
  }

  /** Remove a term, and show how to take that back. */
  #remove(term, translation) {
    const at = Object.keys(this.terms(...this.#direction)).indexOf(term);
    const { [term]: _, ...rest } = this.terms(...this.#direction);
    this.#keep(rest);
    const restore = () => {
      this.#keep({ ...this.terms(...this.#direction), [term]: translation });
    };
    const undo = make("button", { type: "button", className: "button", onclick: restore }, "Undo");
    const removed = make("li", { className: "removed" }, make("span", {}, make("bdi", {}, term), " is removed"), undo);
    byId("terms").insertBefore(removed, byId("terms").children[at] ?? null);
    undo.focus();
  }

  #keep(terms) {
    this.#kept = { ...load("glossary", this.#kept), [this.#direction.join(">")]: terms };
    this.#changed = true;
    save("glossary", this.#kept);
    this.#draw();
    this.#source.focus();
  }

  #draw() {
    const [source, target] = this.#direction;
    const terms = this.terms(source, target);
    const side = (text, lang) => make("span", { lang, dir: direction(lang) }, text);
    const rows = Object.entries(terms).map(([term, translation]) => {
      const button = iconButton("clear", `Remove ${term}`, () => this.#remove(term, translation));
      return make("li", {}, side(term, source), side(translation, target), button);
    });
    byId("terms").replaceChildren(...rows);
    this.count(source, target);
  }
}
