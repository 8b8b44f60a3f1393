// The dialogs that ask for one thing: a better translation, or a key.

import * as api from "./api.js";
import { byId, closable } from "./elements.js";
import { direction } from "./text.js";

export class CorrectionDialog {
  #dialog = closable(byId("correction"));
  #field = byId("correction-text");
  #problem = byId("correction-problem");
  #send = this.#dialog.querySelector(".primary");
  #asked;

  /** @param {(sentence: object, text: string) => void} onSent */
  constructor(onSent) {
    this.#dialog.addEventListener("submit", async (event) => {
      event.preventDefault();
      const translation = this.#field.value.trim();
      if (!translation) return;
      const asked = this.#asked;
      const { sentence, ...languages } = asked;
      this.#send.disabled = true; // once is enough
      try {
        await api.correct({ text: sentence.source, ...languages, translation });
      } catch (error) {
        if (this.#asked === asked) this.#problem.textContent = error.message;
        return;
      } finally {
        if (this.#asked === asked) this.#send.disabled = false;
      }
      if (this.#asked === asked) this.#dialog.close(); // it may ask for another sentence by now
      onSent(sentence, translation);
    });
  }

  /** Ask how a sentence of `Output` should be translated. */
  open(sentence, source, target) {
    this.#asked = { sentence, source, target };
    this.#send.disabled = false;
    Object.assign(byId("correction-source"), { textContent: sentence.source, lang: source });
    Object.assign(this.#field, { value: sentence.rendering.text, lang: target, dir: direction(target) });
    this.#problem.textContent = "";
    this.#dialog.showModal();
    this.#field.focus();
  }
}

export class KeyDialog {
  #dialog = closable(byId("key"));
  #field = byId("key-text");

  /** @param {() => void} onSave Called when there is another key, or none any more. */
  constructor(onSave) {
    byId("key-button").addEventListener("click", () => this.open());
    this.#dialog.addEventListener("submit", () => {
      api.setKey(this.#field.value.trim());
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
