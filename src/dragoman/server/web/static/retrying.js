// Requests that are repeated for as long as that may help, at growing intervals.

import { Refusal } from "./api.js";

const FIRST = 5; // seconds, for a server that asks for no other time
const LONGEST = 60;

// The same request may succeed later.  One that took too long or hit an error would only fail again, at
// the same price, unless it is free.
const PASSING = ["offline", "cut_off", "busy", "too_many_requests"];
const PASSING_IF_FREE = [...PASSING, "timed_out", "internal", "no_model"];

/** Decides whether a request that failed is sent again, and when. */
export class Patience {
  #failures = 0;

  /**
   * @param {{tries?: number, free?: boolean, longest?: number}} [bounds]
   *   `tries`: repetitions; `free`: the request charges nothing and changes nothing; `longest`: seconds that a
   *   server may ask to wait for.
   */
  constructor({ tries = Infinity, free = false, longest = LONGEST } = {}) {
    Object.assign(this, { tries, longest, kinds: free ? PASSING_IF_FREE : PASSING });
  }

  /** Seconds to wait after a refusal; null: do not send the request again. */
  after({ kind, retryAfter }) {
    const isSent = kind !== "offline" || navigator.onLine;
    if (!this.kinds.includes(kind) || (isSent && this.#failures >= this.tries)) return null;
    const given = retryAfter ?? FIRST;
    if (given > this.longest) return null;
    const seconds = Math.ceil(Math.max(given, Math.min(given * 2 ** this.#failures, LONGEST)));
    this.#failures += 1;
    return seconds;
  }

  reset() {
    this.#failures = 0;
  }
}

/** A request that may be scheduled, repeated and cancelled; a new one ends the one before. */
export class Retried {
  #ask;
  #events;
  #patience;
  #timer = 0;
  #controller = null;

  /**
   * @param {(signal: AbortSignal) => Promise<object>} ask Sends the request.
   * @param {{onStart?: () => void, onResult: (result: object) => void,
   *          onRefusal: (error: Refusal, seconds: number | null) => void}} events
   *   `onRefusal` also gets the seconds after which the request is sent again; null if it is not.
   * @param {Patience} patience
   */
  constructor(ask, events, patience) {
    this.#ask = ask;
    this.#events = events;
    this.#patience = patience;
    this.isWaiting = false; // to send again what failed
  }

  /** Send it after a pause, in milliseconds, as something new. */
  schedule(pause = 0) {
    this.cancel();
    this.#patience.reset();
    this.#timer = setTimeout(() => this.#run(), pause);
  }

  /** Send what failed again, at once. */
  now() {
    this.cancel();
    this.#run();
  }

  cancel() {
    clearTimeout(this.#timer);
    this.isWaiting = false;
    this.#controller?.abort();
    this.#controller = null;
  }

  async #run() {
    const controller = new AbortController();
    this.#controller = controller;
    this.isWaiting = false;
    this.#events.onStart?.();
    try {
      const result = await this.#ask(controller.signal);
      if (controller.signal.aborted) return;
      this.#patience.reset();
      this.#events.onResult(result);
    } catch (error) {
      if (controller.signal.aborted) return;
      if (!(error instanceof Refusal)) console.error(error);
      this.#refused(error instanceof Refusal ? error : new Refusal("fault"));
    }
  }

  #refused(error) {
    const seconds = this.#patience.after(error);
    if (seconds !== null) {
      this.isWaiting = true;
      this.#timer = setTimeout(() => this.#run(), seconds * 1000);
    }
    this.#events.onRefusal(error, seconds);
  }
}
