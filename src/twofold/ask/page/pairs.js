// Two by two: two items side by side.

import { el, percent } from "./dom.js";
import { comparison } from "./compare.js";
import { zoomable } from "./items.js";

export const moreLikeThis = (item, info) =>
  el(
    "a",
    { class: "like", href: `#search/${item}`, "aria-label": `More like ${info.name}` },
    "more like this",
  );

function side(shown, at) {
  const { item, info } = shown[at];
  return el(
    "figure",
    { class: info.image ? "item" : "item bare" },
    info.image ? zoomable(shown, at) : null,
    el(
      "figcaption",
      {},
      el("span", { class: "name", title: info.name }, info.name),
      moreLikeThis(item, info),
    ),
  );
}

// A question that is asked again comes without a guess.
const guessed = (guess) => (guess === undefined ? "No guess" : `Guess: ${percent(guess)} same`);

// Above the columns of a record: its name, unless a field says it already, and the way to others like it.
function head({ item, info }, place) {
  const isSaid = Object.values(info.fields).includes(info.name);
  return [
    el("span", { class: "name", title: info.name }, isSaid ? place : info.name),
    moreLikeThis(item, info),
  ];
}

export function buildPair({ question, items }, columns) {
  const shown = question.items.map((item) => ({ item, info: items[item] }));
  const [left, right] = shown;
  const hasImages = shown.some(({ info }) => info.image);
  const heads = hasImages ? null : [head(left, "left"), head(right, "right")];
  const table = comparison(columns, left.info, right.info, heads);
  const node = el(
    "article",
    {
      class: `question pair ${hasImages ? "with-images" : "without-images"}${table ? " with-fields" : ""}`,
      "data-id": question.id,
    },
    el(
      "div",
      { class: "prompt" },
      el("h1", {}, "Are these the same?"),
      el("p", { class: "guess" }, guessed(question.guess[0])),
    ),
    table && !hasImages ? null : el("div", { class: "two" }, side(shown, 0), side(shown, 1)),
    table,
  );
  node.shown = shown;
  return node;
}
