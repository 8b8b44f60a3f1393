// A text on its way: its sentences come one by one, and after a failure it goes on where it broke off.

import { Refusal, stream } from "./api.js";
import { countCharacters, offsets } from "./text.js";

export class Translation {
  #starts;
  #end = 0; // characters of the text that are translated

  /**
   * @param {string} text
   * @param {string} source Its language; "": it is detected.
   * @param {string} target
   */
  constructor(text, source, target) {
    Object.assign(this, { text, source, target, isDetected: !source, isComplete: false });
    this.#starts = offsets(text);
  }

  get isBegun() {
    return this.#end > 0;
  }

  /** The part that is not translated; of a complete text, the white space at its end. */
  get rest() {
    return this.text.slice(this.#starts[this.#end]);
  }

  /**
   * Ask for the sentences that are missing.
   * @param {(source: string) => object} termsFrom The terms for a language, which may be known only later.
   * @param {AbortSignal} signal
   * @param {(sentence: object) => void} onSentence Gets each one as `Output` takes it.
   */
  async goOn(termsFrom, signal, onSentence) {
    while (this.rest.trim() && !(await this.#read(termsFrom, signal, onSentence)));
    this.isComplete = true;
  }

  /** Read one answer; false if the language needs other terms than those that were sent. */
  async #read(termsFrom, signal, onSentence) {
    const glossary = termsFrom(this.source);
    const base = this.#end;
    const request = { text: this.rest, source: this.source || null, target: this.target, glossary, links: true };
    let targetEnd = 0;
    for await (const event of stream(request, signal)) {
      if (event.kind === "start") {
        if (event.source === this.target) throw new Refusal("same_language");
        this.source = event.source;
        if (JSON.stringify(termsFrom(this.source)) !== JSON.stringify(glossary)) return false;
      } else {
        const { source, start, target_start: targetStart, renderings } = event.sentence;
        const [from, to] = [this.#starts[this.#end], this.#starts[base + start]];
        // Between languages of which one has no spaces, the server adds them.
        const before = this.text.slice(from, to) || " ".repeat(targetStart - targetEnd);
        targetEnd = targetStart + countCharacters(renderings[0].text);
        this.#end = base + start + countCharacters(source);
        onSentence({ source, start: to, before, rendering: renderings[0], text: this.text });
      }
    }
    return true;
  }
}
