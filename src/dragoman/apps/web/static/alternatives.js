// Other translations of a sentence, and other words at a place in it.

import * as api from "./api.js";
import { byId, make } from "./elements.js";
import { segments } from "./text.js";

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

  /** @param {(index: number, rendering: object) => void} onChoose */
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

  close() {
    this.#popover.hidePopover();
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
    const controller = new AbortController();
    this.#controller = controller;
    this.#mark(false);
    this.#word = word;
    const current = sentence.rendering.text;
    const words = this.#list(`Instead of “${word.textContent}”`);
    const whole = this.#list("The whole sentence");
    this.#body.replaceChildren(...words.parts, ...whole.parts);
    this.#body.lang = "en";
    this.#popover.showPopover();
    this.#mark(true);
    if (matchMedia(PHONE).matches) word.scrollIntoView({ block: "start" });
    this.#position(word);
    byId("correct").focus({ preventScroll: true });

    const ask = async (more) => {
      const asked = { ...request, ...more, text: sentence.source, nbest: this.#wanted, split: "none", links: true };
      const answer = await api.translate(asked, controller.signal);
      return answer.sentences.length === 1 ? answer.sentences[0].renderings : [];
    };
    const fill = async (list, more, choose) => {
      let found;
      try {
        found = choose(distinct(await ask(more), current));
      } catch (error) {
        if (controller.signal.aborted) return;
        list.say(error.message);
        return;
      }
      if (controller.signal.aborted) return;
      const rest = byId("correct");
      list.show(found.slice(0, SHOWN), current, request.target, (rendering) => {
        this.onChoose(place.index, rendering);
        this.close();
      });
      this.#position(word);
      if (document.activeElement === rest) this.#body.querySelector("button")?.focus({ preventScroll: true });
    };
    const prefix = current.slice(0, place.start).trimEnd();
    const changed = (found) => replacing(found, current, place, prefix.length, request.target);
    fill(words, { prefix, memory: false }, changed);
    fill(whole, {}, (found) => found);
  }

  #mark(isOpen) {
    this.#word?.classList.toggle("opened", isOpen);
    this.#word?.parentElement.classList.toggle("current", isOpen);
  }

  #list(title) {
    const items = make("ul", { className: "options" });
    const note = make("p", { className: "help", role: "status" }, "Looking…");
    const say = (text) => {
      note.textContent = text;
      note.hidden = !text;
    };
    const show = (found, current, language, choose) => {
      say(found.length ? "" : "Nothing else was found.");
      items.replaceChildren(...found.map((one) => make("li", {}, option(one, current, language, choose))));
    };
    return { parts: [make("h2", {}, title), note, items], say, show };
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

/** Renderings with different texts, other than the present one. */
function distinct(renderings, current) {
  const byText = new Map(renderings.map((one) => [one.text, one]));
  byText.delete(current);
  return [...byText.values()];
}

/** Those that have another word in this place, one for each such word. */
function replacing(found, current, place, prefixLength, language) {
  const byWord = new Map();
  const present = current.slice(place.start, place.end);
  for (const one of found) {
    if (commonLength(one.text, current) < prefixLength) continue;
    const word = segments(one.text, language).find(({ isWord, end }) => isWord && end > place.start);
    const name = word?.text ?? "";
    if (name !== present && !byWord.has(name)) byWord.set(name, one);
  }
  return [...byWord.values()];
}

function commonLength(one, other) {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** A button with a translation, in which what differs from the present one stands out. */
function option(rendering, current, language, choose) {
  const { text, confidence, from_memory: reviewed } = rendering;
  const parts = segments(text, language);
  const at = commonLength(text, current);
  const from = parts.findLast(({ start }) => start <= at)?.start ?? 0;
  const content = make("span", { lang: language, dir: "auto" }, text.slice(0, from), make("b", {}, text.slice(from)));
  const button = make("button", { type: "button", className: "option" }, content);
  if (reviewed) button.append(make("small", {}, "reviewed"));
  else if (confidence !== null && confidence !== undefined)
    button.append(make("small", { title: "How likely it is right" }, `${Math.round(100 * confidence)} %`));
  button.addEventListener("click", () => choose(rendering));
  return button;
}
