// One against nine: which of these are the same as this one?

import { el, percent, unseen } from "./dom.js";
import { difference } from "./compare.js";
import { picture, zoomable } from "./items.js";
import { moreLikeThis } from "./pairs.js";

// The text of a field, with the words marked that the item asked about does not have.
function marked(name, text, anchor) {
  const runs = anchor
    ? difference(String(anchor.fields[name] ?? ""), text)[1]
    : [{ text, own: false }];
  return runs.map((run) => (run.own ? el("mark", {}, run.text) : run.text));
}

function fields(info, anchor) {
  const rows = Object.entries(info.fields)
    .filter(([, value]) => value && value !== info.name)
    .map(([name, value]) =>
      el(
        "span",
        { class: "field-line" },
        el("span", { class: "label" }, name),
        " ",
        el("span", {}, ...marked(name, String(value), anchor)),
      ),
    );
  return rows.length ? el("span", { class: "lines" }, ...rows) : null;
}

function title(info, anchor) {
  const field = Object.keys(info.fields).find((name) => info.fields[name] === info.name);
  return el(
    "span",
    { class: "name", title: info.name },
    ...(field ? marked(field, info.name, anchor) : [info.name]),
  );
}

function tile({ item, info }, number, guess, anchor, onToggle) {
  const button = el(
    "button",
    {
      type: "button",
      class: "tile",
      role: "checkbox",
      "aria-checked": "false",
      "aria-label": `${number}: ${info.name}`,
      "data-item": item,
    },
    el("span", { class: "number", "aria-hidden": "true" }, String(number)),
    info.image ? el("span", { class: "box" }, picture(item, info, { side: 240 })) : null,
    title(info, anchor),
    fields(info, anchor),
    guess === undefined ? null : el("span", { class: "guess" }, percent(guess)),
    el("span", { class: "check", "aria-hidden": "true" }, "✓"),
  );
  button.addEventListener("click", () => onToggle(number));
  return button;
}

export function buildNine({ question, items }, onPick) {
  const shown = question.items.map((item) => ({ item, info: items[item] }));
  const [anchor, ...others] = shown;
  const picked = new Set();
  const tiles = others.map((other, i) =>
    tile(other, i + 1, question.guess[i], anchor.info, (n) => node.toggle(n)),
  );
  const hasImages = shown.some(({ info }) => info.image);
  const node = el(
    "article",
    {
      class: `question nine ${hasImages ? "with-images" : "without-images"}`,
      "data-id": question.id,
    },
    el("div", { class: "prompt" }, el("h1", {}, "Which of these are the same as this one?")),
    el(
      "div",
      { class: "against" },
      el(
        "figure",
        { class: "item anchor" },
        anchor.info.image ? zoomable(shown, 0) : null,
        el(
          "figcaption",
          {},
          el("span", { class: "name", title: anchor.info.name }, anchor.info.name),
          moreLikeThis(anchor.item, anchor.info),
        ),
        fields(anchor.info, null),
      ),
      el(
        "div",
        { class: "tiles", role: "group", "aria-label": `The same as ${anchor.info.name}` },
        unseen("Choose those that are the same."),
        ...tiles,
      ),
    ),
  );
  node.shown = shown;
  node.picked = picked;
  node.toggle = (number) => {
    const button = tiles[number - 1];
    if (!button) return;
    const { item } = others[number - 1];
    if (!picked.delete(item)) picked.add(item);
    button.setAttribute("aria-checked", String(picked.has(item)));
    onPick(picked.size);
  };
  return node;
}
