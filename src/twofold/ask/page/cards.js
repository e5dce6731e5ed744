// Neighbours in a grid: marked right or wrong, gone through by arrow keys, moving to their new places.

import { degree, el } from "./dom.js";
import { thumbnail } from "./items.js";

const MOVE = { duration: 480, easing: "cubic-bezier(.2, .7, .2, 1)" };
const SAID = { true: "right", false: "wrong", null: "not marked" };

const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// `onMark(item, same)` is null where nothing can be marked; `onChoose(item)` goes on from there.
export class Cards {
  constructor({ onMark, onChoose }) {
    Object.assign(this, { onMark, onChoose });
    this.cards = new Map(); // item → {node, face, said, …}
    this.list = el("ul", { class: "cards", "aria-label": "Neighbours, the nearest first" });
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("focusin", (event) => this.#focused(event.target));
  }

  // Shows a list of {item, similarity, said}; returns how many changed their place.
  show(neighbours, items, { canMark = true } = {}) {
    const before = new Map(
      [...this.cards].map(([item, { node }]) => [item, node.getBoundingClientRect()]),
    );
    const order = [...this.cards.keys()];
    const focused = document.activeElement?.closest?.(".card")?.dataset.item;
    const cards = new Map();
    for (const { item, similarity, said } of neighbours) {
      const card = this.cards.get(item) ?? this.#build(item, items.get(item));
      this.#update(card, similarity, said);
      cards.set(item, card);
    }
    this.cards = cards;
    this.list.classList.toggle("fixed", !canMark);
    this.list.replaceChildren(...[...cards.values()].map(({ node }) => node));
    this.#rove(cards.get(Number(focused))?.face ?? this.list.querySelector(".face"));
    if (focused !== undefined) cards.get(Number(focused))?.face.focus({ preventScroll: true });
    if (!isCalm()) this.#move(before);
    return [...cards.keys()].filter((item, i) => order[i] !== item).length;
  }

  clear() {
    this.cards = new Map();
    this.list.replaceChildren();
  }

  mark(item, same) {
    const card = this.cards.get(item);
    if (!card || card.said === same || this.list.classList.contains("fixed")) return;
    this.#update(card, card.similarity, same);
    this.onMark(item, same);
  }

  #build(item, info) {
    const face = el(
      "button",
      { type: "button", class: "face", on: { click: () => this.onChoose(item) } },
      thumbnail(item, info),
    );
    const mark = (same, label, sign) =>
      el(
        "button",
        {
          type: "button",
          class: same ? "right" : "wrong",
          tabIndex: -1,
          title: label,
          "aria-label": `${label}: ${info.name}`,
          on: { click: () => this.mark(item, same) },
        },
        sign,
      );
    const card = {
      item,
      info,
      face,
      right: mark(true, "Right", "✓"),
      wrong: mark(false, "Wrong", "✗"),
      degree: el("span", { class: "degree" }),
    };
    const name = info.image ? el("span", { class: "name", title: info.name }, info.name) : null;
    card.node = el(
      "li",
      { class: "card", "data-item": item },
      face,
      el("span", { class: "about" }, name, card.degree),
      el("span", { class: "marks" }, card.right, card.wrong),
    );
    return card;
  }

  #update(card, similarity, said) {
    Object.assign(card, { similarity, said });
    card.degree.textContent = degree(similarity);
    card.node.dataset.said = String(said);
    card.face.setAttribute(
      "aria-label",
      `${card.info.name}, ${degree(similarity)}, ${SAID[said]}. Enter: more like this.`,
    );
    card.right.setAttribute("aria-pressed", String(said === true));
    card.wrong.setAttribute("aria-pressed", String(said === false));
  }

  #move(before) {
    const moves = [...this.cards].map(([item, { node }]) => [
      node,
      before.get(item),
      node.getBoundingClientRect(),
    ]);
    for (const [node, old, now] of moves) {
      if (!old) {
        node.animate(
          [
            { opacity: 0, transform: "scale(.92)" },
            { opacity: 1, transform: "none" },
          ],
          MOVE,
        );
      } else if (old.x !== now.x || old.y !== now.y) {
        node.animate(
          [
            { transform: `translate(${old.x - now.x}px, ${old.y - now.y}px)` },
            { transform: "none" },
          ],
          MOVE,
        );
      }
    }
  }

  #key(event) {
    const card = event.target.closest(".card");
    if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
    const item = Number(card.dataset.item);
    if (event.key === "y") this.mark(item, true);
    else if (event.key === "n") this.mark(item, false);
    else if (!this.#walk(event.key, card)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #walk(key, card) {
    const nodes = [...this.list.children];
    const at = nodes.indexOf(card);
    const perRow = nodes.filter((node) => node.offsetTop === nodes[0].offsetTop).length;
    const steps = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + perRow,
      ArrowUp: at - perRow,
      Home: 0,
      End: nodes.length - 1,
    };
    if (!(key in steps)) return false;
    nodes[steps[key]]?.querySelector(".face").focus();
    return true;
  }

  #focused(target) {
    const face = target.closest(".card")?.querySelector(".face");
    if (face) this.#rove(face);
  }

  // One card is in the order of the Tab key, with its two marks.
  #rove(face) {
    for (const card of this.cards.values()) {
      const isOn = card.face === face;
      for (const button of [card.face, card.right, card.wrong]) button.tabIndex = isOn ? 0 : -1;
    }
  }
}
