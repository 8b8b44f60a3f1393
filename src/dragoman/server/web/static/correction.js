// The dialog for a better translation.

import * as api from "./api.js";
import { byId, closable } from "./elements.js";
import { reason } from "./messages.js";
import { direction } from "./text.js";

export class CorrectionDialog {
  #dialog = closable(byId("correction"));
  #field = byId("correction-text");
  #problem = byId("correction-problem");
  #send = this.#dialog.querySelector(".primary");
  #asked = null;
  #drafts = new WeakMap(); // sentence -> what was written and not sent

  /** @param {(sentence: object, text: string) => void} onSent */
  constructor(onSent) {
    this.#field.addEventListener("input", () => this.#drafts.set(this.#asked.sentence, this.#field.value));
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
        if (this.#asked === asked) this.#problem.textContent = reason(error);
        return;
      } finally {
        if (this.#asked === asked) this.#send.disabled = false;
      }
      this.#drafts.delete(sentence);
      if (this.#asked === asked) this.#dialog.close(); // it may ask for another sentence by now
      onSent(sentence, translation);
    });
  }

  /** Ask how a sentence of `Output` should be translated. */
  open(sentence, source, target) {
    this.#asked = { sentence, source, target };
    this.#send.disabled = false;
    const quoted = { textContent: sentence.source, lang: source, dir: direction(source) };
    Object.assign(byId("correction-source"), quoted);
    const value = this.#drafts.get(sentence) ?? sentence.rendering.text;
    Object.assign(this.#field, { value, lang: target, dir: direction(target) });
    this.#problem.textContent = "";
    this.#dialog.showModal();
    this.#field.focus();
  }
}
