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

const segmenters = new Map(); // language -> its segmenter, which takes time to make

function segmenter(language) {
  if (!segmenters.has(language)) {
    const options = { granularity: "word" };
    let found;
    try {
      found = new Intl.Segmenter(language || undefined, options);
    } catch {
      found = new Intl.Segmenter(undefined, options); // a code that is no BCP 47 tag
    }
    segmenters.set(language, found);
  }
  return segmenters.get(language);
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

const RTL_LETTER = /[\p{Script=Adlam}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Mandaic}\p{Script=Nko}\p{Script=Hanifi_Rohingya}\p{Script=Samaritan}\p{Script=Syriac}\p{Script=Thaana}]/u;
const LETTER = /\p{L}/gu;

/** Whether a text may be written in a direction: it has a letter of such a script, or no letters. */
export function fits(text, side) {
  const letters = text.match(LETTER) ?? [];
  return !letters.length || letters.some((letter) => RTL_LETTER.test(letter) === (side === "rtl"));
}

const PAUSE = 350; // milliseconds without a key
const PAUSE_PER_CHARACTER = 0.05; // long texts are not sent with every word
const LONGEST_PAUSE = 1500;

/** How long somebody who types has to pause before the text is translated, in milliseconds. */
export const typingPause = (length) => Math.min(PAUSE + length * PAUSE_PER_CHARACTER, LONGEST_PAUSE);
