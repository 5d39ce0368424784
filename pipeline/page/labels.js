"use strict";
// Labels and numbers in the selected language.

const given = JSON.parse(document.getElementById("given").textContent);
const LANGUAGES = ["en", "fr"];
const CROSS = /×(?=[A-Za-z]+=)/; // no word's own ×

const chosen = (both) => both?.[LANGUAGES.indexOf(state.lang)];

function say(key, values = {}) {
  const text = chosen(given.interface[key]) ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Return a text with parts that are elements: say("likelier", {word: <em>}).
function sayWith(key, values) {
  return say(key).split(/(\{\w+\})/).map((part) => values[part.slice(1, -1)] ?? part).filter((part) => part !== "");
}

// Return the label of a feature: Number=Plur → plural; of a crossed one, part by part.
function labelOf(feature, word) {
  if (feature === `form=${word}`) return say("own form");
  return feature.split(CROSS).map((part) => {
    const name = chosen(given.features[part] ?? given.features[familyOf(part)]);
    if (!name) return part;
    const value = part.slice(part.indexOf("=") + 1);
    return given.features[part] ? name : `${name}${state.lang === "fr" ? "\u202f" : ""}: ${chosen(given.values[part]) ?? value}`;
  }).join(" × ");
}

function familyOf(feature) {
  if (feature === "@notTop") return "form";
  return feature.startsWith("vector[") ? "meaning" : feature.split("=")[0];
}

const familyLabel = (family) => chosen(given.features[family]) ?? family;
const helpOf = (feature) => chosen(given.help[feature] ?? given.help[familyOf(feature)]) ?? "";

// Return an analysis in words: dormir, verb, indicative, plural.
function readingText(reading) {
  const names = [`pos=${reading.upos}`, ...reading.feats].map((each) => labelOf(each));
  return [reading.lemma, ...names].filter(Boolean).join(", ");
}

const written = (value, options) => value.toLocaleString(state.lang, options);

function number(value, digits = 2) {
  if (value === null || value === undefined) return "∞";
  return written(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function signed(value, digits = 2) {
  if (value === null) return "−∞";
  const least = 0.5 * 10 ** -digits;
  return (value >= least ? "+" : value <= -least ? "−" : "") + number(Math.abs(value), digits);
}

function percent(p) {
  const digits = p >= 0.1 ? 0 : p >= 0.01 ? 1 : p >= 0.001 ? 2 : 4;
  const sign = state.lang === "fr" ? "\u202f%" : "%", least = 1e-6;
  return (p > 0 && p < least ? `<\u202f${number(100 * least, 4)}` : number(100 * p, digits)) + sign;
}

// 2 to the power of some bits: 1.7, 12, 340, 5,800, 12 million; nobody reads more digits.
function power(bits) {
  const ratio = 2 ** bits;
  if (ratio > 1e12) return say("more than", { count: written(1e12, { notation: "compact", compactDisplay: "long" }) });
  if (ratio >= 1e6) return written(ratio, { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2 });
  return written(ratio, { maximumSignificantDigits: 2 });
}

// Return the factor of a term: ×12, ÷3.4.
function factor(bits) {
  if (bits === null) return "";
  if (Math.abs(bits) < 0.07) return "×1";
  return (bits < 0 ? "÷" : "×") + power(Math.abs(bits));
}

// Return an element with its properties and children; text is never parsed as HTML.
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "style") Object.entries(value).forEach(([each, to]) => element.style.setProperty(each, to));
    else if (key.includes("-") || key === "role" || key === "scope") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const inItalics = (word) => make("em", { lang: "fr" }, make("bdi", {}, word));
