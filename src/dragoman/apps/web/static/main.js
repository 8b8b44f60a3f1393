// Joins the parts of the page: what is chosen, what is asked for, and what is shown.

import * as address from "./address.js";
import { Alternatives } from "./alternatives.js";
import * as api from "./api.js";
import { connectShortcuts, connectTabs, connectTheme } from "./controls.js";
import { CorrectionDialog, KeyDialog } from "./dialogs.js";
import { byId, copyText, drawIcons } from "./elements.js";
import { connectFiles } from "./files.js";
import { Glossary } from "./glossary.js";
import { fill, Languages } from "./languages.js";
import * as notice from "./notice.js";
import { Output } from "./output.js";
import { Source } from "./source.js";
import { load, save } from "./storage.js";
import { direction } from "./text.js";
import { Translating } from "./translating.js";

const sourceField = byId("source-language");
const targetField = byId("target-language");
const pane = byId("target-pane").classList;
const choices = new Map(); // sentence of the source -> rendering that somebody chose
let languages = new Languages([]);
let result = null; // the translation on the page, and the text that it translates
let translated = "";
let opened = null; // the sentence that alternatives were shown for

const keyDialog = new KeyDialog(start);
const glossary = new Glossary(changed);
const alternatives = new Alternatives(choose);
const correction = new CorrectionDialog((sentence, text) => {
  choose(sentence, { text, links: [] });
  say("Thank you: the correction has been sent");
});
const source = new Source(translate);
const output = new Output(byId("output"), {
  onPoint: (ranges) => source.mark(source.text === translated ? ranges : []),
  onOpen: (word, place) => {
    opened = output.sentences[place.index];
    alternatives.open(word, place, opened, options(result.source));
  },
});
const translating = new Translating(ask, {
  onStart: () => {
    updateAddress();
    pane.add("working");
    say("Translating…");
  },
  onResult: show,
  onRefusal: refused,
});

/** The source language that is chosen, or else that of the last text. */
const knownSource = () => sourceField.value || (result?.source ?? "");

/** What requests have in common. */
function options(from) {
  const target = targetField.value;
  return { source: from || null, target, glossary: glossary.terms(from, target) };
}

/** Ask for a translation, with the terms of the language that the text turns out to be in. */
async function ask(signal) {
  const text = source.text;
  const request = { ...options(knownSource()), text, links: true, source: sourceField.value || null };
  let found = await api.translate(request, signal);
  const fitting = options(found.source);
  if (JSON.stringify(fitting.glossary) !== JSON.stringify(request.glossary))
    found = await api.translate({ ...request, ...fitting }, signal);
  return { ...found, asked: text };
}

/** Translate what is in the field: at once, or after a pause in typing. */
function translate(now = false) {
  translating.cancel();
  alternatives.close();
  if (targetField.value) notice.hide(); // which otherwise says how to begin
  source.mark([]);
  updateAddress();
  pane.remove("working");
  pane.toggle("stale", !source.isBlank);
  if (source.isBlank) {
    result = null;
    output.clear();
    say("");
    showLanguages();
  } else if (source.excess > 0) {
    say("");
    notice.show(`The text is longer than the ${source.limit} characters that this server translates at once.`);
  } else if (targetField.value) {
    translating.schedule(source.text.length, { now });
  }
}

function show(found) {
  result = found;
  translated = found.asked;
  notice.hide();
  alternatives.close(); // of another translation
  output.show(found, translated, choices);
  pane.remove("working", "stale");
  say(`Translated from ${languages.name(found.source)}`);
  showLanguages();
}

/** Say why there is no translation, and what can be done. */
async function refused(error, seconds) {
  pane.remove("working");
  byId("copy").disabled = true; // what is there translates another text
  if (seconds === null) output.clear();
  say("");
  if (seconds !== null) {
    const wait = seconds === 1 ? "1 second" : `${seconds} seconds`;
    const why = error.kind === "offline" ? offlineReason() : "The server is busy.";
    notice.show(`${why} Trying again in ${wait}.`, "Try now", () => translate(true));
  } else if (error.kind === "forbidden") {
    keyDialog.offer();
    notice.show(error.message, "Enter a key", () => keyDialog.open());
  } else {
    notice.show(error.message);
    if (error.kind === "unsupported") await offerTarget();
  }
}

const offlineReason = () => (navigator.onLine ? "The server cannot be reached." : "You are offline.");

/**
 * After a direction that does not exist: offer one that does, or take it if the text is in the target
 * language, since nobody wants to translate into the language of the text.
 */
async function offerTarget() {
  const text = source.text;
  const found = sourceField.value || (await api.detect(text).catch(() => []))[0]?.language;
  const [target] = found ? languages.targets(found) : [];
  if (!target || source.text !== text) return;
  const take = () => {
    targetField.value = target;
    changed();
  };
  if (found === targetField.value) return take();
  const [from, into, name] = [found, targetField.value, target].map((code) => languages.name(code));
  notice.show(`This text in ${from} cannot be translated into ${into} here.`, `Into ${name}`, take);
}

function say(text) {
  byId("state").textContent = text;
}

/** Use another translation of a sentence, here and wherever it comes again, if it is still there. */
function choose(sentence, rendering) {
  const index = output.sentences.indexOf(sentence);
  if (index < 0) return;
  choices.set(sentence.source, rendering);
  output.replace(index, rendering);
  if (!rendering.links.length) link(sentence.source, rendering);
}

/** Ask which words of a rendering translate which; the best one alone comes with that. */
async function link(text, rendering) {
  const request = { ...options(result.source), text, prefix: rendering.text, split: "none", links: true, memory: false };
  const found = await api.translate(request).catch(() => null);
  const best = found?.sentences[0]?.renderings[0];
  if (best?.text === rendering.text) rendering.links = best.links;
}

/** Show languages as they are chosen or detected, and what can be done with them. */
function showLanguages() {
  const [from, target] = [knownSource(), targetField.value];
  const detected = result && !sourceField.value;
  sourceField.options[0].text = detected ? `${languages.name(from)} (detected)` : "Detect language";
  source.language = from;
  Object.assign(byId("output"), { lang: target, dir: direction(target) });
  byId("swap").disabled = !languages.translates(target, from);
  byId("copy").disabled = byId("share").disabled = !result;
  byId("glossary-button").disabled = !from || !target;
  glossary.count(from, target);
}

/** Languages or terms have changed. */
function changed() {
  choices.clear();
  fill(targetField, languages.targets(sourceField.value), languages);
  save("pair", [sourceField.value, targetField.value]);
  showLanguages();
  translate(true);
}

function swap() {
  const [from, target] = [knownSource(), targetField.value];
  const text = pane.contains("stale") ? "" : output.text; // of another text than the one in the field
  sourceField.value = target;
  fill(targetField, languages.targets(target), languages);
  targetField.value = from;
  if (text && !source.isBlank) source.text = text;
  result = null;
  output.clear();
  changed();
}

/** Show the choices in the address; without languages, there are none yet. */
function updateAddress() {
  if (!targetField.value) return false;
  return address.write({ source: sourceField.value, target: targetField.value, text: source.text });
}

async function share() {
  const fits = updateAddress();
  const copied = await copyText(location.href);
  if (!copied) say("The browser does not allow copying; the link is in the address bar");
  else say(fits ? "Link copied" : "Link to the languages copied; the text is too long for a link");
}

async function copy() {
  say((await copyText(output.text)) ? "Copied" : "The browser does not allow copying");
}

/** Take languages and text from the address, or else from the last visit. */
function restore() {
  const asked = address.read();
  choices.clear();
  const [from, target] = load("pair", ["", ""]);
  const choice = (field, ...codes) => {
    const known = [...field.options].map(({ value }) => value);
    field.value = codes.find((code) => known.includes(code)) ?? known[0] ?? "";
  };
  choice(sourceField, asked.target ? asked.source : from);
  fill(targetField, languages.targets(sourceField.value), languages);
  choice(targetField, asked.target, target, navigator.language.split("-")[0]);
  if (asked.text) source.text = asked.text;
  showLanguages();
  if (!source.isBlank) translate(true);
}

/** Ask the server for its languages, and begin. */
async function start() {
  notice.hide();
  try {
    languages = new Languages(await api.languages());
  } catch (error) {
    if (error.kind === "forbidden") await refused(error, null);
    else notice.show(error.message, "Try again", start);
    return;
  }
  fill(sourceField, languages.sources(), languages, sourceField.options[0]);
  if (!languages.targets().length) notice.show("This server has no model yet.", "Look again", start);
  restore();
}

const onClick = (id, run) => byId(id).addEventListener("click", run);
sourceField.addEventListener("change", changed);
targetField.addEventListener("change", changed);
onClick("swap", swap);
onClick("share", share);
onClick("copy", copy);
onClick("glossary-button", () => glossary.open(knownSource(), targetField.value, languages));
onClick("correct", () => correction.open(opened, result.source, result.target));
addEventListener("hashchange", () => targetField.value && restore());
addEventListener("online", () => (targetField.value ? translate(true) : start()));
addEventListener("offline", () => notice.show("You are offline. Translation goes on when you are back."));

drawIcons();
connectFiles(() => options(sourceField.value));
connectTabs();
connectTheme();
connectShortcuts(
  [
    { letter: "S", label: "Go to the text", run: () => (byId("text-tab").click(), source.focus()) },
    { letter: "O", label: "Go to the translation", run: () => output.focus() },
    { letter: "X", label: "Swap languages", button: byId("swap") },
    { letter: "C", label: "Copy the translation", button: byId("copy") },
    { letter: "L", label: "Copy a link to this text", button: byId("share") },
    { letter: "G", label: "Glossary", button: byId("glossary-button") },
    { letter: "K", label: "Keyboard shortcuts", button: byId("keyboard-button") },
  ],
  [
    ["Move between words of the translation", ["Arrow keys"]],
    ["Other translations of a word and its sentence", ["Enter"]],
    ["Close what is open", ["Escape"]],
  ],
);
start();
