// Curves along the sentence: probabilities of features and entropy before each word.

const SERIES = 6, HEIGHT = 190, LEFT = 34, RIGHT = 14, TOP = 8, BOTTOM = 64, STEP = 34;
const CURVES = { Number: ["Sing", "Plur"], Gender: ["Fem", "Masc"], pos: null };

function drawCharts(into, rows, at) {
  const { values } = rows[0].expected ?? {};
  if (!values) {
    into.replaceChildren(make("p", { className: "help" }, say("no curves")));
    return;
  }
  const shown = Object.entries(CURVES).filter(([feature]) => values[feature]).map(([feature, wanted]) => {
    const names = (wanted ?? likeliest(values[feature])).filter((name) => values[feature][name]);
    return { feature, names, figure: make("figure", {}) };
  });
  into.replaceChildren(...shown.map(({ figure }) => figure)); // first, so that each has its width
  for (const { feature, names, figure } of shown) {
    figure.append(...chart(feature, names, rows.slice(0, 2), at, figure.clientWidth || 320));
  }
}

function likeliest(values) {
  const highest = Object.entries(values).map(([name, p]) => [Math.max(...p), name]);
  return highest.sort((a, b) => b[0] - a[0]).slice(0, SERIES).map(([, name]) => name).filter((name) => name !== "none");
}

const labelAt = (row, place) => row.answer.words[place].form || (row.answer.gap && place === row.answer.words.length - 1 ? GAP_MARK : END_MARK);

function chart(feature, names, rows, at, available) {
  const labels = rows[0].answer.words.map((_, place) => labelAt(rows[0], place));
  const wide = Math.max(Math.min(available, 640), LEFT + RIGHT + STEP * (labels.length - 1));
  const x = (place) => LEFT + (labels.length > 1 ? place * (wide - LEFT - RIGHT) / (labels.length - 1) : 0);
  const y = (p) => TOP + (1 - p) * (HEIGHT - TOP - BOTTOM);
  const title = say("probability of", { feature: familyLabel(feature) });
  const drawing = svg("svg", { width: wide, height: HEIGHT, role: "img", "aria-label": title });
  for (const p of [0, 0.5, 1]) {
    drawing.append(svg("line", { class: "grid", x1: LEFT, x2: wide - RIGHT, y1: y(p), y2: y(p) }));
    drawing.append(svg("text", { x: LEFT - 6, y: y(p) + 4, "text-anchor": "end" }, number(p, 1)));
  }
  if (at !== null && at < labels.length) drawing.append(svg("line", { class: "here", x1: x(at), x2: x(at), y1: y(1), y2: y(0) }));
  labels.forEach((label, place) => {
    const turn = `rotate(-40 ${x(place)} ${y(0) + 14})`;
    const short = label.length > 11 ? `${label.slice(0, 10)}…` : label;
    drawing.append(svg("text", { x: x(place), y: y(0) + 14, "text-anchor": "end", transform: turn }, short));
  });
  names.forEach((name, colour) => {
    rows.forEach((row, second) => {
      const points = row.expected?.values?.[feature]?.[name]?.slice(0, labels.length);
      if (!points) return;
      const line = points.map((value, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`);
      drawing.append(svg("path", { d: line.join(""), class: `s${colour}${second ? " second" : ""}` }));
      if (!second) points.forEach((value, place) => drawing.append(
        svg("circle", { cx: x(place), cy: y(value), r: 3, class: `s${colour}`, "data-tip": `${labelOf(`${feature}=${name}`)}${say("colon")} ${percent(value)}` })));
    });
  });
  const key = make("ul", { className: "key" }, ...names.map((name, colour) =>
    make("li", {}, make("i", { className: `s${colour}` }), labelOf(`${feature}=${name}`))));
  return [make("figcaption", {}, title), key, scrolled(title, drawing), numbersOf(feature, names, rows[0], labels, title)];
}

// Return the same numbers as a table, for screen readers.
function numbersOf(feature, names, row, labels, title) {
  const head = make("tr", {}, make("th", { scope: "col" }, say("before")),
    ...names.map((name) => make("th", { scope: "col", className: "number" }, labelOf(`${feature}=${name}`))));
  const body = labels.map((label, place) => make("tr", {}, make("th", { scope: "row" }, label),
    ...names.map((name) => make("td", { className: "number" }, percent(row.expected.values[feature][name][place])))));
  return make("details", {}, make("summary", {}, say("numbers")),
    scrolled(`${title}, ${say("numbers")}`, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))));
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}
