// What the server translates into what, and the two fields that choose it.

const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });

export class Languages {
  #targets = new Map();
  #names = new Map();

  /** @param {{code: string, name: string, targets: string[]}[]} found */
  constructor(found) {
    for (const { code, name, targets } of found) {
      this.#names.set(code, name);
      if (targets.length) this.#targets.set(code, targets);
    }
  }

  /** What a language is called. */
  name(code) {
    try {
      return names.of(code) ?? this.#names.get(code) ?? code;
    } catch {
      return this.#names.get(code) ?? code; // no BCP 47 tag
    }
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

  #sorted(codes) {
    return codes.sort((one, other) => this.name(one).localeCompare(this.name(other), "en"));
  }
}

/** Fill a field with languages, after what is `first`, and keep its choice if that is among them. */
export function fill(field, codes, languages, ...first) {
  const chosen = field.value;
  const options = codes.map((code) => new Option(languages.name(code), code));
  field.replaceChildren(...first, ...options);
  field.value = codes.includes(chosen) ? chosen : (field.options[0]?.value ?? "");
}
