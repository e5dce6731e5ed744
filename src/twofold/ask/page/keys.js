// The list of keys.

import { byId, el } from "./dom.js";

const KEYS = [
  [
    "Two by two",
    [
      ["y", "same"],
      ["n", "different"],
      ["u", "unsure; also the space bar"],
      ["+", "enlarge; Esc closes"],
    ],
  ],
  [
    "One against nine",
    [
      ["1–9", "choose or unchoose"],
      ["Enter", "send; those not chosen are different"],
      ["u", "unsure of all"],
    ],
  ],
  [
    "More like this",
    [
      ["arrows", "go through the grid"],
      ["y", "right"],
      ["n", "wrong"],
      ["Enter", "more like that one"],
      ["/", "find an item"],
    ],
  ],
  [
    "The map",
    [
      ["arrows", "move"],
      ["+", "closer"],
      ["−", "further away"],
      ["0", "all of it"],
    ],
  ],
  [
    "Everywhere",
    [
      ["z", "take back the last answer, as often as you like"],
      ["g", "then p s q o m: go to a view"],
      ["?", "this list"],
    ],
  ],
];

export function prepareKeys() {
  const dialog = byId("keys");
  const groups = KEYS.map(([title, list]) =>
    el(
      "section",
      {},
      el("h3", {}, title),
      el(
        "dl",
        {},
        ...list.flatMap(([name, meaning]) => [
          el("dt", {}, el("kbd", {}, name)),
          el("dd", {}, meaning),
        ]),
      ),
    ),
  );
  dialog.replaceChildren(
    el("h2", { id: "keys-heading", tabIndex: -1, autofocus: true }, "Keys"),
    el("div", { class: "groups" }, ...groups),
    el("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, "Done"),
  );
  byId("open-keys").addEventListener("click", () => dialog.showModal());
}

export const openKeys = () => byId("keys").showModal();
