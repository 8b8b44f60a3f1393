// Other translations of a sentence, and other words at a place in it.

import * as api from "./api.js";
import { byId, make } from "./elements.js";
import { reason } from "./messages.js";
import { direction, segments } from "./text.js";

const SHOWN = 5;
const GAP = 8; // pixels
const TALLEST = 448;
const PHONE = "(max-width: 44rem)"; // as in style.css: below the text, not at the word

export class Alternatives {
  #popover = byId("alternatives");
  #body = byId("alternatives-body");
  #controller = new AbortController();
  #word = null; // that they are for
  #wanted = Math.min(8, Number(document.documentElement.dataset.alternatives) + 1);

  /** @param {(sentence: object, rendering: object) => void} onChoose */
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.#popover.addEventListener("toggle", (event) => {
      if (event.newState === "open") return;
      this.#controller.abort();
      this.#mark(false);
    });
    this.#popover.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      const buttons = [...this.#popover.querySelectorAll("button")];
      const at = buttons.indexOf(document.activeElement);
      buttons.at((at + step) % buttons.length)?.focus();
      event.preventDefault();
    });
    byId("correct").addEventListener("click", () => this.close());
  }

  /** Close if the word that they are for is no longer there. */
  closeIfGone() {
    if (!this.#word?.isConnected) this.close();
  }

  close() {
    if (this.#popover.matches(":popover-open")) this.#popover.hidePopover();
  }

  /**
   * Show what a word, or its sentence, could be.
   * @param {HTMLElement} word
   * @param {{index: number, start: number, end: number}} place Of the word in its sentence.
   * @param {object} sentence As `Output` has it.
   * @param {object} request Languages and glossary, as the API takes them.
   */
  open(word, place, sentence, request) {
    this.#controller.abort();
    const { signal } = (this.#controller = new AbortController());
    this.#mark(false);
    this.#word = word;
    const current = sentence.rendering.text;
    const prefix = current.slice(0, place.start).trimEnd();
    const ask = async (more) => {
      const asked = { ...request, ...more, text: sentence.source, nbest: this.#wanted, split: "none", links: true };
      const { sentences } = await api.translate(asked, signal);
      return sentences.length === 1 ? distinct(sentences[0].renderings, current) : [];
    };
    const list = async (title, work) => {
      const note = make("p", { className: "help", role: "status" }, "Looking…");
      const items = make("ul", { className: "options", dir: direction(request.target) });
      this.#body.append(make("h2", {}, ...title), note, items);
      try {
        const found = (await work).slice(0, SHOWN);
        note.textContent = found.length ? "" : "Nothing else was found.";
        items.append(...found.map((one) => make("li", {}, this.#option(one, sentence, request.target))));
      } catch (error) {
        note.textContent = error.kind === "unsupported" ? "This model offers none." : reason(error);
      }
      if (signal.aborted) return;
      this.#position(word);
      if (document.activeElement === byId("correct")) this.#body.querySelector("button")?.focus({ preventScroll: true });
    };
    this.#body.replaceChildren();
    const others = ask({});
    others.catch(() => {}); // until it is looked at
    const words = ask({ prefix, memory: false }).then((found) => replacing(found, current, place, prefix.length, request.target));
    // What the first list has is not repeated in the second.
    const rest = words.catch(() => []).then(async (shown) => {
      const known = new Set(shown.slice(0, SHOWN).map(({ text }) => likeness(text)));
      return (await others).filter(({ text }) => !known.has(likeness(text)));
    });
    list(["Instead of “", make("bdi", { lang: request.target }, word.textContent), "”"], words);
    list(["The whole sentence"], rest);
    this.#popover.showPopover();
    this.#mark(true);
    if (matchMedia(PHONE).matches) word.scrollIntoView({ block: "start" });
    this.#position(word);
    byId("correct").focus({ preventScroll: true });
  }

  #mark(isOpen) {
    this.#word?.classList.toggle("opened", isOpen);
    this.#word?.parentElement.classList.toggle("current", isOpen);
  }

  /**
   * A button with a translation, in which what differs from the present one stands out; with a word of its own,
   * that comes first.
   */
  #option(rendering, sentence, language) {
    const { text, word, confidence, from_memory: reviewed } = rendering;
    const at = commonLength(text, sentence.rendering.text);
    const from = segments(text, language).findLast(({ start }) => start <= at)?.start ?? 0;
    const content = make("span", { lang: language });
    if (word) content.append(make("b", {}, word), " ", make("small", {}, text));
    else content.append(text.slice(0, from), make("b", {}, text.slice(from)));
    const onclick = () => {
      this.onChoose(sentence, rendering);
      this.close();
    };
    const button = make("button", { className: "option", onclick }, content);
    if (reviewed) button.append(make("small", {}, "reviewed"));
    else if (confidence != null)
      button.append(make("small", { dir: "ltr", title: "How likely it is right" }, `${Math.round(100 * confidence)} %`));
    return button;
  }

  /** Below the word, or above it if there is more room; style sheets place it on phones. */
  #position(word) {
    const at = word.getBoundingClientRect();
    const { offsetWidth: width, scrollHeight, style } = this.#popover;
    const start = getComputedStyle(word).direction === "rtl" ? at.right - width : at.left;
    const left = Math.max(GAP, Math.min(start, innerWidth - width - GAP));
    const [above, below] = [at.top - 2 * GAP, innerHeight - at.bottom - 2 * GAP];
    const height = Math.min(TALLEST, scrollHeight + 2, Math.max(above, below));
    const top = height <= below || below >= above ? at.bottom + GAP : at.top - GAP - height;
    style.setProperty("--left", `${left}px`);
    style.setProperty("--top", `${top}px`);
    style.setProperty("--room", `${height}px`);
  }
}

/** A text for comparison: without what nobody sees, and ways to write the same. */
const likeness = (text) => text.normalize("NFKC").replace(/\p{Cf}/gu, "").replace(/\s+/g, " ").trim();

/** Renderings with different texts, other than the present one. */
function distinct(renderings, current) {
  const byText = new Map();
  for (const one of renderings) if (!byText.has(likeness(one.text))) byText.set(likeness(one.text), one);
  byText.delete(likeness(current));
  return [...byText.values()];
}

/** Those that have another word in this place, one for each such word, which is their `word`. */
function replacing(found, current, place, prefixLength, language) {
  const folded = (word) => likeness(word).toLowerCase();
  const known = new Set([folded(current.slice(place.start, place.end))]);
  const chosen = [];
  for (const one of found) {
    if (commonLength(one.text, current) < prefixLength) continue;
    const word = segments(one.text, language).find(({ isWord, end }) => isWord && end > place.start)?.text ?? "";
    if (known.has(folded(word))) continue;
    known.add(folded(word));
    chosen.push({ ...one, word });
  }
  return chosen;
}

function commonLength(one, other) {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
