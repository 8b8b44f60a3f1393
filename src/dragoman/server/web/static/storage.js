// What the browser keeps for this page.  Without storage (private windows, policies) nothing is kept.

const PREFIX = "dragoman.";

export const LASTING = "localStorage";
export const SESSION = "sessionStorage"; // until the tab is closed

export function load(name, otherwise, area = LASTING) {
  try {
    return JSON.parse(window[area].getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keep a value; null forgets it. */
export function save(name, value, area = LASTING) {
  try {
    if (value === null) window[area].removeItem(PREFIX + name);
    else window[area].setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // It then holds until the page is closed.
  }
}
