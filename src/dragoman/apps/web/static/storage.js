// What the browser keeps for this page.  Without storage (private windows, policies) nothing is kept.

const PREFIX = "dragoman.";

export function load(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keep a value; null forgets it. */
export function save(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // It then holds until the page is closed.
  }
}
