// Terms that translations must use, kept in this browser for each direction.

import { byId, closable, iconButton, make } from "./elements.js";
import { load, save } from "./storage.js";

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
      this.#add(this.#source.value.trim(), this.#target.value.trim());
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
    this.#direction = [source, target];
    byId("glossary-title").textContent = `Glossary: ${languages.name(source)} to ${languages.name(target)}`;
    [this.#source.lang, this.#target.lang] = [source, target];
    this.#draw();
    this.#dialog.showModal();
  }

  #add(term, translation) {
    if (!term || !translation) return;
    this.#keep({ ...this.terms(...this.#direction), [term]: translation });
    this.#source.value = this.#target.value = "";
    this.#source.focus();
  }

  #remove(term) {
    const { [term]: _, ...rest } = this.terms(...this.#direction);
    this.#keep(rest);
    this.#source.focus();
  }

  #keep(terms) {
    this.#kept[this.#direction.join(">")] = terms;
    this.#changed = true;
    save("glossary", this.#kept);
    this.#draw();
  }

  #draw() {
    const [source, target] = this.#direction;
    this.count(source, target);
    const rows = Object.entries(this.terms(source, target)).map(([term, translation]) =>
      make(
        "li",
        {},
        make("span", { lang: source, dir: "auto" }, term),
        make("span", { lang: target, dir: "auto" }, translation),
        iconButton("clear", `Remove ${term}`, () => this.#remove(term)),
      ),
    );
    byId("terms").replaceChildren(...rows);
  }
}
