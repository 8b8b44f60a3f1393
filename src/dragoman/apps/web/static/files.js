// Files: sent, translated by the server in the background, and fetched.

import * as api from "./api.js";
import { byId, icon, iconButton, make } from "./elements.js";

const FIRST_WAIT = 500; // milliseconds between questions about a file
const LONGEST_WAIT = 5000;
const { suffixes, bytes } = document.documentElement.dataset;

/**
 * Translate the files that are chosen or dropped.
 * @param {() => {source: string, target: string, glossary: object}} options Those of the moment.
 */
export function connectFiles(options) {
  const field = byId("file");
  const drop = byId("drop");
  const add = (files) => {
    for (const file of files) translateFile(file, options());
  };
  field.accept = suffixes;
  byId("file-help").textContent = `${suffixes.replaceAll(",", ", ")}; up to ${size(bytes)} each`;
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
}

/** Translate one file, and show how far it is. */
async function translateFile(file, options) {
  const controller = new AbortController();
  const { signal } = controller;
  const row = new Row(file, () => controller.abort());
  try {
    check(file);
    row.say("Sending…");
    const job = await patiently(() => api.sendDocument(file, options, signal), row, signal, { once: true });
    row.finish(job, await finished(job, row, signal));
  } catch (error) {
    if (!signal.aborted) row.fail(error.message);
  }
}

function check(file) {
  if (!suffixes.split(",").some((suffix) => file.name.toLowerCase().endsWith(suffix)))
    throw new Error(`Files of this kind are not translated; these are: ${suffixes.replaceAll(",", ", ")}`);
  if (file.size > Number(bytes)) throw new Error(`The file is larger than ${size(bytes)}.`);
  if (!file.size) throw new Error("The file is empty.");
}

/** Wait until a file is translated; what the server then says of it. */
async function finished(job, row, signal) {
  for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
    const found = await patiently(() => api.documentState(job, signal), row, signal);
    if (found.state === "done") return found;
    if (found.state === "error") throw new Error(found.message || "The file could not be translated.");
    row.say(found.state === "queued" ? "Waiting…" : "Translating…", found.progress);
    await sleep(wait, signal);
  }
}

/** Ask again, as long as the server says that this may help; `once`: unless it may do what was asked already. */
async function patiently(ask, row, signal, { once = false } = {}) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      // A connection that breaks may break after the server has the file.
      const mayBeDone = once && (error.kind === "timed_out" || (error.kind === "offline" && navigator.onLine));
      if (signal.aborted || !error.retryAfter || mayBeDone) throw error;
      row.say(error.kind === "offline" ? "No connection; trying again…" : "The server is busy; waiting…");
      await sleep(error.retryAfter * 1000, signal);
    }
  }
}

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", reject);
  });
}

/** What the list shows of a file. */
class Row {
  constructor(file, onRemove) {
    this.state = make("span", { className: "state", role: "status" });
    this.progress = make("progress", { ariaLabel: `Progress of ${file.name}` });
    const remove = iconButton("clear", `Remove ${file.name}`, () => {
      onRemove();
      this.element.remove();
      byId("file").focus();
    });
    this.actions = make("div", { className: "actions" }, remove);
    const name = make("b", { dir: "auto", title: file.name }, file.name);
    this.element = make("li", {}, icon("file"), make("div", {}, name, this.state, this.progress), this.actions);
    byId("jobs").prepend(this.element);
  }

  /** @param {number | null} [share] That is done, from 0 to 1; without: unknown. */
  say(text, share = null) {
    if (this.state.textContent !== text) this.state.textContent = text;
    if (share === null) this.progress.removeAttribute("value");
    else this.progress.value = share;
  }

  /** Say how it ended. */
  end(text, { failed = false } = {}) {
    this.state.textContent = text;
    this.progress.remove();
    this.element.classList.toggle("error", failed);
  }

  fail(text) {
    this.end(text, { failed: true });
  }

  finish(job, { name, characters }) {
    const done = `Done: ${characters.toLocaleString("en")} characters`;
    this.end(done);
    let content = null; // servers may give it only once
    const fetchIt = async () => {
      try {
        content ??= await api.documentResult(job);
        this.end(done);
        download(content, name);
      } catch (error) {
        this.fail(error.message);
      }
    };
    this.actions.prepend(make("button", { className: "button primary", onclick: fetchIt }, icon("download"), "Download"));
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
