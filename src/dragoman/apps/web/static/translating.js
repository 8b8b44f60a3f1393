// Requests as somebody types: late enough not to disturb, each of which ends the one before.

import { Refusal } from "./api.js";

const PAUSE = 350; // milliseconds without a key
const PAUSE_PER_CHARACTER = 0.05; // long texts are not sent with every word
const LONGEST_PAUSE = 1500;
const LONGEST_RETRY = 60; // seconds

export class Translating {
  #ask;
  #events;
  #timer = 0;
  #controller = null;
  #failures = 0;

  /**
   * @param {(signal: AbortSignal) => Promise<object>} ask Sends the request.
   * @param {{onStart: () => void, onResult: (result: object) => void,
   *          onRefusal: (error: Refusal, seconds: number | null) => void}} events
   *   `onRefusal` also gets the seconds after which the request is sent again; null if it is not.
   */
  constructor(ask, events) {
    this.#ask = ask;
    this.#events = events;
  }

  /** Translate soon, or at once if the text did not come key by key. */
  schedule(length, { now = false } = {}) {
    this.cancel();
    const pause = Math.min(PAUSE + length * PAUSE_PER_CHARACTER, LONGEST_PAUSE);
    this.#timer = setTimeout(() => this.#run(), now ? 0 : pause);
  }

  /** Forget what is asked for. */
  cancel() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
    this.#controller = null;
  }

  async #run() {
    const controller = new AbortController();
    this.#controller = controller;
    this.#events.onStart();
    try {
      const result = await this.#ask(controller.signal);
      if (controller.signal.aborted) return;
      this.#failures = 0;
      this.#events.onResult(result);
    } catch (error) {
      if (controller.signal.aborted) return;
      this.#refused(error instanceof Refusal ? error : new Refusal("invalid", String(error)));
    }
  }

  #refused(error) {
    let seconds = error.retryAfter;
    if (seconds !== null) {
      seconds = Math.min(Math.ceil(seconds * 2 ** this.#failures), LONGEST_RETRY);
      this.#failures = Math.min(this.#failures + 1, 5);
      this.#timer = setTimeout(() => this.#run(), seconds * 1000);
    }
    this.#events.onRefusal(error, seconds);
  }
}
