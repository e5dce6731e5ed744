// The fields of two records under each other, with the words marked that only one of them has.

import { el, unseen } from "./dom.js";

const MOST_WORDS = 400;

// Words with the spaces and signs behind them; what is compared is the word in lower case.
export function words(text) {
  return text.match(/[\p{L}\p{N}]+(?:[.,][\p{N}]+)*|\s+|[^\p{L}\p{N}\s]/gu) ?? [];
}

// For each word of either text, whether the other has it too, in the same order (longest common subsequence).
export function difference(left, right) {
  const [a, b] = [left, right].map((text) => words(text).slice(0, MOST_WORDS));
  const same = (i, j) => a[i].toLowerCase() === b[j].toLowerCase();
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = same(i, j)
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const shared = [new Array(a.length).fill(false), new Array(b.length).fill(false)];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (same(i, j)) shared[0][i++] = shared[1][j++] = true;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
  return [runs(a, shared[0]), runs(b, shared[1])];
}

// Neighbouring words of one kind become one run; a space between two marked words is marked with them.
function runs(tokens, shared) {
  const isOwn = tokens.map((token, i) =>
    /^\s+$/.test(token)
      ? !shared[i - 1] && !shared[i + 1] && i > 0 && i + 1 < tokens.length
      : !shared[i],
  );
  const found = [];
  tokens.forEach((token, i) => {
    if (found.length && found.at(-1).own === isOwn[i]) found.at(-1).text += token;
    else found.push({ text: token, own: isOwn[i] });
  });
  return found;
}

const STATES = {
  same: ["=", "the same"],
  differs: ["≠", "differs"],
  missing: ["∅", "only one has it"],
};

function stateOf(left, right) {
  if (!left || !right) return left || right ? "missing" : "same";
  return left.trim().toLowerCase() === right.trim().toLowerCase() ? "same" : "differs";
}

function value(text, run, side) {
  const shown = !text
    ? [el("span", { class: "nothing" }, "—", unseen(" nothing"))]
    : run.map((part) => (part.own ? el("mark", {}, part.text) : part.text));
  return el("td", { "data-side": side }, ...shown);
}

// A table: a row a field, its name and how the two compare, the left value, the right value; `heads` go above the values.
export function comparison(columns, left, right, heads = null) {
  const names = [
    ...new Set([...columns, ...Object.keys(left.fields), ...Object.keys(right.fields)]),
  ];
  const rows = names
    .filter((name) => left.fields[name] || right.fields[name])
    .map((name) => row(name, left, right));
  if (!rows.length) return null;
  const head = el(
    "thead",
    { class: heads ? "heads" : "unseen" },
    el(
      "tr",
      {},
      el("th", { scope: "col" }, unseen("field")),
      ...[0, 1].map((i) =>
        el("th", { scope: "col" }, ...(heads ? heads[i] : [["left", "right"][i]])),
      ),
    ),
  );
  const widths = el("colgroup", {}, el("col", { class: "names" }), el("col"), el("col"));
  return el("table", { class: "fields" }, widths, head, el("tbody", {}, ...rows));
}

function row(name, left, right) {
  const [a, b] = [left, right].map(({ fields }) => String(fields[name] ?? ""));
  const state = stateOf(a, b);
  const [inA, inB] = state === "differs" ? difference(a, b) : [[{ text: a }], [{ text: b }]];
  const [sign, meaning] = STATES[state];
  const mark = el(
    "span",
    { class: "sign", title: meaning, role: "img", "aria-label": meaning },
    sign,
  );
  const isLong = a.length > 160 || b.length > 160;
  return el(
    "tr",
    { class: isLong ? `${state} long` : state },
    el("th", { scope: "row" }, name, " ", mark),
    value(a, inA, "left"),
    value(b, inB, "right"),
  );
}
