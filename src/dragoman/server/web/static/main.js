// Joins the parts of the page: what is chosen, what is asked for, and what is shown.

import * as address from "./address.js";
import { Alternatives } from "./alternatives.js";
import * as api from "./api.js";
import { connectShortcuts, connectTabs, connectTheme } from "./controls.js";
import { CorrectionDialog } from "./correction.js";
import { byId, copyText, drawIcons } from "./elements.js";
import { connectFiles, goOnWithKey } from "./files.js";
import { Glossary } from "./glossary.js";
import { KeyDialog } from "./key.js";
import { Languages, rememberTarget } from "./languages.js";
import { LanguageMenu } from "./menu.js";
import { after, reason } from "./messages.js";
import * as notice from "./notice.js";
import { Output } from "./output.js";
import { Patience, Retried } from "./retrying.js";
import { Source } from "./source.js";
import { load, save } from "./storage.js";
import { direction, typingPause } from "./text.js";
import { Translation } from "./translation.js";
import * as undo from "./undo.js";

drawIcons();
const from = new LanguageMenu("source-language", { unknown: "Detect language", onChoose: changed });
const into = new LanguageMenu("target-language", { onChoose: chosen });
const pane = byId("target-pane").classList;
const choices = new Map(); // sentence of the source -> rendering that somebody chose
let languages = new Languages([]);
let isTargetChosen = false; // by somebody, not by the page
let givenWay = ""; // the text for which the page has last changed the target
let result = null; // the translation on the page, of which sentences may be missing
let latest = null; // the translation that is asked for
let opened = null; // the sentence that alternatives were shown for

const keyDialog = new KeyDialog(() => {
  starting.schedule();
  goOnWithKey();
});
const glossary = new Glossary(changed);
const alternatives = new Alternatives(choose);
const correction = new CorrectionDialog((sentence, text) => {
  choose(sentence, { text, links: [] });
  say("Thank you: the correction has been sent");
});
const source = new Source({ onChange: translate, onClear: clear });
const output = new Output(byId("output"), {
  onPoint: (ranges, text) => source.mark(source.text === text ? ranges : []),
  onOpen: (word, place) => {
    opened = output.sentences[place.index];
    alternatives.open(word, place, opened, options(result.source));
  },
});
// Each repetition is charged, so there are few.
const translating = new Retried(
  ask,
  {
    onStart: () => {
      updateAddress();
      pane.add("working");
      say("Translating…");
    },
    onResult: finish,
    onRefusal: refused,
  },
  new Patience({ tries: 5 }),
);
const starting = new Retried(askForLanguages, { onResult: begin, onRefusal: notBegun }, new Patience({ free: true }));

/** The source language that is chosen, or else that of the last text. */
const knownSource = () => from.value || (result?.source ?? "");

/** What requests have in common. */
function options(language) {
  const target = into.value;
  return { source: language || null, target, glossary: glossary.terms(language, target) };
}

/** Ask for the translation, or for what is missing of it. */
async function ask(signal) {
  latest ??= new Translation(source.text, from.value, into.value);
  const translation = latest;
  const terms = (language) => glossary.terms(language || knownSource(), translation.target);
  await translation.goOn(terms, signal, (sentence) => show(translation, sentence));
  return translation;
}

/** Translate what is in the field: at once, or after a pause in typing. */
function translate(now = false) {
  translating.cancel();
  latest = null;
  alternatives.close();
  if (into.value) notice.hide(); // which otherwise says how to begin
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
  } else if (into.value) {
    translating.schedule(now ? 0 : typingPause(source.text.length));
  }
}

/** Let a translation take the place of the one before. */
function beginToShow(translation) {
  if (result === translation) return;
  result = translation;
  alternatives.close(); // of another translation
  output.begin(translation.target);
  pane.remove("stale");
  showLanguages();
}

/** Show the next sentence of a translation. */
function show(translation, sentence) {
  beginToShow(translation);
  output.add({ ...sentence, rendering: choices.get(sentence.source) ?? sentence.rendering });
  alternatives.closeIfGone();
}

function finish(translation) {
  notice.hide();
  beginToShow(translation); // it may have no sentence
  output.end(translation.rest);
  alternatives.closeIfGone();
  pane.remove("working", "stale");
  const isEmpty = !output.text.trim();
  say(isEmpty ? "The model gives no translation of this text" : `Translated from ${languages.name(translation.source)}`);
  showLanguages();
}

/** Say why there is no translation, or only a part, and what can be done. */
function refused(error, seconds) {
  const isPart = latest !== null && latest === result;
  pane.remove("working");
  say(isPart && seconds === null ? "Incomplete" : "");
  byId("copy").disabled = true; // there is a part, or what translates another text
  if (seconds !== null) {
    const retry = () => translating.now();
    return notice.show(`${reason(error)} Trying again ${after(seconds)}.`, "Try now", retry);
  }
  if (isPart) {
    output.end();
  } else {
    output.clear();
    result = null;
    showLanguages();
  }
  pane.remove("stale");
  if (error.kind === "same_language" || error.kind === "unsupported") return offerTarget(error);
  notice.show(...remedy(error, isPart));
}

/** Why a request failed for good, with the label of a button and what it does. */
function remedy(error, isPart) {
  const isKey = ["forbidden", "bad_key", "quota_exceeded"].includes(error.kind);
  if (isKey) return [reason(error), "Enter a key", () => keyDialog.open()];
  if (["too_large", "invalid"].includes(error.kind)) return [reason(error)];
  const hint = error.retryAfter > 60 ? ` Try again ${after(Math.ceil(error.retryAfter))}.` : "";
  if (error.kind === "timed_out" && !isPart) return [`${reason(error)} A shorter text may work.`, "Try again", () => translating.now()];
  return [reason(error) + hint, isPart ? "Go on" : "Try again", () => translating.now()];
}

/**
 * After a direction that does not exist, or a text that is in the target language: offer another target.
 * One that nobody has chosen gives way at once.
 */
async function offerTarget(error) {
  const text = source.text;
  const found = from.value || (error.kind === "same_language" ? into.value : await detected(text));
  if (source.text !== text) return;
  if (!from.value) from.detected(found);
  const [name, target] = [languages.name(found), languages.likelyTarget(found)];
  const isSame = found === into.value;
  if (found && languages.translates(found, into.value)) return notice.show(reason(error)); // for another cause
  const why = isSame
    ? `This text is already in ${name}.`
    : `This text in ${name} cannot be translated into ${languages.name(into.value)} here.`;
  if (!found || !target) return notice.show(found ? why : reason(error));
  const take = () => {
    into.value = target;
    changed();
  };
  if (isSame && !isTargetChosen && text !== givenWay) {
    givenWay = text; // with another target, the same text may seem to be in another language
    return take();
  }
  notice.show(why, `Into ${languages.name(target)}`, () => {
    isTargetChosen = true;
    rememberTarget(target);
    take();
  });
}

const detected = async (text) => (await api.detect(text).catch(() => []))[0]?.language ?? "";

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
  const [language, target] = [knownSource(), into.value];
  from.detected(result?.isDetected ? result.source : "");
  source.language = language;
  Object.assign(byId("output"), { lang: target, dir: direction(target) });
  byId("swap").disabled = !languages.translates(target, language);
  byId("copy").disabled = byId("share").disabled = !result?.isComplete;
  byId("glossary-button").disabled = !language || !target;
  glossary.count(language, target);
}

/** Somebody has chosen a target. */
function chosen() {
  isTargetChosen = true;
  rememberTarget(into.value);
  changed();
}

/** Languages or terms have changed. */
function changed() {
  choices.clear();
  undo.forget();
  offerTargets(into.value);
  save("source", from.value);
  showLanguages();
  translate(true);
}

/** Offer the targets of the source, and take one: the wanted one if it is among them. */
function offerTargets(wanted) {
  const targets = languages.targets(from.value);
  into.fill(targets, languages);
  into.value = targets.includes(wanted) ? wanted : languages.likelyTarget(from.value);
}

/** A way back to what the page shows now. */
function wayBack() {
  const [text, before, shown] = [source.text, { from: from.value, into: into.value }, output.state];
  const [translation, wasStale] = [result, pane.contains("stale")];
  return () => {
    from.value = before.from;
    offerTargets(before.into);
    source.text = text;
    translate(true);
    if (!wasStale && translation?.isComplete) {
      translating.cancel();
      result = translation;
      output.restore(shown);
      finish(translation);
    }
    showLanguages();
    source.focus();
  };
}

function clear() {
  const back = wayBack();
  source.text = "";
  source.focus();
  translate(true);
  undo.offer("clearing", back);
  say("Cleared; Undo brings the text back");
}

function swap() {
  const back = wayBack();
  const [language, target] = [knownSource(), into.value];
  const text = pane.contains("stale") || !result?.isComplete ? "" : output.text; // else of another text, or a part
  from.value = target;
  offerTargets(language);
  if (text && !source.isBlank) source.text = text;
  result = null;
  output.clear();
  isTargetChosen = true;
  changed();
  undo.offer("swapping", back);
}

/** Show the choices in the address; without languages, there are none yet. */
function updateAddress() {
  if (!into.value) return false;
  return address.write({ source: from.value, target: into.value, text: source.text });
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
  undo.forget();
  from.value = asked.target ? asked.source : load("source", "");
  isTargetChosen = languages.targets(from.value).includes(asked.target);
  offerTargets(asked.target);
  if (asked.text) source.text = asked.text;
  showLanguages();
  if (!source.isBlank) translate(true);
}

async function askForLanguages() {
  const found = new Languages(await api.languages());
  if (!found.targets().length) throw new api.Refusal("no_model");
  return found;
}

/** Begin with the languages of the server. */
function begin(found) {
  notice.hide();
  languages = found;
  from.fill(languages.sources(), languages);
  restore();
}

/** Say why the page cannot begin. */
function notBegun(error, seconds) {
  const retry = () => starting.now();
  if (seconds !== null) return notice.show(`${reason(error)} Trying again ${after(seconds)}.`, "Try now", retry);
  if (error.kind !== "forbidden" && error.kind !== "bad_key") return notice.show(reason(error), "Try again", retry);
  notice.show(...remedy(error, false));
  keyDialog.open(api.hasKey() ? reason(error) : "");
}

const onClick = (id, run) => byId(id).addEventListener("click", run);
onClick("swap", swap);
onClick("share", share);
onClick("copy", copy);
onClick("glossary-button", () => glossary.open(knownSource(), into.value, languages));
onClick("correct", () => correction.open(opened, result.source, result.target));
addEventListener("hashchange", () => into.value && restore());
addEventListener("offline", () => notice.show("You are offline. Translation goes on when you are back."));
addEventListener("online", () => {
  const waiting = [starting, translating].filter((one) => one.isWaiting);
  if (!waiting.length) notice.hide();
  for (const one of waiting) one.now(); // what is translated is not asked for again
});

connectFiles(() => options(from.value));
connectTabs();
connectTheme();
connectShortcuts(
  [
    { letter: "S", label: "Go to the text", run: () => (byId("text-tab").click(), source.focus()) },
    { letter: "O", label: "Go to the translation", run: () => output.focus() },
    { letter: "X", label: "Swap languages", button: byId("swap") },
    { letter: "Z", label: "Undo clearing or swapping", run: () => byId("undo").click() },
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
starting.schedule();
