// The translation: sentences made of words, each of which can be pointed at, focused and opened.

import { make } from "./elements.js";
import { offsets, segments } from "./text.js";

export class Output {
  #element;
  #pieces = []; // of each sentence: itself, and the elements that show it
  #places = new WeakMap(); // word -> { index, start, end } in its sentence
  #focused = null;
  #tail = new Text();
  #language = "";
  #count = 0; // sentences of the present text; further ones are of the text before

  /**
   * @param {HTMLElement} element Which the translation is written into.
   * @param {{onPoint: (ranges: [number, number][], text: string) => void,
   *          onOpen: (word: HTMLElement, place: {index: number, start: number, end: number}) => void}} events
   *   `onPoint` gets the parts of a text that the word pointed at translates.
   */
  constructor(element, { onPoint, onOpen }) {
    this.#element = element;
    element.replaceChildren(this.#tail);
    const open = (word) => onOpen(word, this.#places.get(word));
    // Let what happens to a word be handled with it; without a word, nothing happens.
    const on = (type, handle) =>
      element.addEventListener(type, (event) => {
        const word = event.target.closest(".word");
        if (word) handle(word, event);
      });
    const point = (word) => onPoint(this.#linked(word), this.sentences[this.#places.get(word).index].text);
    on("pointerover", point);
    on("pointerout", () => onPoint([], ""));
    on("focusin", (word) => {
      this.#settle(word);
      point(word);
    });
    on("focusout", () => onPoint([], ""));
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

  /** Begin a translation, in a language.  The one before stays until the new sentences replace it. */
  begin(language) {
    this.#language = language;
    this.#count = 0;
    for (const { span } of this.#pieces) span.classList.add("old");
  }

  /**
   * Show the next sentence.
   * @param {{source: string, start: number, before: string, rendering: object, text: string}} sentence
   *   `before` separates it from the one before; `start` is in UTF-16 units of `text`, the whole source.
   */
  add(sentence) {
    const index = this.#count++;
    const old = this.#pieces[index];
    const isSame = old && old.lang === this.#language && old.sentence.rendering.text === sentence.rendering.text;
    const span = isSame ? old.span : this.#drawn(sentence.rendering.text, index);
    const piece = { sentence, span, lang: this.#language, gap: old?.gap ?? new Text() };
    span.classList.remove("old");
    piece.gap.data = sentence.before;
    this.#pieces[index] = piece;
    if (!old) this.#tail.before(piece.gap, span);
    else if (!isSame) this.#exchange(old.span, span);
    const isFresh = index === 0 && !this.#element.contains(document.activeElement);
    if (isFresh || !this.#focused?.isConnected) this.#settleFirst();
  }

  /** End with some white space; what is left of the translation before goes. */
  end(tail = "") {
    for (const { gap, span } of this.#pieces.splice(this.#count)) {
      gap.remove();
      span.remove();
    }
    this.#tail.data = tail;
    if (!this.#focused?.isConnected) this.#settleFirst();
  }

  clear() {
    this.#count = 0;
    this.end();
  }

  /** The translation as it is, for `restore`. */
  get state() {
    return { language: this.#language, sentences: this.sentences, tail: this.#tail.data };
  }

  restore({ language, sentences, tail }) {
    this.begin(language);
    for (const sentence of sentences) this.add(sentence);
    this.end(tail);
  }

  /** Give a sentence another translation. */
  replace(index, rendering) {
    const piece = this.#pieces[index];
    const place = this.#focused && this.#places.get(this.#focused);
    const span = this.#drawn(rendering.text, index);
    piece.sentence.rendering = rendering;
    this.#exchange(piece.span, span);
    piece.span = span;
    const again = [...span.children].find((word) => this.#places.get(word).end > (place?.start ?? 0));
    (again ?? this.#words[0])?.focus();
  }

  get sentences() {
    return this.#pieces.map(({ sentence }) => sentence);
  }

  get text() {
    return this.sentences.map(({ before, rendering }) => before + rendering.text).join("") + this.#tail.data;
  }

  /** Put the focus on the word that had it last. */
  focus() {
    this.#focused?.focus();
  }

  get #words() {
    return [...this.#element.querySelectorAll(".word")];
  }

  #drawn(text, index) {
    return make("span", { className: "sentence" }, ...this.#parts(text, index));
  }

  /** Show an element in the place of another; a focus goes over rather than getting lost. */
  #exchange(old, span) {
    const hadFocus = old.contains(document.activeElement);
    old.replaceWith(span);
    if (hadFocus) span.querySelector(".word")?.focus({ preventScroll: true });
  }

  #settleFirst() {
    const first = this.#element.querySelector(".word");
    if (first) this.#settle(first);
    else this.#focused = null;
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
