// The search of a built site without a browser: the pages that it finds for each query, best first.
//     node site_search.js SITE < queries, one a line; writes one JSON list a line, or null for an error
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const site = process.argv[2];
const workers = path.join(site, "assets/javascripts/workers");
const read = (...names) => fs.readFileSync(path.join(...names), "utf8");

// What the worker finds in a browser around itself.
let receive, answered, failed;
const worker = {
  console: { log() {}, warn: () => (failed = true) },
  addEventListener: (_, listener) => (receive = listener),
  postMessage: (message) => answered(message),
};
worker.self = worker;
vm.createContext(worker);
worker.importScripts = (...names) => names.forEach((name) => vm.runInContext(read(workers, name), worker));
vm.runInContext(read(workers, fs.readdirSync(workers).find((name) => /^search.*\.js$/.test(name))), worker);

const send = (type, data) =>
  new Promise((resolve) => {
    answered = resolve;
    receive({ data: { type, data } });
  });

(async () => {
  await send(0, { ...JSON.parse(read(site, "search/search_index.json")), options: {} });
  for (const query of fs.readFileSync(0, "utf8").trimEnd().split("\n")) {
    failed = false;
    const { data } = await send(2, query);
    const pages = data.items.map((hits) => hits[0].location.split("#")[0]);
    console.log(JSON.stringify(failed ? null : pages));
  }
})();
