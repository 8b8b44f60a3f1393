// Files: sent, translated by the server in the background, and fetched.

import * as api from "./api.js";
import { byId, icon, iconButton, make } from "./elements.js";

const FIRST_WAIT = 500; // milliseconds between questions about a file
const LONGEST_WAIT = 5000;
const { suffixes, bytes } = document.documentElement.dataset;

export class Files {
  #direction;

  /** @param {() => {source: string, target: string}} direction That is chosen now. */
  constructor(direction) {
    this.#direction = direction;
    const field = byId("file");
    const drop = byId("drop");
    field.accept = suffixes;
    byId("file-help").textContent = `${suffixes.replaceAll(",", ", ")}; up to ${size(bytes)} each`;
    field.addEventListener("change", () => {
      this.#addAll(field.files);
      field.value = "";
    });
    // A file that misses the field would otherwise replace the page.
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => event.preventDefault());
    drop.addEventListener("dragover", () => drop.classList.add("over"));
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      drop.classList.remove("over");
      this.#addAll(event.dataTransfer.files);
    });
  }

  #addAll(files) {
    for (const file of files) translateFile(file, this.#direction());
  }
}

/** Translate one file, and show how far it is. */
async function translateFile(file, { source, target }) {
  const controller = new AbortController();
  const row = new Row(file, () => controller.abort());
  try {
    check(file);
    row.say("Sending…", 0);
    const job = await patiently(
      () => api.sendDocument(file, source, target, (share) => row.say("Sending…", share), controller.signal),
      row,
      controller.signal,
    );
    row.finish(job, await finished(job, row, controller.signal));
  } catch (error) {
    if (!controller.signal.aborted) row.fail(error.message);
  }
}

function check(file) {
  const known = suffixes.split(",");
  if (!known.some((suffix) => file.name.toLowerCase().endsWith(suffix)))
    throw new Error(`Files of this kind are not translated; these are: ${known.join(", ")}`);
  if (file.size > Number(bytes)) throw new Error(`The file is larger than ${size(bytes)}.`);
  if (!file.size) throw new Error("The file is empty.");
}

/** Wait until a file is translated; what the server then says of it. */
async function finished(job, row, signal) {
  for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
    const state = await patiently(() => api.documentState(job, signal), row, signal);
    if (state.state === "done") return state;
    if (state.state === "error") throw new Error(state.message || "The file could not be translated.");
    row.say(state.state === "queued" ? "Waiting…" : "Translating…", state.progress ?? null);
    await sleep(wait, signal);
  }
}

/** Ask again, as long as the server says that this may help. */
async function patiently(ask, row, signal) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !error.retryAfter) throw error;
      row.say(error.kind === "offline" ? "No connection; trying again…" : "The server is busy; waiting…", null);
      await sleep(error.retryAfter * 1000, signal);
    }
  }
}

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** What the list shows of a file. */
class Row {
  constructor(file, onCancel) {
    this.state = make("span", { className: "state", role: "status" });
    this.progress = make("progress", { max: 1, ariaLabel: `Progress of ${file.name}` });
    this.actions = make("div", { className: "actions" });
    this.actions.append(
      iconButton("clear", `Remove ${file.name}`, () => {
        onCancel();
        this.element.remove();
        byId("file").focus();
      }),
    );
    const name = make("b", { dir: "auto" }, file.name);
    this.element = make("li", {}, icon("file"), make("div", {}, name, this.state, this.progress), this.actions);
    byId("jobs").prepend(this.element);
  }

  /** @param {number | null} share From 0 to 1; null: unknown. */
  say(text, share) {
    if (this.state.textContent !== text) this.state.textContent = text;
    if (share === null) this.progress.removeAttribute("value");
    else this.progress.value = share;
  }

  fail(text) {
    this.element.classList.add("error");
    this.state.textContent = text;
    this.progress.remove();
  }

  finish(job, { name, characters }) {
    this.progress.remove();
    const count = new Intl.NumberFormat("en").format(characters);
    this.state.textContent = `Done: ${count} characters`;
    const button = make("button", { type: "button", className: "button primary" }, icon("download"), "Download");
    let content = null; // servers may give it only once
    button.addEventListener("click", async () => {
      try {
        content ??= await api.documentResult(job);
        download(content, name);
      } catch (error) {
        this.fail(error.message);
      }
    });
    this.actions.prepend(button);
  }
}

function download(content, name) {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function size(count) {
  const megabytes = Number(count) / 1e6;
  return megabytes >= 1 ? `${+megabytes.toFixed(1)} MB` : `${+(Number(count) / 1e3).toFixed(1)} kB`;
}
