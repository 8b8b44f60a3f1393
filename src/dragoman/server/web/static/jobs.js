// Files that the server has, kept in this browser with the secrets that fetch them.

import { load, save } from "./storage.js";

const MOST = 50;

/** Files that were sent and not removed: `id`, `secret` and `name` of each, the oldest first. */
export const kept = () => load("jobs", []);

export function keep({ id, secret }, name) {
  const job = { id, secret, name };
  save("jobs", [...others(id), job].slice(-MOST)); // those of other windows included
  return job;
}

export function forget({ id }) {
  const left = others(id);
  save("jobs", left.length ? left : null);
}

const others = (id) => kept().filter((job) => job.id !== id);
