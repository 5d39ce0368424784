// Why a word has its probability: log₂ p as a sum of terms in bits, and words compared in one gap.

const READINGS_SHOWN = 8; // of a word, the likeliest first
const marker = (place) => String.fromCodePoint(0x2460 + place); // ① ② ③

// Return the terms of a word in order: background, features, −log Z, spelling. They sum to log₂ p.
function termsOf(choice) {
  const plain = (name, bits) => ({ name, label: say(name), help: chosen(given.help[name]), bits, families: [name] });
  const features = choice.terms.map((term) => ({
    name: term.feature === `form=${choice.word}` ? "form" : term.feature, feature: term.feature,
    label: labelOf(term.feature, choice.word), help: helpOf(term.feature), bits: term.bits, families: term.families,
  }));
  const spelling = choice.spelling === 0 ? [] : [plain("spelling", choice.spelling)];
  return [plain("background", choice.background), ...features, plain("−log Z", -choice.log2_z), ...spelling];
}

// Return the name of a term with its tooltip.
const explained = (label, help) => help ? make("button", { type: "button", className: "explained", "data-tip": help }, label) : label;

// Return whether an analysis has a feature; of a crossed one, all its parts.
function has(reading, feature) {
  const own = new Set([`pos=${reading.upos}`, `lemma=${reading.lemma}`, `source=${reading.source}`, ...reading.feats]);
  return feature.split(CROSS).every((part) => own.has(part));
}

function termsTable(choice, off, reach, readings) {
  const rows = termsOf(choice).map((term) => {
    const isOff = Boolean(term.feature) && term.families.some((family) => off.includes(family));
    const from = term.feature ? [...readings.keys()].filter((place) => has(readings[place], term.feature)) : [];
    const shown = from.filter((place) => place < READINGS_SHOWN).map(marker).join(" ") + (from.some((place) => place >= READINGS_SHOWN) ? " …" : "");
    return make("tr", { className: isOff ? "off" : "" },
      make("th", { scope: "row" }, explained(term.label, term.help), shown ? make("span", { className: "from" }, ` ${shown}`) : null),
      make("td", { className: "number" }, signed(term.bits)),
      make("td", { className: "number times" }, isOff ? "" : factor(term.bits)),
      make("td", { className: "bar" }, bar(term.bits, reach)));
  });
  const total = make("tr", { className: "total" }, make("th", { scope: "row" }, explained("log₂ p", chosen(given.help["log₂ p"]))),
    make("td", { className: "number" }, signed(choice.log2_p)), make("td", { colSpan: 2 }, `p = ${percent(choice.p)}`));
  const head = make("tr", {}, make("th", { scope: "col" }, say("term")), make("th", { scope: "col", className: "number" }, say("bits")),
    make("th", { scope: "col", className: "number" }, say("times")), make("td", {}));
  return make("table", { className: "terms" }, make("thead", {}, head), make("tbody", {}, ...rows, total));
}

// List the analyses of the word; their numbers mark the terms that come from them.
function readingsList(readings) {
  const shown = readings.slice(0, READINGS_SHOWN).map((reading, place) =>
    make("li", {}, `${marker(place)} ${readingText(reading)} `,
      make("i", {}, `(${percent(reading.share)}, `, explained(reading.source, chosen(given.help.source)), ")")));
  const more = readings.length - shown.length;
  if (more > 0) shown.push(make("li", {}, `… ${say("more", { count: more })}`));
  return make("ul", { className: "from", "aria-label": say("word readings") }, ...shown);
}

// Return a bar from zero, on the same scale in all rows.
function bar(bits, [low, high]) {
  const value = bits ?? low, whole = high - low || 1;
  const style = { "--from": `${100 * (Math.min(value, 0) - low) / whole}%`, "--long": `${100 * Math.abs(value) / whole}%` };
  return make("div", { "aria-hidden": "true" }, make("i", { className: value < 0 ? "minus" : "", style }));
}

function reachOf(choices) {
  const all = choices.flatMap((choice) => termsOf(choice).map((term) => term.bits ?? 0));
  return [Math.min(0, ...all), Math.max(0, ...all)];
}

// Return a table of words in one gap: the terms that visibly differ, largest difference first.
function comparedTable(choices, off) {
  const columns = choices.map((choice) => new Map(termsOf(choice).map((term) => [term.name, term])));
  const names = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  const bits = (name) => columns.map((column) => column.get(name)?.bits ?? 0);
  const spread = (name) => Math.max(...bits(name)) - Math.min(...bits(name));
  const differ = names.filter((name) => spread(name) >= 0.005).sort((a, b) => spread(b) - spread(a));
  const head = make("tr", {}, make("th", { scope: "col" }, say("term")), ...choices.map((choice) =>
    make("th", { scope: "col", className: "number" }, make("bdi", { lang: "fr" }, shownWord(choice.word)), make("small", {}, percent(choice.p)))));
  const body = differ.map((name) => {
    const term = columns.map((column) => column.get(name)).find(Boolean);
    const isOff = Boolean(term.feature) && term.families.some((family) => off.includes(family));
    return make("tr", { className: isOff ? "off" : "" }, make("th", { scope: "row" }, explained(term.label, term.help)),
      ...columns.map((column) => make("td", { className: "number" }, column.has(name) ? signed(column.get(name).bits) : "·")));
  });
  const total = make("tr", { className: "total" }, make("th", { scope: "row" }, "log₂ p"),
    ...choices.map((choice) => make("td", { className: "number" }, signed(choice.log2_p))));
  return scrolled(say("compared"), make("table", { className: "compared" }, make("thead", {}, head), make("tbody", {}, ...body, total)));
}

// Wrap a wide table or drawing, so that it scrolls sideways by keyboard too.
const scrolled = (name, ...children) => make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": name }, ...children);

// List the likeliest words as buttons that insert them; a saved page only shows them.
function likeliestList(words, choose) {
  return make("div", { className: "likeliest" }, ...words.map((each) =>
    make(kept ? "span" : "button", kept ? {} : { type: "button", onclick: () => choose(each.word) },
      make("bdi", { lang: "fr" }, shownWord(each.word)), " ", make("small", {}, percent(each.p)))));
}

function shownWord(word) {
  return word === given.end ? "⏎" : word;
}
