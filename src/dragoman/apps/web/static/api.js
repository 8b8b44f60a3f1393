// The server's own API, /v1.  Addresses are relative, for servers behind a proxy with a prefix.

import { load, save } from "./storage.js";

let key = load("key", "");

export const hasKey = () => key !== "";

/** Keep the key that requests bring along; "" forgets it. */
export function setKey(value) {
  key = value;
  save("key", value || null);
}

/** Why a request was not answered.  `kind` is the server's, or "offline" if it was not reached. */
export class Refusal extends Error {
  constructor(kind, message, retryAfter = null) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter; // seconds; null: the same request never succeeds
  }
}

/** What an answer that is no success says. */
export function refusal(status, headers, body) {
  let problem = {};
  try {
    problem = JSON.parse(body).error ?? {};
  } catch {
    // From a proxy in front of the server, for example.
  }
  const passing = status === 429 || status >= 502;
  const seconds = Number(headers.get("Retry-After") ?? problem.retry_after ?? (passing ? 5 : NaN));
  return new Refusal(
    problem.kind ?? (passing ? "busy" : "invalid"),
    problem.message ?? `The server answered with an error (${status}).`,
    Number.isFinite(seconds) ? Math.max(1, seconds) : null,
  );
}

const headers = (more = {}) => (key ? { ...more, Authorization: `Bearer ${key}` } : more);

async function call(path, { method = "GET", body, signal, more = {} } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: headers(body ? { ...more, "Content-Type": "application/json" } : more),
      body: body && JSON.stringify(body),
      cache: "no-store",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("offline", "The server cannot be reached.", 5);
  }
  if (!response.ok) throw refusal(response.status, response.headers, await response.text());
  return response;
}

const json = async (path, options) => (await call(path, options)).json();

export const languages = async () => (await json("v1/languages")).languages;

/** One translated text; `request` has the fields of POST /v1/translate. */
export async function translate(request, signal) {
  const answer = await json("v1/translate", { method: "POST", body: request, signal });
  return answer.translations[0];
}

/** Languages that a text may be in, the most probable first. */
export async function detect(text, signal) {
  return (await json("v1/detect", { method: "POST", body: { text }, signal })).detections[0];
}

export const correct = (correction) => json("v1/corrections", { method: "POST", body: correction });

/**
 * Send a file to be translated.
 * @param onProgress Called with the share that is sent, from 0 to 1.
 */
export function sendDocument(file, source, target, onProgress, signal) {
  const form = new FormData();
  form.set("file", file, file.name);
  form.set("target", target);
  if (source) form.set("source", source);
  // fetch does not tell how much it has sent.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.upload.onprogress = (event) => onProgress(event.loaded / (event.total || 1));
    request.onerror = () => reject(new Refusal("offline", "The server cannot be reached.", 5));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    request.onload = () => {
      const found = { get: (name) => request.getResponseHeader(name) };
      if (request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(refusal(request.status, found, request.responseText));
    };
    signal.addEventListener("abort", () => request.abort());
    request.open("POST", "v1/documents");
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.send(form);
  });
}

const shown = (job) => ({ "Document-Secret": job.secret });
const place = (job) => `v1/documents/${encodeURIComponent(job.id)}`;

export const documentState = (job, signal) => json(place(job), { more: shown(job), signal });

export async function documentResult(job) {
  return (await call(`${place(job)}/result`, { more: shown(job) })).blob();
}
