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

/** Ask for something, and read the whole answer: "json" or a "blob". */
async function call(path, { as = "json", ...options } = {}) {
  const headers = withKey(options.headers);
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options, headers });
    if (response.ok) return await response[as]();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    // Such as the page of a proxy that asks for a password.
    if (error instanceof SyntaxError) throw new Refusal("invalid", "The answer is not from the server; load the page again.");
    throw new Refusal("offline", "The server cannot be reached.", 5);
  }
  throw refusal(response, await response.json().catch(() => null));
}

function withKey(headers) {
  try {
    return new Headers({ ...headers, ...(key && { Authorization: `Bearer ${key}` }) });
  } catch {
    throw new Refusal("forbidden", "The API key has characters that no key has; copy it again.");
  }
}

/** What an answer that is no success says; it may come from a proxy in front of the server. */
function refusal({ status, headers }, body) {
  const problem = body?.error ?? {};
  const isUsedUp = problem.kind === "quota_exceeded"; // until the month ends
  const passing = (status === 429 || status >= 502) && !isUsedUp;
  let seconds = isUsedUp ? NaN : wait(headers.get("Retry-After") ?? problem.retry_after);
  if (Number.isNaN(seconds) && passing) seconds = 5;
  return new Refusal(
    problem.kind ?? (passing ? "busy" : "invalid"),
    problem.message ?? `The server answered with an error (${status}).`,
    Number.isFinite(seconds) ? Math.max(1, seconds) : null,
  );
}

/** The seconds that an answer asks for, as a number or a date (RFC 9110, 10.2.3); NaN if it does not. */
function wait(given) {
  const seconds = Number(given ?? NaN);
  return Number.isNaN(seconds) ? (Date.parse(given) - Date.now()) / 1000 : seconds;
}

const post = (path, body, signal) =>
  call(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });

export const languages = async () => (await call("v1/languages")).languages;

/** One translated text; `request` has the fields of POST /v1/translate. */
export const translate = async (request, signal) => (await post("v1/translate", request, signal)).translations[0];

/** Languages that a text may be in, the most probable first. */
export const detect = async (text) => (await post("v1/detect", { text })).detections[0];

export const correct = (correction) => post("v1/corrections", correction);

/** Send a file to be translated. */
export function sendDocument(file, { source, target, glossary }, signal) {
  const body = new FormData();
  body.set("file", file, file.name);
  body.set("target", target);
  if (source) {
    body.set("source", source);
    body.set("glossary", JSON.stringify(glossary));
  }
  return call("v1/documents", { method: "POST", body, signal });
}

const askFor = ({ id, secret }, rest, options) =>
  call(`v1/documents/${encodeURIComponent(id)}${rest}`, { headers: { "Document-Secret": secret }, ...options });

export const documentState = (job, signal) => askFor(job, "", { signal });

export const documentResult = (job) => askFor(job, "/result", { as: "blob" });
