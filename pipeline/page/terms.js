// Why a word has its probability: log p as a sum of terms, and words compared in one gap.

const READINGS_SHOWN = 8; // of a word, the likeliest first
const marker = (place) => String.fromCodePoint(0x2460 + place); // ① ② ③

// The terms of a choice in order: background, features, −log Z, spelling. They sum to log p.
function termsOf(choice) {
  const plain = (name, nats) => ({ name, label: say(name), help: say(`${name} help`), nats });
  const features = choice.terms.map((term) => ({
    name: term.feature === `form=${choice.word}` ? "form" : term.feature,
    label: labelOf(term.feature, choice.word), help: helpOf(term.feature), nats: term.nats,
    readings: term.readings, family: familyOf(term.feature),
  }));
  const spelling = choice.spelling === 0 ? [] : [plain("spelling", choice.spelling)];
  return [plain("background", choice.background), ...features, plain("−log Z", -choice.log_z), ...spelling];
}

function termsTable(choice, off, reach) {
  const rows = termsOf(choice).map((term) => {
    const isOff = term.family && term.nats === 0 && off.includes(term.family);
    const from = (term.readings ?? []).filter((place) => place < READINGS_SHOWN).map(marker).join(" ");
    const more = (term.readings ?? []).some((place) => place >= READINGS_SHOWN) ? " …" : "";
    return make("tr", { className: isOff ? "off" : "", title: term.help },
      make("th", { scope: "row" }, term.label, from ? make("span", { className: "from" }, ` ${from}${more}`) : null),
      make("td", { className: "number" }, signed(term.nats)),
      make("td", { className: "bar" }, bar(term.nats, reach)));
  });
  const total = make("tr", { className: "total" }, make("th", { scope: "row" }, "log p"),
    make("td", { className: "number" }, signed(choice.log_p)), make("td", {}, `p = ${percent(choice.p)}`));
  return make("table", { className: "terms" }, make("tbody", {}, ...rows, total));
}

// What the lexicon says that the word can be; the numbers stand beside the terms that come from it.
function readingsList(choice) {
  const shown = choice.readings.slice(0, READINGS_SHOWN).map((reading, place) =>
    make("li", {}, `${marker(place)} ${readingText(reading)} `, make("i", {}, `(${percent(reading.share)}, ${reading.source})`)));
  const more = choice.readings.length - shown.length;
  if (more > 0) shown.push(make("li", {}, `… ${say("more", { count: more })}`));
  return make("ul", { className: "from", "aria-label": say("word readings") }, ...shown);
}

// A bar from zero in a row that reaches as far for all.
function bar(nats, [low, high]) {
  const value = nats ?? low, whole = high - low || 1;
  const style = { "--from": `${100 * (Math.min(value, 0) - low) / whole}%`, "--long": `${100 * Math.abs(value) / whole}%` };
  return make("div", { "aria-hidden": "true" }, make("i", { className: value < 0 ? "minus" : "", style }));
}

function reachOf(choices) {
  const all = choices.flatMap((choice) => termsOf(choice).map((term) => term.nats ?? 0));
  return [Math.min(0, ...all), Math.max(0, ...all)];
}

// Words in one gap: the terms that differ by what is shown, those that differ most first.
function comparedTable(choices) {
  const columns = choices.map((choice) => new Map(termsOf(choice).map((term) => [term.name, term])));
  const names = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  const nats = (name) => columns.map((column) => column.get(name)?.nats ?? 0);
  const spread = (name) => Math.max(...nats(name)) - Math.min(...nats(name));
  const differ = names.filter((name) => spread(name) >= 0.005).sort((a, b) => spread(b) - spread(a));
  const head = make("tr", {}, make("th", {}), ...choices.map((choice) =>
    make("th", { scope: "col", className: "number" }, make("bdi", {}, choice.word), make("small", {}, percent(choice.p)))));
  const body = differ.map((name) => {
    const term = columns.map((column) => column.get(name)).find(Boolean);
    return make("tr", { title: term.help }, make("th", { scope: "row" }, term.label),
      ...columns.map((column) => make("td", { className: "number" }, column.has(name) ? signed(column.get(name).nats) : "·")));
  });
  const total = make("tr", { className: "total" }, make("th", { scope: "row" }, "log p"),
    ...choices.map((choice) => make("td", { className: "number" }, signed(choice.log_p))));
  return make("div", { className: "scroll" }, make("table", { className: "compared" }, make("thead", {}, head), make("tbody", {}, ...body, total)));
}

// The likeliest words, each a button that puts it there.
function likeliestList(words, choose) {
  return make("div", { className: "likeliest" }, ...words.map((each) =>
    make("button", { type: "button", onclick: () => choose(each.word) },
      make("bdi", {}, shownWord(each.word)), " ", make("span", {}, percent(each.p)))));
}

function shownWord(word) {
  return word === END ? "⏎" : word;
}
