// The other views: corrections, new sentences, the legend, the model's card, and the saved page.

// List the suspected errors of the first text with odds and reason, and underline them above.
function drawCorrections(row, suggestions, isWhole) {
  row.buttons.forEach((button, place) => {
    const { start, end, form } = row.answer.words[place];
    button.classList.toggle("suspect", Boolean(form) && suggestions.some((each) => each.start < end && start < each.end));
  });
  const lines = suggestions.map((each) => suggestionLine(each));
  const all = suggestions.length > 1 && canAccept(suggestions) ? make("button", { type: "button", onclick: () => accept(suggestions) }, say("accept all")) : null;
  const none = isWhole && !lines.length ? make("p", { className: "help" }, say("no errors")) : null;
  const busy = isWhole ? null : make("p", { className: "help" }, say("looking"));
  byId("suggested").replaceChildren(...[lines.length ? make("ul", {}, ...lines) : null, all, none, busy].filter(Boolean));
}

function suggestionLine(each) {
  const reason = suggestionReason(each.reason);
  const odds = say("n times", { count: power(each.gain) });
  const says = [...sayWith("suggestion", { word: make("s", { lang: "fr" }, each.word), other: make("b", { lang: "fr" }, each.suggestion), times: odds }),
    reason ? say(reason.key, { reason: reason.reason }) : "", "."];
  const button = !canAccept([each]) ? null : make("button", { type: "button", onclick: () => accept([each]), "aria-label": `${say("accept")} ${each.suggestion}` }, say("accept"));
  return make("li", {}, make("span", {}, ...says), " ", button);
}

// Return the text with the suggestions applied from its end, so that places stay valid.
function accepted(suggestions) {
  const letters = [...state.text];
  for (const each of [...suggestions].sort((a, b) => b.start - a.start)) {
    letters.splice(each.start, each.end - each.start, ...each.suggestion);
  }
  return letters.join("");
}

// Return whether a saved page has the answer.
const canAccept = (suggestions) => !kept || answers.has(JSON.stringify(readQuestion({ ...rowsOf(state)[0], text: accepted(suggestions) })));

function accept(suggestions) {
  byId("text").focus();
  return change({ text: accepted(suggestions), other: "", at: null, off: kept ? [] : state.off });
}

let seed = 0;

async function write() {
  const words = shown[0].answer.words;
  const place = state.at === null || kept ? null : words[Math.min(state.at, words.length - 1)];
  const start = [...beginning(state.text)].slice(0, place ? place.start : undefined).join("");
  const constraints = byId("constraint").value.split(",").map((each) => each.trim()).filter(Boolean);
  byId("written").replaceChildren(make("p", {}, say("writing")));
  seed = kept ? seed % kept.seeds + 1 : seed + 1;
  try {
    const way = { model: state.model, off: kept ? [] : state.off };
    const { sentences } = await ask({ ask: "write", model: way.model, start, constraints, seed, off: way.off, context: state.context });
    byId("written").replaceChildren(make("p", { className: "help" }, rowName(way)), ...sentences.map(sentenceShown));
  } catch (error) {
    byId("written").replaceChildren(make("p", {}, error.message));
  }
}

function sentenceShown(sentence) {
  const read = () => change({ text: sentence.text, other: "", at: null });
  const glosses = sentence.words.map((word) => make("span", {}, make("bdi", { lang: "fr" }, word.form),
    make("small", {}, word.features.map((feature) => labelOf(feature)).join(", "))));
  return make("div", { className: "sentence" },
    make("p", {}, make("bdi", { lang: "fr" }, sentence.text + (sentence.ended ? "" : " […]")), " ",
      kept ? null : make("button", { type: "button", onclick: read }, say("use"))),
    make("details", {}, make("summary", {}, say("gloss")), make("div", { className: "gloss" }, ...glosses)));
}

// List the technical terms of the page with their meaning.
function drawLegend() {
  byId("words-explained").replaceChildren(...given.legend.flatMap((key) => {
    const name = chosen(given.interface[key] ?? given.features[key]) ?? key;
    return [make("dt", {}, name), make("dd", {}, chosen(given.help[key]))];
  }));
}

async function drawCard() {
  if (!document.querySelector("#about details").open) return;
  try {
    const found = await ask({ ask: "card", model: state.model });
    const facts = [
      ["card model", state.model],
      ["card version", `Accord ${found.version}`],
      ["card read", (found.corpora ?? []).map((each) => `${each.name} (${each.licence})`).join(", ")],
      ["card lexicons", (found.lexicons ?? []).map((each) => each.name).join(", ")],
      ["card words", found.words ? written(found.words) : ""],
      ["card parameters", found.parameters ? written(found.parameters) : ""],
      ["card weights", Object.values(found.weights).map((each) => `${each.slice(0, 12)}…`).join(", ")],
    ].filter(([, value]) => value);
    byId("card").replaceChildren(
      make("dl", {}, ...facts.flatMap(([key, value]) => [make("dt", {}, say(key)), make("dd", {}, value)])),
      make("div", { lang: "en" }, ...markdown(found.card ?? "")),
      make("h3", {}, say("card cite")), scrolled(say("card cite"), make("pre", { lang: "en" }, found.cite)));
  } catch (error) {
    byId("card").replaceChildren(make("p", {}, error.message));
  }
}

// Render the Markdown of a card: headings, tables, code and paragraphs; the rest is text.
function markdown(text) {
  const body = text.replace(/^---\n.*?\n---\n/s, "").replace(/^#\s.*\n/m, "");
  return body.split(/(^```[^]*?^```$)/m).flatMap((piece) => {
    if (piece.startsWith("```")) return scrolled("Python", make("pre", {}, piece.replace(/^```\w*\n|\n```$/g, "")));
    return piece.split(/\n\n+/).map((block) => block.trim()).filter(Boolean).map((block) => {
      if (block.startsWith("#")) return make("h3", {}, block.replace(/^#+\s*/, ""));
      return block.startsWith("|") ? cardTable(block) : make("p", {}, ...inLine(block));
    });
  });
}

function cardTable(block) {
  const [head, , ...rows] = block.split("\n").map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  return scrolled(head.filter(Boolean).join(", "), make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((cell) => cell ? make("th", { scope: "col" }, cell) : make("td", {})))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))))));
}

// Render code, emphasis and escaped signs of a line.
function inLine(block) {
  return block.replaceAll("\n", " ").split(/(`[^`]+`|\*[^*]+\*)/).filter(Boolean).map((part) => {
    const plain = part.replace(/\\([[\]|`])/g, "$1").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
    if (part.startsWith("`")) return make("code", {}, plain.slice(1, -1));
    return part.startsWith("*") ? make("em", {}, plain.slice(1, -1)) : plain;
  });
}

// Save the page with all answers that its present state can need.
async function savedPage() {
  const needed = {};
  const keep = async (question) => (needed[JSON.stringify(question)] = await ask(question));
  for (const model of new Set(shown.map((row) => row.model))) {
    await keep({ ask: "about", model });
    await keep({ ask: "card", model });
  }
  for (const row of shown) {
    const { words } = await keep(readQuestion(row));
    await keep(expectQuestion(row));
    const about = await ask({ ask: "about", model: row.model });
    if (!about.explained) continue;
    const here = placeIn(state.at ?? 0, shown[0].answer.words, words);
    for (const at of words.length > LONG ? [here] : words.keys()) { // of a long text only what is on screen
      const { asked } = await keep(placeQuestion(row, at, otherWords(state)));
      await keep(readingsQuestion(row.model, asked.map((each) => each.word)));
    }
  }
  for (const sentence of shown[0].answer.sentences) await keep(checkQuestion(shown[0], sentence));
  const page = await (await fetch(location.pathname)).text();
  const json = JSON.stringify({ state, answers: needed }).replaceAll("<", "\\u003c");
  return page.replace('id="kept">null<', () => `id="kept">${json}<`);
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
