// The words of each reading as buttons, coloured by surprisal; and tooltips.

const byId = (id) => document.getElementById(id);
const END_MARK = "⏎", GAP_MARK = "…", LONG = 100; // words
let shown = []; // the rows on screen, each with its element and buttons

const keyOf = (row) => JSON.stringify(readQuestion(row));
const bitsOf = (row) => row.answer.words.reduce((sum, word, place, words) =>
  sum + (row.answer.gap && place === words.length - 1 ? 0 : word.bits ?? Infinity), 0);

function rowName(row) {
  const off = row.off.length ? `, ${say("without", { features: row.off.map(familyLabel).join(", ") })}` : "";
  return row.model + off;
}

// Keep the rows that are on screen; draw others when their words arrive.
async function readRows(signal) {
  const before = new Map(shown.map((row) => [row.key, row]));
  const rows = await Promise.all(rowsOf(state).map(async (row) => {
    const key = keyOf(row), old = before.get(key);
    before.delete(key); // two rows of one text are two elements
    return old ? Object.assign(old, row) : newRow(row, key, await ask(readQuestion(row), signal));
  }));
  signal.throwIfAborted();
  shown = rows;
  const there = [...byId("rows").children]; // elements that stay keep the focus
  if (there.length !== shown.length || shown.some((row, place) => row.element !== there[place])) {
    byId("rows").replaceChildren(...shown.map((row) => row.element));
  }
  markPlaces();
  return shown;
}

function newRow(row, key, answer) {
  const name = make("p", { className: "name" });
  const words = make("div", { className: "words", role: "group", onkeydown: moveByKeys });
  const made = { ...row, key, name, words, answer, buttons: [], element: make("div", { className: "row" }, name, words) };
  addWords(made);
  return made;
}

// Make a button for each word, and keep the line breaks of the text.
function addWords(row) {
  const { words } = row.answer, letters = row.text.includes("\n") ? [...row.text] : null;
  words.forEach((word, place) => {
    const before = words[place - 1];
    if (letters && before && letters.slice(before.end, word.start).includes("\n")) row.words.append(make("br"));
    row.buttons.push(wordButton(row, place));
    row.words.append(row.buttons[place], " ");
  });
}

function wordButton(row, place) {
  const word = row.answer.words[place], bits = make("small", {}, number(word.bits, 1));
  const spelled = word.spelled ? make("small", { className: "spelled" }, say("spelled mark")) : null;
  return make("button", {
    type: "button", className: `word${word.form ? "" : " end"}${word.spelled ? " unknown" : ""}`, lang: "fr", dir: "auto", tabIndex: -1,
    "aria-pressed": "false", style: { "--surprise": `${Math.min(75, (word.bits ?? 20) * 4)}%` },
    onclick: () => change({ at: placeIn(place, row.answer.words, shown[0].answer.words) }),
  }, make("span", { className: "form" }, word.form || END_MARK), bits, spelled);
}

// Update what depends on other rows or on the selected place: names, sums, differences, the pressed word.
function markPlaces() {
  const [first] = shown, total = bitsOf(first);
  shown.forEach((row, number) => {
    const { words, gap } = row.answer, last = words.length - 1;
    const away = bitsOf(row) - total, against = number && Number.isFinite(away) ? ` (${signed(away, 1)})` : "";
    const sum = say(gap ? "total gap" : "total", { bits: oneDigit(bitsOf(row)) + against, words: written(words.length - Boolean(gap)) });
    row.name.replaceChildren(...(shown.length > 1 || kept?.examples ? [make("b", {}, rowName(row)), " · "] : []), sum);
    row.words.setAttribute("aria-label", rowName(row));
    if (gap) {
      row.buttons[last].firstChild.textContent = GAP_MARK;
      row.buttons[last].querySelector("small").textContent = "";
      row.buttons[last].style.setProperty("--surprise", "0%");
    }
    const differing = row.text === first.text ? null : difference(first.answer.words, words);
    const at = state.at === null ? null : placeIn(Math.min(state.at, first.answer.words.length - 1), first.answer.words, words);
    row.buttons.forEach((button, place) => {
      button.setAttribute("aria-pressed", String(place === at));
      button.tabIndex = place === (at ?? 0) ? 0 : -1;
      button.classList.toggle("differs", Boolean(differing) && place >= differing.start && place < words.length - differing.end);
    });
  });
}

const oneDigit = (value) => number(Number.isFinite(value) ? value : null, 1);

// Entropy and rank come after the words.
function addExpectations(row, expected) {
  row.expected = expected;
  if (!expected?.entropy || row.buttons.length !== expected.entropy.length) return;
  row.buttons.forEach((button, place) => {
    const small = button.querySelector("small");
    small.querySelector("i")?.remove();
    small.append(make("i", {}, `${small.textContent ? " · " : ""}H ${number(expected.entropy[place], 1)}`));
    button.querySelector(".parts")?.remove();
    if (button.querySelector(".form").textContent !== GAP_MARK) button.append(partsBar(expected.parts[place]));
  });
}

// Stack the parts of a surprisal: part of speech, inflection, lemma, form. Ambiguity is negative.
function partsBar(parts) {
  const shown = parts.slice(0, 4).map((bits) => Math.max(bits, 0)), whole = shown.reduce((sum, bits) => sum + bits, 0);
  return make("span", { className: "parts", "aria-hidden": "true", style: { "--whole": `${Math.min(100, whole * 5)}%` } },
    ...shown.map((bits, part) => make("i", { className: `s${part}`, style: { "--long": `${100 * bits / (whole || 1)}%` } })));
}

// Say whether the chosen word, or the most surprising one, surprises by its grammar or as a word.
function drawParts({ answer, expected }, at) {
  const { words, gap } = answer, last = words.length - 1;
  const most = words.reduce((best, word, place) => /\p{L}/u.test(word.form) && word.bits > (words[best]?.bits ?? 0) ? place : best, -1);
  const place = at === null ? most : Math.min(at, last), parts = expected?.parts?.[place];
  if (!parts || (gap && place === last)) return byId("parts").replaceChildren();
  const [pos, inflection, lemma, form] = parts, grammar = pos + inflection, lexical = lemma + form;
  const values = { word: inItalics(words[place].form || END_MARK), bits: number(words[place].bits, 1) };
  const verdict = grammar > lexical ? sayWith("by grammar", { ...values, part: number(grammar, 1) })
    : sayWith("as a word", { ...values, part: number(lexical, 1) });
  const key = ["part pos", "part inflection", "part lemma", "part form"].map((name, part) => make("li", {}, make("i", { className: `s${part}` }), say(name)));
  byId("parts").replaceChildren(make("p", {}, ...verdict), make("ul", { className: "key" }, ...key));
}

// Describe a word for its tooltip.
function wordTip(row, place) {
  const word = row.answer.words[place], expected = row.expected;
  const isGap = row.answer.gap && place === row.answer.words.length - 1;
  const parts = isGap ? [say("gap tip")] : [say(word.form ? "word tip" : "end tip", { bits: number(word.bits, 2), chances: power(word.bits ?? Infinity) })];
  if (expected?.rank && !isGap) parts.push(say("rank tip", { rank: written(expected.rank[place]) }));
  if (expected?.entropy) parts.push(say("entropy tip", { entropy: number(expected.entropy[place], 1) }));
  if (expected?.parts && !isGap) {
    const [pos, inflection, lemma, form] = expected.parts[place].map((bits) => number(bits, 1));
    parts.push(say("parts tip", { pos, inflection, lemma, form }));
  }
  if (word.spelled) parts.push(say("spelled tip"));
  return parts.join(" ");
}

function moveByKeys(event) {
  const buttons = [...event.currentTarget.querySelectorAll(".word")], at = buttons.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || !buttons[to]) return;
  event.preventDefault();
  buttons[to].focus();
  buttons[to].click();
}

// Show a tooltip at the element under the pointer or with the focus; Escape hides it.
function tipOf(element) {
  if (!element?.closest) return null;
  const told = element.closest("[data-tip]");
  if (told) return { element: told, text: told.dataset.tip };
  const word = element.closest(".word");
  const row = word && shown.find((each) => each.buttons.includes(word));
  return row ? { element: word, text: wordTip(row, row.buttons.indexOf(word)) } : null;
}

function showTip(event) {
  const found = tipOf(event.target), tip = byId("tip");
  document.querySelector('[aria-describedby="tip"]')?.removeAttribute("aria-describedby");
  tip.hidden = !found;
  if (!found) return;
  tip.textContent = found.text;
  found.element.setAttribute("aria-describedby", "tip");
  const place = found.element.getBoundingClientRect(), margin = 8;
  const left = Math.max(margin, Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - margin));
  const below = place.bottom + margin + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${left + window.scrollX}px`;
  tip.style.top = `${window.scrollY + (below ? place.bottom + margin : place.top - margin - tip.offsetHeight)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
