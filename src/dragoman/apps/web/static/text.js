// Positions and words of a text.  The server counts characters (code points), JavaScript UTF-16 units.

/** Where each character of a text begins, in UTF-16 units; the last entry is the text's length. */
export function offsets(text) {
  const starts = [0];
  for (const character of text) starts.push(starts.at(-1) + character.length);
  return starts;
}

/** How many characters a text has, as the server counts them. */
export const countCharacters = (text) => [...text].length;

/**
 * A text in parts: words, and what is between them.
 * @returns {{text: string, start: number, end: number, isWord: boolean}[]} In UTF-16 units.
 */
export function segments(text, language) {
  return [...segmenter(language).segment(text)].map(({ segment, index, isWordLike }) => ({
    text: segment,
    start: index,
    end: index + segment.length,
    isWord: isWordLike,
  }));
}

function segmenter(language) {
  const options = { granularity: "word" };
  try {
    return new Intl.Segmenter(language || undefined, options);
  } catch {
    return new Intl.Segmenter(undefined, options); // a code that is no BCP 47 tag
  }
}

const RIGHT_TO_LEFT = new Set(["Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"]);

/** The direction that a language is written in: "ltr" or "rtl"; "auto" for an unknown one. */
export function direction(language) {
  if (!language) return "auto";
  try {
    return RIGHT_TO_LEFT.has(new Intl.Locale(language).maximize().script) ? "rtl" : "ltr";
  } catch {
    return "auto";
  }
}
