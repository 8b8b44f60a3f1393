// The translation: sentences made of words, each of which can be pointed at, focused and opened.

import { make } from "./elements.js";
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
    // Let what happens to a word be handled with it; without a word, nothing happens.
    const on = (type, handle) =>
      element.addEventListener(type, (event) => {
        const word = event.target.closest(".word");
        if (word) handle(word, event);
      });
    const point = (word) => onPoint(this.#linked(word));
    on("pointerover", point);
    on("pointerout", () => onPoint([]));
    on("focusin", (word) => {
      this.#settle(word);
      point(word);
    });
    on("focusout", () => onPoint([]));
    on("click", (word) => {
      if (String(getSelection())) return; // somebody marks text to copy it
      word.focus();
      open(word);
    });
    on("keydown", (word, event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") open(word);
      else if (!this.#move(word, event.key)) return;
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
    const again = this.#words.find((word) => {
      const { index: at, end } = this.#places.get(word);
      return at === place?.index && end > place.start;
    });
    (again ?? this.#words[0])?.focus();
  }

  get text() {
    return this.sentences.map(({ before, rendering }) => before + rendering.text).join("") + this.#tail;
  }

  /** Put the focus on the word that had it last. */
  focus() {
    this.#focused?.focus();
  }

  get #words() {
    return [...this.#element.querySelectorAll(".word")];
  }

  #draw() {
    const hadFocus = this.#element.contains(document.activeElement);
    const parts = this.sentences.flatMap(({ before, rendering }, index) => [
      before,
      make("span", { className: "sentence" }, ...this.#parts(rendering.text, index)),
    ]);
    this.#element.replaceChildren(...[...parts, this.#tail].filter((part) => part !== ""));
    this.#focused = null;
    const [first] = this.#words;
    if (!first) return;
    this.#settle(first);
    if (hadFocus) first.focus({ preventScroll: true }); // rather than losing it with its word
  }

  #parts(text, index) {
    return segments(text, this.#language).map(({ text: part, start, end, isWord }) => {
      if (!isWord) return part;
      const word = make("span", { className: "word", tabIndex: -1, role: "button", ariaHasPopup: "dialog" }, part);
      this.#places.set(word, { index, start, end });
      return word;
    });
  }

  /** Let Tab stop at this word, and at no other. */
  #settle(word) {
    if (this.#focused) this.#focused.tabIndex = -1;
    word.tabIndex = 0;
    this.#focused = word;
  }

  #move(word, key) {
    const words = this.#words;
    const sentenceOf = (one) => this.#places.get(one).index;
    const [at, index] = [words.indexOf(word), sentenceOf(word)];
    const right = this.#element.matches(":dir(rtl)") ? -1 : 1;
    const next = {
      ArrowRight: () => words[at + right],
      ArrowLeft: () => words[at - right],
      ArrowDown: () => words.find((one) => sentenceOf(one) > index),
      ArrowUp: () => words.find((one) => sentenceOf(one) === index - 1) ?? words[0],
      Home: () => words[0],
      End: () => words.at(-1),
    }[key];
    next?.()?.focus();
    return Boolean(next);
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
