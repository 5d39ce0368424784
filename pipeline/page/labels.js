"use strict";
// Labels in the language that is chosen; both languages stand in one table.

const given = JSON.parse(document.getElementById("given").textContent);
const LANGUAGES = ["en", "fr"];

function say(key, values = {}) {
  const both = given.interface[key];
  const text = both ? both[LANGUAGES.indexOf(state.lang)] : key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// A feature as a person says it: Number=Plur → plural; crossed ones part by part.
function labelOf(feature, word) {
  if (feature === `form=${word}`) return say("own form");
  const parts = feature.split(/×(?=[A-Za-z]+=)/);
  return parts.map((part) => {
    const both = given.features[part] ?? given.features[familyOf(part)];
    if (!both) return part;
    const name = both[LANGUAGES.indexOf(state.lang)];
    return given.features[part] ? name : `${name}: ${part.slice(part.indexOf("=") + 1)}`;
  }).join(" × ");
}

function familyOf(feature) {
  if (feature === "@notTop") return "form";
  return feature.startsWith("vector[") ? "meaning" : feature.split("=")[0];
}

function familyLabel(family) {
  const both = given.features[family];
  return both ? both[LANGUAGES.indexOf(state.lang)] : family;
}

function helpOf(feature) {
  const both = given.help[feature] ?? given.help[familyOf(feature)];
  return both ? both[LANGUAGES.indexOf(state.lang)] : "";
}

// A reading in words: dormir, verb, indicative, plural.
function readingText(reading) {
  const names = [`pos=${reading.upos}`, ...reading.feats].map((each) => labelOf(each));
  return [reading.lemma, ...names].filter(Boolean).join(", ");
}

function number(value, digits = 2) {
  if (value === null || value === undefined) return "−∞";
  return value.toLocaleString(state.lang, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function signed(value) {
  if (value === null) return "−∞";
  return (value >= 0.005 ? "+" : value <= -0.005 ? "−" : "") + number(Math.abs(value));
}

function percent(p) {
  const digits = p >= 0.1 ? 1 : p >= 0.001 ? 2 : p >= 1e-5 ? 4 : 6;
  const space = state.lang === "fr" ? "\u202f%" : "%";
  return p > 0 && p < 1e-7 ? `${p.toExponential(1)}` : number(100 * p, digits) + space;
}

// An element with its properties and children; text is always text.
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "style") Object.entries(value).forEach(([each, to]) => element.style.setProperty(each, to));
    else if (key.startsWith("aria-") || key === "role" || key === "scope") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}
