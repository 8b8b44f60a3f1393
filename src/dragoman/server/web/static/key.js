// The dialog for the key that some servers require.

import * as api from "./api.js";
import { byId, closable } from "./elements.js";
import { reason } from "./messages.js";

export class KeyDialog {
  #dialog = closable(byId("key"));
  #field = byId("key-text");
  #remember = byId("key-remember");
  #problem = byId("key-problem");
  #save = this.#dialog.querySelector(".primary");

  /** @param {() => void} onSave Called when there is another key, or none any more. */
  constructor(onSave) {
    this.onSave = onSave;
    byId("key-button").addEventListener("click", () => this.open());
    byId("key-forget").addEventListener("click", () => this.#keep(""));
    this.#dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(this.#field.value.trim());
    });
    if (document.documentElement.dataset.key === "required" || api.hasKey()) this.offer();
  }

  /** Show the button that opens the dialog. */
  offer() {
    byId("key-button").hidden = false;
  }

  open(problem = "") {
    this.offer();
    this.#field.value = "";
    this.#save.disabled = false;
    this.#problem.textContent = problem;
    byId("key-forget").hidden = !api.hasKey();
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#field.focus();
  }

  /** Keep a key that the server takes; say so if it does not. */
  async #submit(key) {
    if (!key) return;
    this.#save.disabled = true;
    this.#problem.textContent = "";
    try {
      await api.tryKey(key);
    } catch (error) {
      const isWrong = error.kind === "forbidden";
      const why = isWrong ? "The server does not accept this key. Is it complete? It may also be revoked." : reason(error);
      this.#problem.textContent = why;
      this.#field.select();
      return;
    } finally {
      this.#save.disabled = false;
    }
    if (this.#dialog.open) this.#keep(key);
  }

  #keep(key) {
    api.setKey(key, { remember: this.#remember.checked });
    this.#dialog.close();
    this.onSave();
  }
}
