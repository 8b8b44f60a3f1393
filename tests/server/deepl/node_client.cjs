// What DeepL's own client for Node gets from a server: one line of JSON for each call.
// Usage: node deepl_node_client.cjs ADDRESS FOLDER
const fs = require("fs");
const path = require("path");
const deepl = require("deepl-node");

const [address, folder] = process.argv.slice(2);
const client = new deepl.DeepLClient("any:fx", { serverUrl: address, maxRetries: 0 });
const entries = (given) => new deepl.GlossaryEntries({ entries: given });
const dictionary = (sourceLangCode, targetLangCode, given) => ({
  sourceLangCode,
  targetLangCode,
  entries: entries(given),
});
const file = (name, content) => {
  const place = path.join(folder, name);
  fs.writeFileSync(place, content);
  return place;
};
const translated = async (name, content, source, target, options) => {
  const output = path.join(folder, `new-${name}`);
  await client.translateDocument(file(name, content), output, source, target, options);
  return fs.readFileSync(output, "utf8");
};

async function run(name, call) {
  let line;
  try {
    line = { name, result: (await call()) ?? null };
  } catch (error) {
    line = { name, error: error.constructor.name, message: error.message };
  }
  console.log(JSON.stringify(line));
  return line.result;
}

async function main() {
  await run("list", () => client.translateText(["der Hund", "a dog"], null, "fr"));
  await run("options", () =>
    client.translateText("Come in", "en", "de", {
      formality: "LESS",
      splitSentences: "nonewlines",
      preserveFormatting: true,
      context: "A door.",
      modelType: "prefer_quality_optimized",
    }),
  );
  await run("no formality", () =>
    client.translateText("Hello", "en", "fr", { formality: "more" }),
  );
  await run("preferred formality", () =>
    client.translateText("Hello", "en", "fr", { formality: "prefer_more" }),
  );
  await run("lax", () => client.translateText("<a>x<b></a>", "en", "de", { tagHandling: "xml" }));
  await run("ignored", () =>
    client.translateText("Go <x>on</x>", "en", "de", { tagHandling: "xml", ignoreTags: ["x"] }),
  );
  await run("unknown target", () => client.translateText("Hello", null, "xx"));
  await run("unknown source", () => client.translateText("Hello", "xx", "de"));
  await run("usage", async () => String(await client.getUsage()).split("\n")[0]);
  await run("sources", () => client.getSourceLanguages());
  await run("targets", () => client.getTargetLanguages());
  await run("pairs", async () => (await client.getGlossaryLanguagePairs()).length);

  const single = await run("glossary", () =>
    client.createGlossary("One", "en", "de", entries({ Apple: "Apfel", "A%=&": "B&=%", Δ: "深" })),
  );
  await run("entries", async () => (await client.getGlossaryEntries(single.glossaryId)).entries());
  await run("listed", async () =>
    (await client.listGlossaries()).map((one) => one.glossaryId).includes(single.glossaryId),
  );
  await run("csv", () =>
    client.createGlossaryWithCsv("CSV", "en", "de", Buffer.from('a,b,en,de\n"c""d","e,f",en,de')),
  );
  await run("delete", () => client.deleteGlossary(single.glossaryId));
  await run("deleted", () => client.getGlossary(single.glossaryId));

  const made = await run("dictionaries", () =>
    client.createMultilingualGlossary("Many", [
      dictionary("fr", "de", { chien: "Hund" }),
      dictionary("en", "de", { dog: "Hund", cat: "Katze" }),
    ]),
  );
  const id = made.glossaryId;
  await run("no dictionaries", () => client.createMultilingualGlossary("None", []));
  await run("csv dictionary", () =>
    client.createMultilingualGlossaryWithCsv("CSV", "en", "de", "Hello,Guten Tag\nApple,Apfel"),
  );
  await run("update", () =>
    client.updateMultilingualGlossaryDictionary(id, dictionary("fr", "de", { chat: "Katze" })),
  );
  await run("update csv", () =>
    client.updateMultilingualGlossaryDictionaryWithCsv(id, "en", "de", "cow,Kuh"),
  );
  await run("rename", async () => (await client.updateMultilingualGlossaryName(id, "New")).name);
  await run("replace", () =>
    client.replaceMultilingualGlossaryDictionary(id, dictionary("en", "de", { dog: "Köter" })),
  );
  await run("dictionary entries", async () =>
    (await client.getMultilingualGlossaryDictionaryEntries(id, "en", "de")).entries.entries(),
  );
  await run("used", () => client.translateText("a dog", "en", "de", { glossary: made }));
  await run("delete dictionary", () => client.deleteMultilingualGlossaryDictionary(id, "fr", "de"));
  await run("left", async () => (await client.getMultilingualGlossary(id)).dictionaries);
  await run("listed dictionaries", async () =>
    (await client.listMultilingualGlossaries()).map((one) => one.name).includes("New"),
  );
  await run("delete glossary", () => client.deleteMultilingualGlossary(id));
  await run("deleted glossary", () => client.getMultilingualGlossary(id));
  await run("empty entries", () =>
    client.createMultilingualGlossary("Empty", [dictionary("en", "de", {})]),
  );

  await run("document", () => translated("a.txt", "Hello you", null, "de"));
  await run("same language", () => translated("b.txt", "der Hund", null, "de"));
  await run("invalid file", () => translated("c.invalid", "Hello", null, "de"));
  await run("no document", () =>
    client.getDocumentStatus({ documentId: "1234".repeat(8), documentKey: "5678".repeat(16) }),
  );
  await run("rephrase", () => client.rephraseText("Hello", "de"));
  await run("style rules", () => client.getAllStyleRules());
  await run("memories", () => client.listTranslationMemories());
}

main();
