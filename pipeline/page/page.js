// The page itself: what is typed, clicked and chosen changes the state; the state is drawn.

const END = given.end, PAUSE = 120, AT_WORK = 600; // ms after the last key before a question is asked, and before it is said
const byId = (id) => document.getElementById(id);
let turn = 0, waiting = null, seed = 0;

function tell(message, isError = false) {
  byId("status").textContent = message;
  byId("status").className = isError ? "error" : "";
}

function change(what) {
  Object.assign(state, what);
  if (!kept) history.replaceState(null, "", hashOf(state));
  return update();
}

// Draw the state; what was asked for an earlier one is dropped.
async function update() {
  const mine = ++turn;
  fillControls();
  const slow = setTimeout(() => tell(say("at work")), AT_WORK);
  try {
    const about = await ask({ ask: "about", model: state.model });
    if (mine !== turn) return;
    drawSwitches(about.families);
    const rows = rowsOf(state);
    await Promise.all(rows.map(async (row) => { row.answer = await ask(readQuestion(row)); }));
    if (mine !== turn) return;
    rows.forEach((row) => row.answer.words.forEach((word, place, words) => {
      const isGap = row.answer.gap && place === words.length - 1;
      word.shown = word.form || (isGap ? "…" : "⏎");
    }));
    drawRows(rows);
    drawCharts(byId("charts"), rows, state.at);
    await drawWhy(rows, mine);
    const untrained = state.context === "text" && !about.documents ? say("untrained") : "";
    if (mine === turn) tell(rows[0].answer.words.length > 1 ? untrained : say("nothing"));
  } catch (error) {
    if (mine === turn) tell(error.message, true);
  } finally {
    clearTimeout(slow);
  }
}

function fillControls() {
  document.documentElement.lang = state.lang;
  for (const element of document.querySelectorAll("[data-label]")) element.textContent = say(element.dataset.label);
  for (const id of ["text", "other", "others"]) if (byId(id).value !== state[id]) byId(id).value = state[id];
  const options = (names, none) => names.map((name) => make("option", { value: name }, name || none));
  byId("model").replaceChildren(...options(given.models));
  byId("beside").replaceChildren(...options(["", ...given.models.filter((name) => name !== state.model)], say("none")));
  byId("example").replaceChildren(make("option", { value: "" }, say("choose")),
    ...given.examples.map((example, place) => make("option", { value: place }, example.name[LANGUAGES.indexOf(state.lang)])));
  byId("context").replaceChildren(...CONTEXTS.map((name) => make("option", { value: name }, say(`context ${name || "own"}`))));
  byId("context").value = state.context;
  byId("model").value = state.model;
  byId("beside").value = state.beside;
  byId("lang").value = state.lang;
}

function drawSwitches(families) {
  const legend = byId("off").querySelector("legend");
  const boxes = families.map((family) => {
    const box = make("input", { type: "checkbox", value: family, checked: state.off.includes(family) });
    box.onchange = () => change({ off: families.filter((each) => each === family ? box.checked : state.off.includes(each)) });
    return make("label", { title: helpOf(family) }, box, familyLabel(family));
  });
  const focused = document.activeElement?.closest?.("#off") ? document.activeElement.value : null;
  byId("off").replaceChildren(legend, ...boxes);
  if (focused) byId("off").querySelector(`input[value="${CSS.escape(focused)}"]`)?.focus();
}

function rowName(row) {
  const off = row.off.length ? `, ${say("without", { features: row.off.map(familyLabel).join(", ") })}` : "";
  return row.model + off;
}

function drawRows(rows) {
  const inWords = document.activeElement?.classList.contains("word");
  byId("rows").replaceChildren(...rows.map((row, number) => {
    const words = row.answer.words;
    const differing = row.text === state.text ? null : difference(rows[0].answer.words, words);
    const at = state.at === null ? null : placeIn(state.at, rows[0].answer.words, words);
    const total = bitsOf(row), away = total - bitsOf(rows[0]);
    const against = number && Number.isFinite(away) ? ` (${signed(away)})` : "";
    const buttons = words.map((word, place) => wordButton(row, word, place, {
      pressed: place === at, isFirst: number === 0,
      differs: differing && place >= differing.start && place < words.length - differing.end,
    }));
    return make("div", { className: "row" },
      make("p", { className: "name" }, make("b", {}, rowName(row)), ` · ${say("total", { bits: oneDigit(total) + against, words: words.length })}`),
      make("div", { className: "words", role: "group", "aria-label": rowName(row), onkeydown: moveByKeys }, ...buttons));
  }));
  if (inWords) byId("rows").querySelector('[aria-pressed="true"]')?.focus();
}

const bitsOf = (row) => row.answer.words.reduce((sum, word) => sum + (word.bits ?? Infinity), 0);
const oneDigit = (value) => number(Number.isFinite(value) ? value : null, 1);

function wordButton(row, word, place, { pressed, isFirst, differs }) {
  const known = word.entropy !== undefined;
  const entropy = known ? make("i", {}, ` · H ${number(word.entropy, 1)}`) : null;
  const expected = known ? `, ${say("entropy title", { entropy: number(word.entropy, 2) })}` : "";
  const isEnd = !word.form, isLast = place === row.answer.words.length - 1;
  const rank = word.rank ? `, ${say("rank", { rank: word.rank.toLocaleString(state.lang) })}` : "";
  const bits = isLast && row.answer.gap ? "" : number(word.bits, 1);
  return make("button", {
    type: "button", className: `word${differs ? " differs" : ""}${isEnd ? " end" : ""}`, "aria-pressed": String(pressed), dir: "auto",
    tabIndex: pressed || (state.at === null && place === 0) ? 0 : -1,
    title: say("word title", { bits: number(word.bits, 2) }) + expected + rank + (word.spelled ? `, ${say("spelled")}` : ""),
    style: { "--surprise": `${bits === "" ? 0 : Math.min(75, (word.bits ?? 20) * 4)}%` },
    onclick: () => change({ at: isFirst ? place : placeIn(place, row.answer.words, firstWords()) }),
  }, word.shown, make("small", {}, bits, entropy));
}

const firstWords = () => answers.get(JSON.stringify(readQuestion(rowsOf(state)[0]))).words;

function moveByKeys(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const words = [...event.currentTarget.querySelectorAll(".word")];
  const next = words[words.indexOf(document.activeElement) + step];
  if (next) { next.focus(); next.click(); }
}

async function drawWhy(rows, mine) {
  const words = rows[0].answer.words;
  const at = state.at === null ? null : Math.min(state.at, words.length - 1);
  byId("why").hidden = at === null;
  if (at === null) return;
  const places = rows.map((row) => placeIn(at, words, row.answer.words));
  const found = await Promise.all(rows.map((row, number) =>
    ask(placeQuestion(row, places[number], otherWords(state))).catch((error) => ({ error: error.message }))));
  if (mine !== turn) return;
  byId("why-title").textContent = say("why", { word: words[at].shown });
  if (document.activeElement !== byId("edit")) byId("edit").value = words[at].form;
  const explained = found.filter((place) => place.asked);
  const reach = reachOf(explained.map((place) => place.asked[0]));
  byId("cards").replaceChildren(...rows.map((row, number) => card(row, found[number], reach, words[at])));
  const others = found[0].asked?.length > 1 ? found[0].asked : null;
  byId("compared").replaceChildren(...(others ? [make("div", { className: "card" }, make("h3", {}, say("compared")), comparedTable(others))] : []));
}

function card(row, place, reach, word) {
  const name = make("small", {}, ` ${rowName(row)}`);
  if (place.error) return make("div", { className: "card" }, make("h3", {}, name), make("p", {}, place.error));
  const [choice] = place.asked;
  return make("div", { className: "card" },
    make("h3", {}, make("bdi", {}, shownWord(choice.word)), name), readingsList(choice),
    make("div", { className: "scroll" }, termsTable(choice, row.off, reach)),
    make("h4", {}, say("likeliest")), likeliestList(place.likeliest, (chosen) => replace(word, chosen)));
}

const beginning = (text) => text.replace(/\s*(?:…|\.\.\.)\s*$/, ""); // without the gap
const cut = (text, start, end) => [...text].slice(start, end).join(""); // by characters, emoji too

// Put another word in a place: the sentence before stays, that after stands beside it.
function replace(word, chosen) {
  const text = beginning(state.text);
  const end = chosen === END ? "" : chosen;
  const space = word.form || !text || !end ? "" : " ";
  const capital = word.start === 0 && /^\p{Lu}/u.test(text) ? end.charAt(0).toUpperCase() + end.slice(1) : end;
  return change({ other: cut(text, 0, word.start) + space + capital + cut(text, word.end) });
}

async function write() {
  const place = state.at === null ? null : firstWords()[Math.min(state.at, firstWords().length - 1)];
  const start = cut(beginning(state.text), 0, place ? place.start : undefined);
  const constraints = byId("constraint").value.split(",").map((each) => each.trim()).filter(Boolean);
  byId("written").replaceChildren(make("p", {}, say("writing")));
  try {
    const way = { model: state.model, off: state.off };
    const { sentences } = await ask({ ask: "write", ...way, start, constraints, seed: ++seed });
    byId("written").replaceChildren(make("p", { className: "help" }, rowName(way)), ...sentences.map(sentenceShown));
  } catch (error) {
    byId("written").replaceChildren(make("p", {}, error.message));
  }
}

function sentenceShown(sentence) {
  const read = () => change({ text: sentence.text, other: "", at: null });
  const glosses = sentence.words.map((word) => make("span", {}, make("bdi", {}, word.form),
    make("small", {}, word.features.map((feature) => labelOf(feature)).join(", "))));
  return make("div", { className: "sentence" },
    make("p", {}, make("bdi", {}, sentence.text + (sentence.ended ? "" : " […]")), " ",
      make("button", { type: "button", onclick: read }, say("use"))),
    make("details", {}, make("summary", {}, say("gloss")), make("div", { className: "gloss" }, ...glosses)));
}

async function save() {
  tell(say("saving"));
  try {
    const page = new Blob([await savedPage()], { type: "text/html" });
    const link = make("a", { href: URL.createObjectURL(page), download: "accord.html" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    tell(say("saved"));
  } catch (error) {
    tell(error.message, true);
  }
}

function afterPause(what) {
  clearTimeout(waiting);
  waiting = setTimeout(() => change(what()), PAUSE);
}

byId("text").oninput = () => afterPause(() => ({ text: byId("text").value }));
byId("other").oninput = () => afterPause(() => ({ other: byId("other").value }));
byId("others").oninput = () => afterPause(() => ({ others: byId("others").value }));
byId("edit").oninput = () => afterPause(() => {
  replace(firstWords()[Math.min(state.at, firstWords().length - 1)], byId("edit").value.trim());
  return {};
});
byId("model").onchange = () => change({ model: byId("model").value, beside: state.beside === byId("model").value ? "" : state.beside, off: [] });
byId("beside").onchange = () => change({ beside: byId("beside").value });
byId("context").onchange = () => change({ context: byId("context").value });
byId("lang").onchange = () => change({ lang: byId("lang").value });
byId("example").onchange = () => {
  const example = given.examples[byId("example").value];
  const beside = example?.beside ? given.models.find((name) => name !== state.model) ?? "" : "";
  if (example) change({ ...START, model: state.model, lang: state.lang, ...example.state, beside });
};
byId("write").onclick = write;
byId("save").onclick = save;
byId("copy").onclick = async () => {
  await navigator.clipboard.writeText(location.href);
  tell(say("copied"));
};
window.onhashchange = () => {
  Object.assign(state, START, { lang: state.lang }, stateFrom(location.hash));
  update();
};
for (const id of kept ? ["save", "copy", "writing"] : []) byId(id).hidden = true;
if (kept) Object.assign(state, kept.state);
else Object.assign(state, location.hash.length > 1 ? {} : given.examples[0].state, stateFrom(location.hash));
update();
