// Files: sent, translated by the server in the background, and fetched.  They outlast the page.

import * as api from "./api.js";
import { byId, icon, iconButton, make } from "./elements.js";
import * as jobs from "./jobs.js";
import { reason, sentence } from "./messages.js";
import { Patience } from "./retrying.js";

const FIRST_WAIT = 500; // milliseconds between questions about a file
const LONGEST_WAIT = 5000;
const { suffixes, formats, bytes, hours } = document.documentElement.dataset;
const lacking = new Set(); // tasks that the server refuses for want of a key
let sending = 0;

/**
 * Translate the files that are chosen or dropped, and go on with those of earlier visits.
 * @param {() => {source: string, target: string, glossary: object}} options Those of the moment.
 */
export function connectFiles(options) {
  const field = byId("file");
  const drop = byId("drop");
  const add = (files) => {
    for (const file of files) new Task(file.name, { file, options });
  };
  field.accept = suffixes;
  byId("file-help").textContent = `${formats}; up to ${size(bytes)} each.`;
  field.addEventListener("change", () => {
    add(field.files);
    field.value = "";
  });
  // A file that misses the field would otherwise replace the page; text is for the fields.
  const keep = (event) => event.dataTransfer.types.includes("Files") && event.preventDefault();
  addEventListener("dragover", keep);
  addEventListener("drop", keep);
  const mark = (event) => drop.classList.toggle("over", event.type === "dragover");
  for (const type of ["dragover", "dragleave", "drop"]) drop.addEventListener(type, mark);
  drop.addEventListener("drop", (event) => add(event.dataTransfer.files));
  addEventListener("beforeunload", (event) => sending && event.preventDefault());
  for (const job of jobs.kept()) new Task(job.name, { job });
}

/** Go on with files that were refused for want of a key. */
export function goOnWithKey() {
  for (const task of lacking) task.start();
}

/** One file on its way, and its row. */
class Task {
  #controller;

  /** @param {{file?: File, options?: () => object, job?: object}} given A file to send, or one that the server has. */
  constructor(name, { file, options, job }) {
    Object.assign(this, { name, file, job, options });
    this.chosen = options?.(); // with the file, not when it is sent again
    this.row = new Row(name, () => this.#remove());
    byId("jobs").prepend(this.row.element);
    this.start();
  }

  async start() {
    lacking.delete(this);
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    this.row.begin();
    try {
      this.job ??= await this.#send(signal);
      const found = await this.#finished(signal);
      this.row.finish(found.characters, () => this.#fetch(found.name));
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  async #send(signal) {
    check(this.file);
    if (!this.chosen.target) this.chosen = this.options();
    if (!this.chosen.target) throw new Error("The languages of the server are not known yet.");
    this.row.say("Sending…");
    sending += 1;
    try {
      // A connection that breaks may break after the server has the file.
      const isSafe = ({ kind }) => kind !== "cut_off" && (kind !== "offline" || !navigator.onLine);
      const patience = new Patience({ longest: Infinity });
      const job = await this.#patiently(() => api.sendDocument(this.file, this.chosen, signal), patience, signal, isSafe);
      return jobs.keep(job, this.name);
    } finally {
      sending -= 1;
    }
  }

  /** Wait until the file is translated; what the server then says of it. */
  async #finished(signal) {
    const patience = new Patience({ free: true, longest: Infinity });
    for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
      const found = await this.#patiently(() => api.documentState(this.job, signal), patience, signal);
      patience.reset();
      if (found.state === "done") return found;
      if (found.state === "error") throw new JobError(sentence(found.message || "The file could not be translated"));
      this.row.say(found.state === "queued" ? "Waiting…" : "Translating…", found.progress);
      await sleep(wait, signal);
    }
  }

  /** Ask again, for as long as this may help and is safe. */
  async #patiently(ask, patience, signal, isSafe = () => true) {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const seconds = signal.aborted || !isSafe(error) ? null : patience.after(error);
        if (seconds === null) throw error;
        this.row.say(`${reason(error)} Waiting…`);
        await sleep(seconds * 1000, signal);
      }
    }
  }

  /** Save the translated file; what went wrong, "" if nothing did, null if the file is gone. */
  async #fetch(name) {
    try {
      download(await api.documentResult(this.job), name);
      return "";
    } catch (error) {
      if (error.kind !== "not_found") return reason(error);
      this.#fail(error);
      return null;
    }
  }

  /** Say what went wrong; unless that is final, offer to try again. */
  #fail(error) {
    const isGone = this.job && error.kind === "not_found";
    if (isGone) jobs.forget(this.job);
    const isFinal = isGone || error instanceof JobError;
    const isDoubtful = !this.job && ["timed_out", "offline", "cut_off"].includes(error.kind);
    let text = reason(error);
    if (isGone) text = `The server has deleted this file, since it keeps files for ${hours} hours.`;
    else if (isDoubtful && error.kind === "timed_out") text = "The server did not answer in time.";
    if (isDoubtful) text += " It may have the file nevertheless.";
    this.row.fail(text, isFinal ? null : () => this.start());
    if (error.kind === "forbidden" || error.kind === "bad_key") lacking.add(this);
  }

  #remove() {
    this.#controller.abort();
    lacking.delete(this);
    if (this.job) jobs.forget(this.job);
    this.row.replace(this.name, () => {
      if (this.job) jobs.keep(this.job, this.name);
      this.start();
    });
  }
}

/** An error that the same file meets again. */
class JobError extends Error {}

function check(file) {
  if (!suffixes.split(",").some((suffix) => file.name.toLowerCase().endsWith(suffix)))
    throw new JobError("Files of this kind are not translated.");
  if (file.size > Number(bytes)) throw new JobError(`The file is larger than ${size(bytes)}.`);
  if (!file.size) throw new JobError("The file is empty.");
}

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", reject);
  });
}

/** The list's entry of a file. */
class Row {
  constructor(name, onRemove) {
    this.state = make("span", { className: "state", role: "status" });
    this.progress = make("progress", { ariaLabel: `Progress of ${name}` });
    this.remove = iconButton("clear", `Remove ${name}`, onRemove);
    this.actions = make("div", { className: "actions" });
    const title = make("b", { dir: "auto", title: name }, name);
    this.element = make("li", {}, icon("file"), make("div", {}, title, this.state, this.progress), this.actions);
  }

  begin() {
    this.#end("", { actions: [this.remove], ended: false });
  }

  /** @param {number | null} [share] That is done, from 0 to 1; without: unknown. */
  say(text, share = null) {
    if (this.state.textContent !== text) this.state.textContent = text;
    if (share === null) this.progress.removeAttribute("value");
    else this.progress.value = share;
  }

  /** @param {(() => void) | null} retry */
  fail(text, retry) {
    const again = retry && make("button", { className: "button", onclick: retry }, "Try again");
    this.#end(text, { actions: [again, this.remove], failed: true });
  }

  /** @param {() => Promise<string | null>} onDownload What went wrong; null: it is said already. */
  finish(characters, onDownload) {
    const show = (problem) => {
      const text = problem || `Done: ${characters.toLocaleString("en")} characters`;
      if (problem !== null) this.#end(text, { actions: [button, this.remove], failed: Boolean(problem) });
    };
    const onclick = async () => show(await onDownload());
    const button = make("button", { className: "button primary", onclick }, icon("download"), "Download");
    show("");
  }

  /** Show that the file is removed, and let this be taken back. */
  replace(name, restore) {
    const back = () => {
      removed.replaceWith(this.element);
      restore();
      this.remove.focus();
    };
    const undo = make("button", { className: "button", onclick: back }, "Undo");
    const removed = make("li", { className: "removed" }, make("span", {}, make("bdi", {}, name), " is removed"), undo);
    document.querySelector("#jobs .removed")?.remove(); // the one before
    this.element.replaceWith(removed);
    undo.focus();
  }

  #end(text, { actions, failed = false, ended = true }) {
    this.state.textContent = text;
    this.progress.hidden = ended;
    this.element.classList.toggle("error", failed);
    const [focused] = actions.filter((one) => one === document.activeElement);
    this.actions.replaceChildren(...actions.filter(Boolean));
    focused?.focus();
  }
}

function download(content, name) {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function size(count) {
  const [unit, name] = count >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
  return `${+(count / unit).toFixed(1)} ${name}`;
}
