// The menu of a language: a button, and a list that can be searched (ARIA Authoring Practices, "Combobox").

import { byId, make } from "./elements.js";
import { direction } from "./text.js";

const SEARCHED = 8; // languages from which on there is a field to search them
const PAGE = 8; // options that Page Down goes on by

export class LanguageMenu {
  #button;
  #popover;
  #search;
  #list;
  #count = make("p", { className: "unseen", role: "status" });
  #languages = null;
  #codes = [];
  #shown = [];
  #active = 0;
  #value = "";
  #note = "";

  /**
   * @param {string} id Of the button, whose `value` is the language's code.
   * @param {{unknown?: string, onChoose: () => void}} options `unknown`: names the choice of no language.
   */
  constructor(id, { unknown = "", onChoose }) {
    this.unknown = unknown;
    this.onChoose = onChoose;
    this.#button = byId(id);
    this.label = this.#button.ariaLabel;
    this.#list = make("ul", { id: `${id}-list`, role: "listbox", tabIndex: -1, ariaLabel: "Languages" });
    this.#search = make("input", {
      type: "text",
      role: "combobox",
      ariaLabel: "Search languages",
      placeholder: "Search",
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: false,
      ariaAutoComplete: "list",
      ariaExpanded: "true",
    });
    this.#search.setAttribute("aria-controls", this.#list.id);
    const content = [this.#search, this.#list, this.#count];
    this.#popover = make("div", { className: "menu", popover: "auto", role: "dialog", ariaLabel: this.label }, ...content);
    this.#button.after(this.#popover);
    this.#button.popoverTargetElement = this.#popover;
    this.#connect();
  }

  get value() {
    return this.#value;
  }

  set value(code) {
    this.#value = this.#codes.includes(code) || (!code && this.unknown) ? code : (this.#codes[0] ?? "");
    this.#note = "";
    this.#label();
  }

  /** Offer languages, and keep the choice if it is among them. */
  fill(codes, languages) {
    this.#languages = languages;
    this.#codes = codes;
    this.value = this.#value;
  }

  /** Name the language that was found, where none is chosen; "": there is none. */
  detected(code) {
    this.#note = code;
    this.#label();
  }

  #label() {
    const name = (code) => this.#languages?.name(code) ?? "";
    const found = this.#note ? `${name(this.#note)} (detected)` : this.unknown;
    const text = this.#value ? name(this.#value) : found;
    Object.assign(this.#button, { value: this.#value, textContent: text, ariaLabel: `${this.label}: ${text}` });
  }

  #connect() {
    this.#popover.addEventListener("beforetoggle", ({ newState }) => newState === "open" && this.#fill());
    this.#popover.addEventListener("toggle", ({ newState }) => newState === "open" && this.#opened());
    this.#popover.addEventListener("keydown", (event) => this.#press(event));
    this.#popover.addEventListener("focusout", ({ relatedTarget: next }) => {
      if (next && next !== this.#button && !this.#popover.contains(next)) this.#popover.hidePopover();
    });
    this.#search.addEventListener("input", () => this.#draw());
    this.#button.addEventListener("keydown", (event) => {
      const isOpening = event.key === "ArrowDown" || event.key === "ArrowUp" || isLetter(event);
      if (!isOpening) return;
      if (!isLetter(event)) event.preventDefault();
      if (!this.#isOpen) this.#popover.showPopover();
      this.#opened();
      if (isLetter(event) && this.#search.hidden) this.#jump(event.key);
    });
    this.#list.addEventListener("click", ({ target }) => {
      const option = target.closest("[role=option]");
      if (option) this.#choose([...this.#list.children].indexOf(option));
    });
    for (const type of ["resize", "scroll"])
      visualViewport.addEventListener(type, () => this.#isOpen && this.#position());
  }

  get #isOpen() {
    return this.#popover.matches(":popover-open");
  }

  /** All languages, before the menu appears. */
  #fill() {
    this.#search.hidden = this.#codes.length < SEARCHED;
    this.#search.value = "";
    this.#draw();
  }

  /** Put the focus where keys go: on phones not into the field, whose keyboard hides the languages. */
  #opened() {
    if (this.#popover.contains(document.activeElement)) return;
    this.#position();
    const isTouch = matchMedia("(hover: none)").matches;
    (this.#search.hidden || isTouch ? this.#list : this.#search).focus({ preventScroll: true });
    this.#move(this.#active);
  }

  #draw() {
    const wanted = folded(this.#search.value);
    const all = this.unknown ? ["", ...this.#codes] : this.#codes;
    this.#shown = wanted ? this.#found(wanted) : all;
    this.#list.replaceChildren(...this.#shown.map((code, at) => this.#option(code, at)));
    this.#popover.dataset.empty = this.#shown.length ? "" : "No such language here";
    this.#count.textContent = !wanted ? "" : this.#shown.length === 1 ? "1 language" : `${this.#shown.length || "No"} languages`;
    this.#move(wanted ? 0 : Math.max(0, this.#shown.indexOf(this.#value)));
  }

  /** Languages of which a name contains a text, those first of which one begins with it. */
  #found(wanted) {
    const places = (code) => this.#languages.allNames(code).map((name) => folded(name).indexOf(wanted));
    const begins = (code) => places(code).includes(0);
    const contains = (code) => places(code).some((place) => place > 0);
    return [...this.#codes.filter(begins), ...this.#codes.filter((code) => !begins(code) && contains(code))];
  }

  #option(code, at) {
    const own = code && this.#languages.ownName(code);
    const name = code ? this.#languages.name(code) : this.unknown;
    const option = make("li", { id: `${this.#list.id}-${at}`, role: "option", ariaSelected: String(code === this.#value) }, name);
    if (own && own !== name) option.append(" ", make("small", { lang: code, dir: direction(code) }, own));
    return option;
  }

  /** Make an option the one that Enter chooses. */
  #move(at) {
    const options = [...this.#list.children];
    options[this.#active]?.classList.remove("active");
    this.#active = options.length ? (at + options.length) % options.length : 0;
    const option = options[this.#active];
    option?.classList.add("active");
    option?.scrollIntoView({ block: "nearest" });
    for (const element of [this.#search, this.#list]) element.setAttribute("aria-activedescendant", option?.id ?? "");
  }

  #jump(letter) {
    const starts = (code) => this.#languages.allNames(code).some((name) => folded(name).startsWith(folded(letter)));
    const order = [...this.#shown.keys()].map((at) => (at + this.#active + 1) % this.#shown.length);
    const found = order.find((at) => this.#shown[at] && starts(this.#shown[at]));
    if (found !== undefined) this.#move(found);
  }

  #press(event) {
    const last = this.#shown.length - 1;
    const inList = event.target === this.#list;
    const to = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: Math.min(this.#active + PAGE, last),
      PageUp: Math.max(this.#active - PAGE, 0),
      ...(inList && { Home: 0, End: last }),
    }[event.key];
    if (to !== undefined) this.#move(to);
    else if (event.key === "Enter" || (inList && event.key === " ")) this.#choose(this.#active);
    else if (inList && isLetter(event)) {
      if (this.#search.hidden) return this.#jump(event.key);
      return this.#search.focus(); // which gets the letter
    } else return;
    event.preventDefault();
  }

  #choose(at) {
    const code = this.#shown[at];
    if (code === undefined) return;
    this.#popover.hidePopover();
    this.#button.focus();
    if (code === this.#value) return;
    this.value = code;
    this.onChoose();
  }

  /** Below the button; style sheets give it the whole width on phones. */
  #position() {
    const { left, bottom, width } = this.#button.getBoundingClientRect();
    const room = visualViewport.height + visualViewport.offsetTop - bottom - 8;
    for (const [name, value] of Object.entries({ left, top: bottom, width, room }))
      this.#popover.style.setProperty(`--${name}`, `${Math.round(value)}px`);
  }
}

const isLetter = ({ key, ctrlKey, altKey, metaKey }) =>
  [...key].length === 1 && key !== " " && !ctrlKey && !altKey && !metaKey;

/** A text without accents and capitals. */
const folded = (text) => text.trim().normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
