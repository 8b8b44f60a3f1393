// The server's own API, /v1.  Addresses are relative, for servers behind a proxy with a prefix.

import { LASTING, load, save, SESSION } from "./storage.js";

const LONGEST_ANSWER = (Number(document.documentElement.dataset.seconds) + 30) * 1000; // milliseconds

let key = load("key", "", SESSION) || load("key", "");

export const hasKey = () => key !== "";

/** Keep the key that requests bring along, for this tab or for later visits; "" forgets it. */
export function setKey(value, { remember = false } = {}) {
  key = value;
  save("key", remember ? null : value || null, SESSION);
  save("key", remember ? value || null : null, LASTING);
}

/**
 * Why a request was not answered.  `kind` is the server's or, if the answer was not the server's:
 * "offline" (not reached), "cut_off" (the answer broke off), "foreign" (somebody else answered),
 * "sign_in" and "denied" (a proxy), "bad_key" (cannot be sent).  `retryAfter` is in seconds, null if unknown.
 */
export class Refusal extends Error {
  constructor(kind, message = "", { retryAfter = null, number = "" } = {}) {
    super(message);
    Object.assign(this, { kind, retryAfter, number });
  }
}

/** Send a request; its answer once that has begun, if it is a success. */
async function send(path, { as: sent = key, signal, lasting = false, ...options } = {}) {
  const headers = withKey(options.headers, sent);
  const signals = [signal, !lasting && AbortSignal.timeout(LONGEST_ANSWER)].filter(Boolean);
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options, headers, signal: AbortSignal.any(signals) });
  } catch (error) {
    throw broken(error);
  }
  if (response.ok) return response;
  throw refusal(response, await response.json().catch(() => null));
}

async function json(path, options) {
  const response = await send(path, options);
  return response.json().catch((error) => {
    throw broken(error, "cut_off");
  });
}

/** A failure of the connection as a refusal; requests that the page itself ends stay errors. */
function broken(error, kind = "offline") {
  if (error.name === "AbortError" || error instanceof Refusal) return error;
  if (error.name === "TimeoutError") return new Refusal("timed_out");
  // Such as the page of a proxy that asks for a password.
  return new Refusal(error instanceof SyntaxError ? "foreign" : kind);
}

function withKey(headers, sent) {
  try {
    return new Headers({ ...headers, ...(sent && { Authorization: `Bearer ${sent}` }) });
  } catch {
    throw new Refusal("bad_key");
  }
}

// Kinds of refusals that come without one, from a proxy in front of the server.
const KINDS = {
  401: "sign_in",
  403: "denied",
  404: "not_found",
  407: "sign_in",
  408: "timed_out",
  413: "too_large",
  429: "too_many_requests",
  500: "internal",
  501: "internal",
  504: "timed_out",
  524: "timed_out", // of Cloudflare
};

/** The reason that an answer gives which is no success; it may come from a proxy in front of the server. */
function refusal({ status, headers }, body) {
  const { kind, message, retry_after: given } = body?.error ?? {};
  const retryAfter = wait(headers.get("Retry-After") ?? given);
  const number = headers.get("X-Request-ID") ?? "";
  return new Refusal(kind ?? KINDS[status] ?? (status > 500 ? "busy" : "invalid"), message, { retryAfter, number });
}

/** The seconds that an answer asks for, as a number or a date (RFC 9110, 10.2.3); null if it does not. */
function wait(given) {
  let seconds = Number(given ?? NaN);
  if (Number.isNaN(seconds)) seconds = (Date.parse(given) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(1, seconds) : null;
}

const withBody = (body, signal) => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json" },
  signal,
});

/** A part of an answer, unless the answer is somebody else's. */
function part(answer, name) {
  if (!Array.isArray(answer?.[name])) throw new Refusal("foreign");
  return answer[name];
}

export const languages = async () => part(await json("v1/languages"), "languages");

/** Raise a refusal unless the server takes this key. */
export const tryKey = (value) => json("v1/languages", { as: value });

/** One translated text; `request` has the fields of POST /v1/translate. */
export const translate = async (request, signal) =>
  part(await json("v1/translate", withBody(request, signal)), "translations")[0];

/**
 * The events of a text whose sentences come one by one: "start", then each "sentence".
 * Raises what the last event tells, if that is an error.
 */
export async function* stream(request, signal) {
  const response = await send("v1/stream", withBody(request, signal));
  for await (const event of events(response.body)) {
    if (event?.kind === "end") return;
    if (event?.kind === "error") {
      const { kind, message, retry_after: retryAfter } = event.error;
      throw new Refusal(kind, message, { retryAfter, number: response.headers.get("X-Request-ID") ?? "" });
    }
    if (event?.kind !== "start" && event?.kind !== "sentence") throw new Refusal("foreign");
    yield event;
  }
  throw new Refusal("cut_off");
}

/** Lines of JSON, as they come. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = "", isDone = false; !isDone; ) {
      const { done, value = "\n" } = await reader.read();
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      isDone = done;
      for (const line of lines) if (line.trim()) yield JSON.parse(line);
    }
  } catch (error) {
    throw broken(error, "cut_off");
  } finally {
    reader.cancel().catch(() => {}); // so that the server stops; it may have ended
  }
}

/** Languages that a text may be in, the most probable first. */
export const detect = async (text) => part(await json("v1/detect", withBody({ text })), "detections")[0];

export const correct = (correction) => json("v1/corrections", withBody(correction));

/** Send a file to be translated, however long that takes. */
export function sendDocument(file, { source, target, glossary }, signal) {
  const body = new FormData();
  body.set("file", file, file.name);
  body.set("target", target);
  if (source) {
    body.set("source", source);
    body.set("glossary", JSON.stringify(glossary));
  }
  return json("v1/documents", { method: "POST", body, signal, lasting: true });
}

const ofJob = ({ id, secret }, rest = "") => [
  `v1/documents/${encodeURIComponent(id)}${rest}`,
  { headers: { "Document-Secret": secret } },
];

const STATES = ["queued", "translating", "done", "error"];

export async function documentState(job, signal) {
  const [path, options] = ofJob(job);
  const found = await json(path, { ...options, signal });
  if (!STATES.includes(found?.state)) throw new Refusal("foreign");
  return found;
}

export async function documentResult(job) {
  const [path, options] = ofJob(job, "/result");
  const response = await send(path, { ...options, lasting: true });
  if (response.headers.get("Content-Type")?.startsWith("text/html")) throw new Refusal("foreign"); // of a proxy
  return response.blob().catch((error) => {
    throw broken(error, "cut_off");
  });
}
