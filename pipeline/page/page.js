// The page: typing, clicking and choosing change the state, and the state is drawn.

const PAUSE = 120, AT_WORK = 500; // ms after the last key before a question is asked, and before progress is shown
const WIDE = window.matchMedia("(min-width: 60rem)");
let turn = 0, waiting = null, asking = new AbortController();
const examples = (kept?.examples ?? given.examples).filter((each) => !each.beside || given.models.length > 1);

function tell(message, isError = false) {
  byId("status").textContent = message;
  byId("status").className = isError ? "error" : "";
}

function change(what) {
  Object.assign(state, what);
  if (!kept) history.replaceState(null, "", hashOf(state));
  return update();
}

// Draw the state. Questions of an earlier state are aborted.
async function update() {
  const mine = ++turn;
  asking.abort();
  asking = new AbortController();
  const { signal } = asking, isNow = () => mine === turn;
  fillControls();
  const slow = setTimeout(() => (byId("at-work").hidden = false), AT_WORK);
  const done = () => (byId("at-work").hidden = true);
  try {
    const rows = await readRows(signal);
    if (!isNow()) return;
    done();
    drawVerdict(rows, null);
    const about = await ask({ ask: "about", model: state.model }, signal);
    tell(hintOf(rows[0], about));
    drawSwitches(about.families);
    await drawWhy(rows, signal, isNow);
    await drawExpected(rows, about, signal, isNow);
    await Promise.all([drawErrors(rows[0], signal, isNow), drawCard()]);
  } catch (error) {
    if (isNow() && error.name !== "AbortError") tell(error.message, true);
  } finally {
    clearTimeout(slow);
    if (isNow()) done();
  }
}

// Return the hints on a text: empty, foreign, with a gap, with spelled words.
function hintOf(row, about) {
  if (row.answer.words.length < 2) return say("nothing");
  const said = [];
  if (looksForeign(row)) said.push(say("foreign"));
  if (row.answer.gap) said.push(say("gap"));
  if (state.context === "text" && !about.documents) said.push(say("untrained"));
  if (row.answer.words.some((word) => word.spelled)) said.push(say("spelled words"));
  return said.join(" ");
}

function fillControls() {
  document.documentElement.lang = state.lang;
  for (const element of document.querySelectorAll("[data-label]")) element.textContent = say(element.dataset.label);
  for (const element of document.querySelectorAll("[data-aria]")) element.setAttribute("aria-label", say(element.dataset.aria));
  for (const id of ["text", "other", "others"]) if (byId(id).value !== state[id]) byId(id).value = state[id];
  const options = (names, none) => names.map((name) => make("option", { value: name }, name || none));
  byId("model").replaceChildren(...options(given.models));
  byId("beside").replaceChildren(...options(["", ...given.models.filter((name) => name !== state.model)], say("none")));
  byId("beside").parentElement.hidden = given.models.length < 2;
  byId("example").replaceChildren(make("option", { value: "" }, say(kept?.examples ? "choose sentence" : "choose")),
    ...examples.map((example, place) => make("option", { value: place }, chosen(example.name))));
  byId("context").replaceChildren(...CONTEXTS.map((name) => make("option", { value: name }, say(`context ${name || "own"}`))));
  for (const id of ["context", "model", "beside", "lang"]) byId(id).value = state[id];
  drawLegend();
}

function drawSwitches(families) {
  const legend = byId("off").querySelector("legend");
  const boxes = families.map((family) => {
    const box = make("input", { type: "checkbox", value: family, checked: state.off.includes(family) });
    const off = () => families.filter((each) => each === family ? box.checked : state.off.includes(each));
    box.onchange = () => change({ off: kept && box.checked ? [family] : off() }); // saved pages keep one at a time
    return make("label", { "data-tip": helpOf(family) }, box, familyLabel(family));
  });
  const focused = document.activeElement?.closest?.("#off") ? document.activeElement.value : null;
  byId("off").hidden = !families.length;
  byId("off").replaceChildren(legend, ...boxes);
  if (focused) byId("off").querySelector(`input[value="${CSS.escape(focused)}"]`)?.focus();
}

async function drawExpected(rows, about, signal, isNow) {
  if (!about.expects) {
    drawCharts(byId("charts"), rows, state.at);
    return;
  }
  await Promise.all(rows.map(async (row) => addExpectations(row, row.expected ?? await ask(expectQuestion(row), signal))));
  if (!isNow()) return;
  drawCharts(byId("charts"), rows, state.at);
  drawParts(rows[0], state.at);
}

async function drawErrors(row, signal, isNow) {
  if (!row.answer.words.some((word) => word.form)) {
    byId("suggested").replaceChildren(make("p", { className: "help" }, say("no text to check")));
    return;
  }
  try {
    const suggestions = []; // one sentence at a time: other questions may come between
    for (const sentence of row.answer.sentences) {
      if (!answers.has(JSON.stringify(checkQuestion(row, sentence)))) drawCorrections(row, suggestions, false);
      const found = await ask(checkQuestion(row, sentence), signal);
      if (!isNow()) return;
      const [first] = sentence;
      suggestions.push(...found.suggestions.map((each) => ({ ...each, start: first + each.start, end: first + each.end })));
    }
    drawCorrections(row, suggestions, true);
  } catch (error) {
    if (isNow() && error.name !== "AbortError") byId("suggested").replaceChildren(make("p", { className: "help" }, error.message));
  }
}

async function drawWhy(rows, signal, isNow) {
  const { words } = rows[0].answer;
  const at = state.at === null ? null : Math.min(state.at, words.length - 1);
  byId("why").hidden = at === null;
  if (at === null) return;
  const places = rows.map((row) => placeIn(at, words, row.answer.words));
  const found = await Promise.all(rows.map((row, number) =>
    ask(placeQuestion(row, places[number], otherWords(state)), signal).catch((error) => ({ error: error.message }))));
  if (!isNow()) return;
  const word = labelAt(rows[0], at);
  byId("why-title").textContent = word === GAP_MARK && !words[at].form ? say("why gap") : say("why", { word });
  if (document.activeElement !== byId("edit")) byId("edit").value = words[at].form;
  byId("likeliest").replaceChildren(...(found[0].likeliest ? [likeliestList(found[0].likeliest, (word) => replace(words[at], word))] : [make("p", {}, found[0].error)]));
  drawVerdict(rows, found);
  const several = found[0].asked?.length > 1 ? found[0].asked : null;
  byId("compared").replaceChildren(...(several ? [make("div", { className: "card" }, make("h3", {}, say("compared")), comparedTable(several, []))] : []));
  const chosenOnes = found.map((place) => place.asked?.[0] ?? place.best);
  const reach = reachOf(chosenOnes.filter(Boolean));
  const readings = await Promise.all(rows.map((row, number) => chosenOnes[number]
    ? ask(readingsQuestion(row.model, (found[number].asked.length ? found[number].asked : [found[number].best]).map((each) => each.word)), signal).catch(() => null) : null));
  if (!isNow()) return;
  byId("cards").replaceChildren(...rows.map((row, number) => card(row, found[number], chosenOnes[number], reach, readings[number])));
}

function card(row, place, choice, reach, found) {
  const name = make("small", {}, ` ${rowName(row)}`);
  if (!choice) return make("div", { className: "card" }, make("h3", {}, name), make("p", {}, place.error));
  const readings = found?.readings[choice.word] ?? [];
  return make("div", { className: "card" },
    make("h3", {}, make("bdi", { lang: "fr" }, shownWord(choice.word)), name), readingsList(readings),
    scrolled(`${shownWord(choice.word)}, ${rowName(row)}`, termsTable(choice, row.off, reach, readings)));
}

// Replace a word: the first sentence stays, the changed one becomes the second.
function replace(word, other) {
  const text = beginning(state.text);
  const put = other === given.end ? "" : other;
  const space = word.form || !text || !put ? "" : " ";
  const capital = word.start === 0 && /^\p{Lu}/u.test(text) ? put.charAt(0).toUpperCase() + put.slice(1) : put;
  return change({ other: cut(text, 0, word.start) + space + capital + cut(text, word.end) });
}

function afterPause(what) {
  clearTimeout(waiting);
  waiting = setTimeout(() => change(what()), PAUSE);
}

for (const id of ["text", "other", "others"]) byId(id).oninput = () => afterPause(() => ({ [id]: byId(id).value }));
byId("edit").oninput = () => afterPause(() => {
  const { words } = shown[0].answer;
  replace(words[Math.min(state.at, words.length - 1)], byId("edit").value.trim());
  return {};
});
byId("model").onchange = () => change({ model: byId("model").value, beside: state.beside === byId("model").value ? "" : state.beside, off: [] });
byId("beside").onchange = () => change({ beside: byId("beside").value });
byId("context").onchange = () => change({ context: byId("context").value });
byId("lang").onchange = () => { shown = []; change({ lang: byId("lang").value }); };
byId("example").onchange = () => {
  const example = examples[byId("example").value];
  const beside = example?.beside ? given.models.find((name) => name !== state.model) ?? "" : "";
  if (example) change({ ...START, model: state.model, lang: state.lang, ...example.state, beside });
};
document.querySelector("#about details").ontoggle = drawCard;
document.querySelector("#expected details").ontoggle = () => { if (shown[0]) drawCharts(byId("charts"), shown, state.at); };
byId("write").onclick = write;
byId("save").onclick = save;
byId("copy").onclick = async () => {
  await navigator.clipboard.writeText(location.href);
  tell(say("copied"));
};
for (const event of ["pointerover", "focusin"]) document.addEventListener(event, showTip);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
window.onhashchange = () => {
  Object.assign(state, START, { lang: state.lang }, stateFrom(location.hash));
  update();
};
for (const fold of document.querySelectorAll(".fold")) fold.open = WIDE.matches;
if (kept) {
  for (const id of ["save", "copy"]) byId(id).hidden = true;
  for (const id of ["edit", "others", "constraint", "context"]) byId(id).parentElement.hidden = true;
  for (const id of ["text", "other"]) byId(id).readOnly = true;
  byId("example").parentElement.hidden = !kept.examples;
  byId("writing").hidden = !kept.seeds;
}
Object.assign(state, kept ? kept.state : location.hash.length > 1 ? {} : given.examples[0].state, kept ? {} : stateFrom(location.hash));
update();
