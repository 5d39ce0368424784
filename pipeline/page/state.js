// What is on screen: kept in the address, so that a link shows the same; and what answers it.

const kept = JSON.parse(document.getElementById("kept").textContent);
const START = { text: "", other: "", model: given.models[0], beside: "", off: [], at: null, others: "", context: "", lang: "en" };
const state = { ...START, lang: navigator.language.startsWith("fr") ? "fr" : "en" };
const answers = new Map(Object.entries(kept ? kept.answers : {}));
const MOST_KEPT = 500;
const CONTEXTS = ["", "text", "none"]; // the first is what the model was trained for

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

// The readings side by side: each way to read, of each sentence.
function rowsOf(shown) {
  const { context } = shown, ways = [{ model: shown.model, off: [], context }];
  if (shown.off.length) ways.push({ model: shown.model, off: shown.off, context });
  if (shown.beside && shown.beside !== shown.model) ways.push({ model: shown.beside, off: [], context });
  const texts = shown.other.trim() ? [shown.text, shown.other] : [shown.text];
  return ways.flatMap((way) => texts.map((text) => ({ ...way, text })));
}

async function ask(question) {
  const key = JSON.stringify(question);
  if (answers.has(key)) return answers.get(key);
  if (kept) throw new Error(say("not kept"));
  let response;
  try {
    response = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: key });
  } catch {
    throw new Error(say("no server"));
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  if (answers.size >= MOST_KEPT) answers.delete(answers.keys().next().value);
  answers.set(key, answer);
  return answer;
}

const readQuestion = (row) => ({ ask: "read", model: row.model, text: row.text, off: row.off, context: row.context });
const placeQuestion = (row, at, others) => ({ ask: "place", model: row.model, text: row.text, at, others, off: row.off, context: row.context });
const otherWords = (shown) => shown.others.split(/[\s,]+/).filter(Boolean);

// Where the words of two sentences differ: what is common at both ends is left out.
function difference(one, other) {
  const form = (word) => word.form.toLowerCase();
  const least = Math.min(one.length, other.length);
  let start = 0, end = 0;
  while (start < least && form(one[start]) === form(other[start])) start += 1;
  while (end < least - start && form(one[one.length - 1 - end]) === form(other[other.length - 1 - end])) end += 1;
  return { start, end };
}

// The place in another sentence that stands for a place in the first.
function placeIn(at, one, other) {
  const { start, end } = difference(one, other);
  if (at < start) return at;
  return at >= one.length - end ? at + other.length - one.length : Math.min(at, other.length - end);
}

// The page with all answers that what is on screen can need.
async function savedPage() {
  const rows = rowsOf(state), needed = {};
  const keep = async (question) => { needed[JSON.stringify(question)] = await ask(question); };
  for (const model of new Set(rows.map((row) => row.model))) await keep({ ask: "about", model });
  for (const row of rows) {
    await keep(readQuestion(row));
    const { words, followed } = await ask(readQuestion(row));
    const about = await ask({ ask: "about", model: row.model });
    if (!about.explained) continue;
    const shown = placeIn(state.at ?? 0, (await ask(readQuestion(rows[0]))).words, words);
    const places = followed ? [shown] : words.keys(); // of a long text only what is on screen
    for (const at of places) await keep(placeQuestion(row, at, otherWords(state)));
  }
  const page = await (await fetch(location.pathname)).text();
  const json = JSON.stringify({ state, answers: needed }).replaceAll("<", "\\u003c");
  return page.replace('id="kept">null<', () => `id="kept">${json}<`);
}
