// Beside the map: the item that was chosen with its neighbours, and what is in sight as a list.

import { announce, degree, el, plural } from "./dom.js";
import { thumbnail } from "./items.js";

const LISTED = 40;
const HINT =
  "Choose an item on the map: its neighbours are those of the embedding, " +
  "not those that happen to lie near it here.";

// `onChoose(item)` when one is chosen in a list, `onOpen()` when the list of what is in sight is opened.
export class Beside {
  constructor({ items, onChoose, onOpen }) {
    Object.assign(this, { items, onChoose });
    this.chosen = el("div", { class: "beside" }, el("p", { class: "hint" }, HINT));
    this.list = el("ul", { class: "sight" });
    this.sight = el("details", {}, el("summary", {}, "In sight, as a list"), this.list);
    this.sight.addEventListener("toggle", onOpen);
  }

  showNeighbours({ item, list }) {
    const info = this.items.get(item);
    const hadFocus = this.chosen.contains(document.activeElement);
    const more = el("a", { class: "plain", href: `#search/${item}` }, "More like this");
    const name = info.image ? el("p", { class: "name" }, info.name) : null;
    this.chosen.replaceChildren(
      el("div", { class: "chosen" }, thumbnail(item, info), el("div", {}, name, more)),
      el("h2", {}, "Nearest by the embedding"),
      el("ol", { class: "nearest" }, ...list.map((neighbour) => this.#row(neighbour))),
    );
    if (hadFocus) more.focus();
    announce(`${info.name}: ${plural(list.length, "neighbour")}.`);
  }

  // The list stays as it is while the same items are in sight, so that the focus stays too.
  async showSight(inSight) {
    if (!this.sight.open) return;
    const rows = inSight.slice(0, LISTED);
    const state = `${rows.join()} ${inSight.length}`;
    if (state === this.state) return;
    this.state = state;
    await this.items.fetch(rows);
    const others = inSight.length - rows.length;
    const last = others ? `and ${plural(others, "other")}; zoom in to see fewer` : "";
    this.list.replaceChildren(
      ...rows.map((row) => this.#entry(row, [this.items.get(row).name])),
      ...(last ? [el("li", { class: "hint" }, last)] : []),
    );
  }

  #row({ item, similarity }) {
    const info = this.items.get(item);
    return this.#entry(item, [
      thumbnail(item, info, { side: 96 }),
      el("span", { class: "name" }, info.image ? info.name : ""),
      el("span", { class: "degree" }, degree(similarity)),
    ]);
  }

  #entry(item, content) {
    const label = content
      .map((part) => part.textContent ?? part)
      .join(" ")
      .trim();
    const choose = () => this.onChoose(item);
    const properties = { type: "button", "aria-label": label, on: { click: choose } };
    return el("li", {}, el("button", properties, ...content));
  }
}
