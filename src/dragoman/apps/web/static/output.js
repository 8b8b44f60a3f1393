// The translation: sentences made of words, each of which can be pointed at, focused and opened.

import { countCharacters, offsets, segments } from "./text.js";

export class Output {
  #element;
  #places = new WeakMap(); // word -> { index, start, end } in its sentence
  #focused = null;
  #tail = "";
  #language = "";

  /**
   * @param {HTMLElement} element Which the translation is written into.
   * @param {{onPoint: (ranges: [number, number][]) => void,
   *          onOpen: (word: HTMLElement, place: {index: number, start: number, end: number}) => void}} events
   *   `onPoint` gets the parts of the source that the word pointed at translates.
   */
  constructor(element, { onPoint, onOpen }) {
    this.#element = element;
    this.sentences = [];
    const open = (word) => onOpen(word, this.#places.get(word));
    const wordAt = (event) => event.target.closest?.(".word");
    const point = (event) => onPoint(wordAt(event) ? this.#linked(wordAt(event)) : []);
    element.addEventListener("pointerover", point);
    element.addEventListener("pointerleave", () => onPoint([]));
    element.addEventListener("focusin", (event) => {
      if (wordAt(event)) this.#settle(wordAt(event));
      point(event);
    });
    element.addEventListener("focusout", () => onPoint([]));
    element.addEventListener("click", (event) => {
      if (!wordAt(event) || String(getSelection())) return; // somebody marks text to copy it
      wordAt(event).focus();
      open(wordAt(event));
    });
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !wordAt(event)) return;
      if (event.key === "Enter" || event.key === " ") open(wordAt(event));
      else if (!this.#move(wordAt(event), event.key)) return;
      event.preventDefault();
    });
  }

  /**
   * Show a translation.
   * @param result A translated text, as the API gives it.
   * @param {string} source The text that it translates.
   * @param {Map<string, object>} choices Renderings that were chosen for sentences.
   */
  show(result, source, choices) {
    const targetStarts = offsets(result.text);
    const sourceStarts = offsets(source);
    let end = 0;
    this.#language = result.target;
    this.sentences = result.sentences.map((sentence) => {
      const before = result.text.slice(targetStarts[end], targetStarts[sentence.target_start]);
      end = sentence.target_start + countCharacters(sentence.renderings[0].text);
      const rendering = choices.get(sentence.source) ?? sentence.renderings[0];
      return { source: sentence.source, start: sourceStarts[sentence.start], before, rendering };
    });
    this.#tail = result.text.slice(targetStarts[end]);
    this.#draw();
  }

  clear() {
    this.sentences = [];
    this.#tail = "";
    this.#draw();
  }

  /** Give a sentence another translation. */
  replace(index, rendering) {
    this.sentences[index].rendering = rendering;
    const place = this.#focused && this.#places.get(this.#focused);
    this.#draw();
    const words = [...this.#element.querySelectorAll(".word")];
    const again = words.find((word) => {
      const { index: at, end } = this.#places.get(word);
      return at === place?.index && end > place.start;
    });
    (again ?? words[0])?.focus();
  }

  get text() {
    return this.sentences.map(({ before, rendering }) => before + rendering.text).join("") + this.#tail;
  }

  /** Put the focus on the word that had it last. */
  focus() {
    this.#focused?.focus();
  }

  #draw() {
    const parts = this.sentences.flatMap((sentence, index) => [
      sentence.before,
      this.#sentence(sentence.rendering.text, index),
    ]);
    this.#element.replaceChildren(...[...parts, this.#tail].filter((part) => part !== ""));
    this.#focused = null;
    const first = this.#element.querySelector(".word");
    if (first) this.#settle(first);
  }

  #sentence(text, index) {
    const element = document.createElement("span");
    element.className = "sentence";
    for (const { text: part, start, end, isWord } of segments(text, this.#language)) {
      if (!isWord) {
        element.append(part);
        continue;
      }
      const word = document.createElement("span");
      word.className = "word";
      word.textContent = part;
      word.tabIndex = -1;
      word.setAttribute("role", "button");
      word.setAttribute("aria-haspopup", "dialog");
      this.#places.set(word, { index, start, end });
      element.append(word);
    }
    return element;
  }

  /** Let Tab stop at this word, and at no other. */
  #settle(word) {
    if (this.#focused) this.#focused.tabIndex = -1;
    word.tabIndex = 0;
    this.#focused = word;
  }

  #move(word, key) {
    const words = [...this.#element.querySelectorAll(".word")];
    const forward = getComputedStyle(this.#element).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const { index } = this.#places.get(word);
    const at = words.indexOf(word);
    const sentenceOf = (one) => this.#places.get(one).index;
    const next = {
      ArrowRight: () => words[at + (forward === "ArrowRight" ? 1 : -1)],
      ArrowLeft: () => words[at + (forward === "ArrowLeft" ? 1 : -1)],
      ArrowDown: () => words.find((one) => sentenceOf(one) > index),
      ArrowUp: () => words.find((one) => sentenceOf(one) === index - 1) ?? words[0],
      Home: () => words[0],
      End: () => words.at(-1),
    }[key];
    if (!next) return false;
    next()?.focus();
    return true;
  }

  /** Parts of the source text, in UTF-16 units, that the links of a word lead to. */
  #linked(word) {
    const { index, start, end } = this.#places.get(word);
    const { source, start: from, rendering } = this.sentences[index];
    const sourceStarts = offsets(source);
    const targetStarts = offsets(rendering.text);
    return (rendering.links ?? [])
      .filter((link) => targetStarts[link[2]] < end && start < targetStarts[link[3]])
      .map((link) => [from + sourceStarts[link[0]], from + sourceStarts[link[1]]])
      .sort((one, other) => one[0] - other[0]);
  }
}
