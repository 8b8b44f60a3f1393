// The dialogs that ask for one thing: a better translation, or a key.

import * as api from "./api.js";
import { byId, closable } from "./elements.js";

export class CorrectionDialog {
  #dialog = closable(byId("correction"));
  #field = byId("correction-text");
  #problem = this.#dialog.querySelector(".problem");

  /** @param {(index: number, text: string) => void} onSent */
  constructor(onSent) {
    this.#dialog.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const translation = this.#field.value.trim();
      if (!translation) return;
      const { text, source, target, index } = this.#asked;
      this.#say("");
      try {
        await api.correct({ text, translation, source, target });
      } catch (error) {
        this.#say(error.message);
        return;
      }
      this.#dialog.close();
      onSent(index, translation);
    });
  }

  #asked;

  /** Ask how a sentence of `Output` should be translated. */
  open(index, sentence, source, target, direction) {
    this.#asked = { index, text: sentence.source, source, target };
    byId("correction-source").textContent = sentence.source;
    byId("correction-source").lang = source;
    byId("correction-source").dir = "auto";
    Object.assign(this.#field, { value: sentence.rendering.text, lang: target, dir: direction });
    this.#say("");
    this.#dialog.showModal();
    this.#field.focus();
  }

  #say(problem) {
    this.#problem.textContent = problem;
    this.#problem.hidden = !problem;
  }
}

export class KeyDialog {
  #dialog = closable(byId("key"));
  #field = byId("key-text");

  /** @param {() => void} onSave Called when there is another key, or none any more. */
  constructor(onSave) {
    byId("key-button").addEventListener("click", () => this.open());
    this.#dialog.querySelector("form").addEventListener("submit", () => {
      api.setKey(this.#field.value.trim());
      this.#field.value = "";
      onSave();
    });
    if (document.documentElement.dataset.key === "required" || api.hasKey()) this.offer();
  }

  /** Show the button that opens the dialog. */
  offer() {
    byId("key-button").hidden = false;
  }

  open() {
    this.offer();
    this.#field.value = "";
    this.#field.placeholder = api.hasKey() ? "A key is kept; a new one replaces it" : "";
    this.#dialog.showModal();
  }
}
