// The part of the address behind "#", which browsers do not send to servers: languages and text.

const LONGEST = 4000; // characters of an address that programs pass on undamaged

/** @returns {{source: string, target: string, text: string}} */
export function read() {
  const found = new URLSearchParams(location.hash.slice(1));
  return { source: "", target: "", text: "", ...Object.fromEntries(found) };
}

/** Show what is on the page; false if the text is too long for an address, which then lacks it. */
export function write({ source, target, text }) {
  const parts = new URLSearchParams({ source, target, text });
  const fits = parts.toString().length <= LONGEST;
  if (!text || !fits) parts.delete("text");
  try {
    history.replaceState(null, "", `#${parts}`);
  } catch {
    // Some browsers refuse many in a short time, as while a key is held; a later one catches up.
  }
  return fits;
}
