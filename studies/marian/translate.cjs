// node translate.cjs WORKER MODEL LINES VOCAB...: translate lines with Marian, greedily, in float32.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { Worker } = require("node:worker_threads");

const [folder, model, lines, ...vocabs] = process.argv.slice(2);
const worker = new Worker(join(folder, "translator-worker.js"), { stdout: true });
const waiting = new Map();
worker.on("message", ({ id, result, error }) => {
  const [resolve, reject] = waiting.get(id);
  if (error) reject(error);
  else resolve(result);
});
worker.on("error", (error) => { throw error; });

function call(name, ...args) {
  const id = waiting.size + 1;
  return new Promise((resolve, reject) => {
    waiting.set(id, [resolve, reject]);
    worker.postMessage({ id, name, args });
  });
}

function content(path) {
  const read = readFileSync(path);
  return read.buffer.slice(read.byteOffset, read.byteOffset + read.byteLength);
}

async function main() {
  const pair = { from: "source", to: "target" };
  const texts = readFileSync(lines, "utf8").trimEnd().split("\n");
  await call("initialize", {});
  await call("loadTranslationModel", pair, {
    model: content(model),
    shortlist: new ArrayBuffer(0),
    vocabs: vocabs.map(content),
    config: { "gemm-precision": "float32", "beam-size": "1" },
  });
  const found = await call("translate", {
    models: [pair],
    texts: texts.map((text) => ({ text, html: false })),
  });
  for (const one of found) console.log(one.target.text.trim());
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
