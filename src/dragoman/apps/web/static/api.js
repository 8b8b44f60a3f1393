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

async function call(path, options = {}) {
  const authorization = key && { Authorization: `Bearer ${key}` };
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options, headers: { ...options.headers, ...authorization } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("offline", "The server cannot be reached.", 5);
  }
  if (response.ok) return response;
  throw refusal(response, await response.json().catch(() => null));
}

/** What an answer that is no success says; it may come from a proxy in front of the server. */
function refusal({ status, headers }, body) {
  const problem = body?.error ?? {};
  const isUsedUp = problem.kind === "quota_exceeded"; // until the month ends
  const passing = (status === 429 || status >= 502) && !isUsedUp;
  const given = isUsedUp ? null : (headers.get("Retry-After") ?? problem.retry_after);
  const seconds = Number(given ?? (passing ? 5 : NaN));
  return new Refusal(
    problem.kind ?? (passing ? "busy" : "invalid"),
    problem.message ?? `The server answered with an error (${status}).`,
    Number.isFinite(seconds) ? Math.max(1, seconds) : null,
  );
}

const json = async (path, options) => (await call(path, options)).json();

const post = (path, body, signal) =>
  json(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });

export const languages = async () => (await json("v1/languages")).languages;

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
  return json("v1/documents", { method: "POST", body, signal });
}

const askFor = (call, { id, secret }, rest, signal) =>
  call(`v1/documents/${encodeURIComponent(id)}${rest}`, { headers: { "Document-Secret": secret }, signal });

export const documentState = (job, signal) => askFor(json, job, "", signal);

export const documentResult = async (job) => (await askFor(call, job, "/result")).blob();
