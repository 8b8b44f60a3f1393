// What the server translates into what, and how languages are called.

import { load, save } from "./storage.js";

const named = (locale) => new Intl.DisplayNames(locale, { type: "language", fallback: "none" });
const english = named("en");
const visitors = namedForVisitor();
const REMEMBERED = 5; // targets that somebody chose

export class Languages {
  #targets = new Map();
  #names = new Map();
  #allNames = new Map();

  /** @param {{code: string, name: string, targets: string[]}[]} found */
  constructor(found) {
    for (const { code, name, targets } of found) {
      this.#names.set(code, name);
      if (targets.length) this.#targets.set(code, targets);
    }
  }

  /** The name of a language in English. */
  name(code) {
    return nameIn(english, code) ?? this.#names.get(code) ?? code;
  }

  /** The name that a language has for itself; "" if that is unknown. */
  ownName(code) {
    try {
      return nameIn(named(code), code) ?? "";
    } catch {
      return ""; // no BCP 47 tag
    }
  }

  /** Everything that somebody may type to find a language. */
  allNames(code) {
    if (!this.#allNames.has(code))
      this.#allNames.set(code, [this.name(code), this.ownName(code), nameIn(visitors, code) ?? "", code]);
    return this.#allNames.get(code);
  }

  sources() {
    return this.#sorted([...this.#targets.keys()]);
  }

  /** Languages that one is translated into; without one, those that any is. */
  targets(source = "") {
    const found = source ? (this.#targets.get(source) ?? []) : [...this.#targets.values()].flat();
    return this.#sorted([...new Set(found)]);
  }

  translates(source, target) {
    return (this.#targets.get(source) ?? []).includes(target);
  }

  /** The target that somebody most probably wants for a source ("": unknown), other than that; "" if none. */
  likelyTarget(source = "") {
    const targets = this.targets(source).filter((code) => code !== source);
    const wishes = [...load("targets", []), ...navigator.languages, "en"];
    return wishes.flatMap((wish) => nearest(wish, targets))[0] ?? targets[0] ?? "";
  }

  #sorted(codes) {
    return codes.sort((one, other) => this.name(one).localeCompare(this.name(other), "en"));
  }
}

/** Keep a target that somebody chose, in front of earlier ones. */
export function rememberTarget(code) {
  const others = load("targets", []).filter((one) => one !== code);
  save("targets", [code, ...others].slice(0, REMEMBERED));
}

function namedForVisitor() {
  try {
    return named([...navigator.languages]);
  } catch {
    return english; // some systems have languages such as "en-US@posix"
  }
}

function nameIn(locale, code) {
  try {
    return locale.of(code);
  } catch {
    return undefined; // no BCP 47 tag
  }
}

/** Codes of a language, those of the same script and region first: "pt-BR" is near to pt-BR, pt and pt-PT. */
function nearest(wish, codes) {
  const parts = (code) => {
    try {
      const { language, script, region } = new Intl.Locale(code).maximize();
      return [language, script, region];
    } catch {
      return [code];
    }
  };
  const wanted = parts(wish);
  const likeness = (code) => {
    const differing = parts(code).findIndex((part, at) => part !== wanted[at]);
    return differing < 0 ? wanted.length : differing;
  };
  return codes.filter((code) => likeness(code) > 0).sort((one, other) => likeness(other) - likeness(one));
}
