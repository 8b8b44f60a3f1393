// Why something was not done, in words for people.

import { hasKey } from "./api.js";

const REASONS = {
  offline: () => (navigator.onLine ? "The server cannot be reached." : "You are offline."),
  cut_off: () => "The connection broke off.",
  busy: () => "The server is busy.",
  too_many_requests: () => "There were too many requests in a short time.",
  timed_out: () => "The translation took too long.",
  too_large: () => "This is longer than the server allows.",
  quota_exceeded: () => "Your API key has used up its characters for this month.",
  forbidden: () => (hasKey() ? "The server does not accept your API key." : "This server requires an API key."),
  bad_key: () => "The API key has characters that no key has; copy it again.",
  not_found: () => "The server does not know this request; load the page again.",
  no_model: () => "This server has no model yet.",
  sign_in: () => "Access needs a sign-in: open this page in another tab, sign in, and try again.",
  denied: () => "Something between this page and the server refuses the request.",
  foreign: () => "The answer does not come from the server: open this page in another tab to see why, then try again.",
  fault: () => "This page made an error; load it again.",
  internal: ({ number }) =>
    `The server failed.${number && ` If this goes on, give its number to whoever runs the server: ${number}.`}`,
};

/** Why a request was refused, as sentences.  Other errors are told as they are. */
export function reason(error) {
  return REASONS[error.kind]?.(error) ?? sentence(error.message || "The server refuses the request");
}

/** A message of the server as a sentence. */
export function sentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** When somebody may try again. */
export function after(seconds) {
  if (seconds < 100) return seconds === 1 ? "in 1 second" : `in ${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 100 ? `in ${minutes} minutes` : `in ${Math.ceil(minutes / 60)} hours`;
}
