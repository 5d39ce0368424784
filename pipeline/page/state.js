// The state of the page, which the address holds, so that a link shows the same; questions and answers.

const kept = JSON.parse(document.getElementById("kept").textContent);
const START = { text: "", other: "", model: given.models[0], beside: "", off: [], at: null, others: "", context: "", lang: "en" };
const state = { ...START, lang: navigator.language.startsWith("fr") ? "fr" : "en" };
const answers = new Map(Object.entries(kept ? kept.answers : {}));
const MOST_KEPT = 500;
const CONTEXTS = ["", "text", "none"]; // the first is what the model was trained for
let queue = Promise.resolve(); // questions wait in turn: those of an earlier text can still be aborted

function stateFrom(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const read = {};
  for (const key of Object.keys(START)) if (found.has(key)) read[key] = found.get(key);
  if ("off" in read) read.off = read.off.split(",").filter(Boolean);
  if ("at" in read) read.at = /^\d+$/.test(read.at) ? Number(read.at) : null;
  if (!LANGUAGES.includes(read.lang)) delete read.lang;
  if (!CONTEXTS.includes(read.context)) delete read.context;
  for (const key of ["model", "beside"]) if (!given.models.includes(read[key])) delete read[key];
  return read;
}

function hashOf(shown) {
  const written = new URLSearchParams();
  for (const [key, value] of Object.entries(shown)) {
    const text = value === null ? "" : String(value);
    if (text && (key === "lang" || text !== String(START[key]))) written.set(key, text);
  }
  return `#${written}`;
}

// Return the rows: a row for each model or choice of features, and for each sentence.
function rowsOf(shown) {
  const { context } = shown, ways = [{ model: shown.model, off: [], context }];
  if (shown.off.length) ways.push({ model: shown.model, off: shown.off, context });
  if (shown.beside && shown.beside !== shown.model) ways.push({ model: shown.beside, off: [], context });
  const texts = shown.other.trim() ? [shown.text, shown.other] : [shown.text];
  return ways.flatMap((way, number) => texts.map((text) => ({ ...way, way: number, text })));
}

// Return the answer to a question, unless it is aborted before its turn.
function ask(question, signal) {
  const key = JSON.stringify(question);
  const answer = answers.has(key) ? Promise.resolve(answers.get(key)) : queue.then(() => fetched(key, signal));
  if (!answers.has(key)) queue = answer.catch(() => {});
  return answer;
}

async function fetched(key, signal) {
  signal?.throwIfAborted();
  if (answers.has(key)) return answers.get(key);
  if (kept) throw new Error(say("not kept"));
  let response;
  try {
    response = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: key });
  } catch {
    throw new Error(say("no server"));
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(told(answer.error));
  if (answers.size >= MOST_KEPT) answers.delete(answers.keys().next().value);
  answers.set(key, answer);
  return answer;
}

// Return an error message; limits of a text are written in the language of the page.
function told(error) {
  const [, most, what, got] = /at most ([\d,]+) (words|characters), got ([\d,]+)/.exec(error) ?? [];
  const count = (digits) => written(Number(digits.replaceAll(",", "")));
  return what ? say(`too many ${what}`, { most: count(most), got: count(got) }) : error;
}

const way = ({ model, text, off, context }) => ({ model, text, off, context });
const readQuestion = (row) => ({ ask: "read", ...way(row) });
const expectQuestion = (row) => ({ ask: "expect", ...way(row) });
const checkQuestion = (row, [start, end]) => ({ ask: "check", model: row.model, text: cut(row.text, start, end) });
const readingsQuestion = (model, words) => ({ ask: "readings", model, words });
function placeQuestion({ model, text, off, context }, at, others) {
  return { ask: "place", model, text, at, others, off, context };
}
const otherWords = (shown) => shown.others.split(/[\s,]+/).filter(Boolean);

// Return a text without the gap at its end: … behind a blank. Right behind a word it is a mark.
function beginning(text) {
  const trimmed = text.trimEnd();
  for (const gap of ["…", "..."]) {
    const rest = trimmed.endsWith(gap) ? trimmed.slice(0, -gap.length) : null;
    if (rest !== null && rest.trimEnd() !== rest) return rest.trimEnd();
    if (rest === "") return "";
  }
  return text;
}

const cut = (text, start, end) => [...text].slice(start, end).join(""); // by characters, emoji too

// Return where the words of two sentences differ, without their common beginning and end.
function difference(one, other) {
  const form = (word) => word.form.toLowerCase();
  const least = Math.min(one.length, other.length);
  let start = 0, end = 0;
  while (start < least && form(one[start]) === form(other[start])) start += 1;
  while (end < least - start && form(one[one.length - 1 - end]) === form(other[other.length - 1 - end])) end += 1;
  return { start, end };
}

// Return the place in another sentence that corresponds to a place in the first.
function placeIn(at, one, other) {
  const { start, end } = difference(one, other);
  if (at < start) return at;
  return at >= one.length - end ? at + other.length - one.length : Math.min(at, other.length - end);
}
