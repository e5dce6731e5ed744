// A field that finds items by their text, and the list of those found.

import { el, plural, announce } from "./dom.js";
import { thumbnail } from "./items.js";

const PAUSE = 140;
const MOST = 20;

// `onChoose(item)` is called with the item that was chosen.
export class Finder {
  constructor({ live, items, onChoose, label = "Find an item" }) {
    Object.assign(this, { live, items, onChoose });
    this.input = el("input", {
      type: "search",
      placeholder: label,
      "aria-label": label,
      autocomplete: "off",
      spellcheck: false,
      maxLength: 200,
    });
    this.results = el("ul", { class: "found", "aria-label": "Found", hidden: true });
    this.node = el("div", { class: "finder", role: "search" }, this.input, this.results);
    this.input.addEventListener("input", () => this.#typed());
    this.node.addEventListener("keydown", (event) => this.#key(event));
    this.node.addEventListener(
      "focusout",
      (event) => this.node.contains(event.relatedTarget) || this.#close(),
    );
    live.on("found", (message) => this.#found(message));
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  #typed() {
    clearTimeout(this.timer);
    const text = this.input.value.trim();
    this.text = text;
    if (!text) return this.#close();
    this.timer = setTimeout(() => this.live.ask({ type: "find", text, k: MOST }), PAUSE);
  }

  #found({ text, list, items }) {
    if (text !== this.text || !this.node.contains(document.activeElement)) return;
    this.items.add(items);
    const rows = list.map((item) => {
      const info = this.items.get(item);
      const choose = () => {
        this.#close();
        this.onChoose(item);
      };
      return el(
        "li",
        {},
        el(
          "button",
          { type: "button", on: { click: choose } },
          thumbnail(item, info, { side: 96 }),
          info.image ? el("span", { class: "name" }, info.name) : null,
        ),
      );
    });
    this.results.replaceChildren(
      ...(rows.length ? rows : [el("li", { class: "none" }, `Nothing has “${text}” in it.`)]),
    );
    this.results.hidden = false;
    announce(
      rows.length
        ? `${plural(rows.length, "item")} found. Arrow down goes to them.`
        : "Nothing found.",
    );
  }

  #key(event) {
    const buttons = [...this.results.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "ArrowDown") buttons[Math.min(at + 1, buttons.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (buttons[at - 1] ?? this.input).focus();
    else if (event.key === "Enter" && at < 0) buttons[0]?.click();
    else if (event.key === "Escape" && !this.results.hidden) this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #close() {
    this.results.hidden = true;
    this.results.replaceChildren();
  }
}
