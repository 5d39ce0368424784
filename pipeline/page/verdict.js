// The verdict in words: how much likelier one word is than another, and mainly why.

const ALIKE = 0.07; // bits, 5 %: words that differ by less are said to be as likely
const MAINLY = 0.5; // of all that speaks for a word: one reason with that much is the main one
const FOREIGN = 3.55; // bits a character for the usual word: French costs 1 to 3.4, other languages from 3.7
const FEWEST = 3; // words of a text that can look foreign

// Return by how much each family of features, the background and the letters favour one word over another.
function reasonsFor(choice, other) {
  const simple = new Set(other.terms.flatMap((term) => term.feature.split(CROSS)));
  const mine = new Set(choice.terms.flatMap((term) => term.feature.split(CROSS)));
  const sums = new Map();
  const add = (term, bits, others) => {
    const parts = term.feature?.split(CROSS) ?? [];
    const differing = parts.filter((part) => !others.has(part)).map(familyOf);
    const families = differing.length ? [...new Set(differing)] : term.families;
    for (const family of families) sums.set(family, (sums.get(family) ?? 0) + bits / families.length);
  };
  for (const term of termsOf(choice)) add(term, term.bits ?? 0, simple);
  for (const term of termsOf(other)) add(term, -(term.bits ?? 0), mine);
  return sums;
}

// Return the one or two families with the largest share of a difference.
function mainReason(sums) {
  const all = [...sums].filter(([name, bits]) => bits > 0 && name !== "−log Z").sort((a, b) => b[1] - a[1]);
  if (!all.length) return null;
  const whole = all.reduce((sum, [, bits]) => sum + bits, 0);
  const named = ([name]) => chosen(given.reasons[name]) ?? say("because of feature", { name: familyLabel(name) });
  if (all.length === 1 || all[0][1] >= MAINLY * whole) return { key: "mainly", reason: named(all[0]) };
  return { key: "because", reason: `${named(all[0])} ${say("and")} ${named(all[1])}` };
}

// "verte is 12 times likelier than vert here, mainly because of gender."
function comparison(choice, other, key = "likelier") {
  const bits = (choice.log2_p ?? -Infinity) - (other.log2_p ?? -Infinity);
  if (bits < 0) return comparison(other, choice, key);
  const words = { word: inItalics(shownWord(choice.word)), other: inItalics(shownWord(other.word)) };
  if (bits < ALIKE) return sayWith("as likely", words);
  const reason = mainReason(reasonsFor(choice, other));
  return [...sayWith(key, { ...words, times: make("b", {}, say("n times", { count: power(bits) })) }),
    reason ? say(reason.key, { reason: reason.reason }) : "", ` (${number(bits, 1)} ${say("bits")}).`];
}

// Return the surprisal of one word: "verte: one chance in 6,700 (12.7 bits)."
function chance(word, bits) {
  const values = { word: inItalics(word), bits: number(bits, 1), chances: make("b", {}, power(bits ?? Infinity)) };
  return sayWith("chance", values);
}

// The same word in two sentences.
function inBoth(choice, other) {
  const bits = choice.log2_p - other.log2_p, word = inItalics(shownWord(choice.word));
  if (Math.abs(bits) < ALIKE) return sayWith("alike in both", { word });
  const times = make("b", {}, say("n times", { count: power(Math.abs(bits)) }));
  return [...sayWith(bits > 0 ? "likelier in first" : "likelier in second", { word, times }), ` (${number(Math.abs(bits), 1)} ${say("bits")}).`];
}

// Return the lines for one choice of model and features, from its rows and their words at the place.
function verdictOf(rows, found) {
  const [first, second] = found;
  if (!first?.asked) return [];
  const asked = [...first.asked].sort((a, b) => b.log2_p - a.log2_p);
  if (otherWords(state).length && asked.length > 1) return asked.slice(1, 4).map((each) => comparison(asked[0], each));
  if (second?.asked?.length && first.asked.length) {
    const [one, other] = [first.asked[0], second.asked[0]];
    return [one.word === other.word ? inBoth(one, other) : comparison(one, other)];
  }
  if (!first.asked.length) return [sayWith("likeliest next", { word: inItalics(shownWord(first.best.word)), p: percent(first.best.p) })];
  const [choice] = first.asked, { best } = first;
  if (best.word === choice.word) return [[...chance(shownWord(choice.word), -choice.log2_p), " ", say("is likeliest")]];
  return [[...chance(shownWord(choice.word), -choice.log2_p), " ", ...comparison(best, choice)]];
}

// Compare the whole sentences of one choice of model and features.
function sentencesVerdict(rows) {
  const [one, other] = rows.map(bitsOf);
  if (!Number.isFinite(one) || !Number.isFinite(other)) return null;
  const bits = Math.abs(one - other);
  if (bits < ALIKE) return [say("sentences alike")];
  return sayWith(one < other ? "first sentence" : "second sentence", {
    times: make("b", {}, say("n times", { count: power(bits) })), bits: number(bits, 1),
  });
}

// Draw a paragraph for each choice of model and features.
function drawVerdict(rows, found) {
  const ways = [...new Set(rows.map((row) => row.way))];
  const lines = ways.flatMap((way) => {
    const chosenRows = rows.filter((row) => row.way === way);
    const places = found ? found.filter((_, place) => rows[place].way === way) : [];
    const own = found ? verdictOf(chosenRows, places) : [];
    if (chosenRows.length > 1) own.push(sentencesVerdict(chosenRows));
    else if (!found) own.push(mostSurprising(chosenRows[0]));
    const name = ways.length > 1 ? make("span", { className: "way" }, `${rowName(chosenRows[0])}${say("colon")} `) : null;
    return own.filter(Boolean).map((line) => make("p", {}, name?.cloneNode(true), ...line));
  });
  byId("verdict").replaceChildren(...lines);
}

function mostSurprising({ answer }) {
  const words = answer.words.filter((word) => /[\p{L}\p{N}]/u.test(word.form));
  if (words.length < 2) return null;
  const most = words.reduce((best, word) => (word.bits ?? Infinity) > (best.bits ?? Infinity) ? word : best);
  return [...sayWith("most surprising", { word: inItalics(most.form) }), ...chance(most.form, most.bits).slice(1)];
}

// Return whether a text looks foreign: its median word has far more bits per character than French.
function looksForeign({ answer }) {
  const costs = answer.words.filter((word) => /\p{L}/u.test(word.form)).map((word) => (word.bits ?? 60) / (word.form.length + 1));
  return costs.length >= FEWEST && costs.sort((a, b) => a - b)[Math.floor(costs.length / 2)] > FOREIGN;
}

// The main reason of a suggestion: a feature such as `not Gender=Masc`, or the words after it.
function suggestionReason(name) {
  const family = name in given.reasons ? name : familyOf(name.replace(/^not /, "").split(CROSS).at(-1));
  return { key: "mainly", reason: chosen(given.reasons[family]) ?? say("because of feature", { name: familyLabel(family) }) };
}
