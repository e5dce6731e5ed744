// More like this: an item and its neighbours, marked right or wrong, asked again as the model learns.

import { announce, byId, el, notice, plural } from "./dom.js";
import { Cards } from "./cards.js";
import { Finder } from "./finder.js";
import { thumbnail, zoomable } from "./items.js";

const K = 24;
const N_STARTS = 12;

export class Search {
  constructor(app) {
    this.app = app;
    this.query = null; // {item} or {file, url}
    this.version = -1;
    this.finder = new Finder({
      live: app.live,
      items: app.items,
      onChoose: (item) => this.#goTo(item),
    });
    this.cards = new Cards({
      onMark: (item, same) => this.#mark(item, same),
      onChoose: (item) => this.#goTo(item),
    });
    this.#draw();
    this.#listen();
  }

  enter(argument) {
    const item = Number.parseInt(argument, 10);
    if (Number.isInteger(item)) this.#choose({ item });
    else if (this.query?.item !== undefined) location.replace(`#search/${this.query.item}`);
    else if (!this.query) this.#showStarts();
    this.#ask();
  }

  leave() {}

  key(event) {
    if (event.key !== "/") return false;
    this.finder.focus();
    return true;
  }

  #goTo(item) {
    location.hash = `#search/${item}`;
  }

  #draw() {
    this.subject = el("div", { class: "subject" });
    this.heading = el("h1", {}, "More like this");
    this.advice = el("p", { class: "hint" });
    this.file = el("input", {
      type: "file",
      accept: "image/*",
      class: "unseen",
      id: "drop-file",
      tabIndex: -1,
      "aria-label": "Image file",
    });
    this.file.addEventListener(
      "change",
      () => this.file.files[0] && this.#drop(this.file.files[0]),
    );
    this.pick = el(
      "button",
      { type: "button", class: "plain", on: { click: () => this.file.click() } },
      "Use an image file…",
    );
    this.starts = el("div", { class: "starts" });
    byId("view-search").replaceChildren(
      el(
        "div",
        { class: "asked" },
        this.heading,
        this.finder.node,
        this.pick,
        this.file,
        this.subject,
      ),
      el("div", { class: "answers" }, this.advice, this.starts, this.cards.list),
    );
  }

  #listen() {
    const { live } = this.app;
    live.on(
      "neighbours",
      (message) =>
        message.item !== null && message.item === this.query?.item && this.#show(message),
    );
    live.on("learning", ({ version }) => version > this.version && this.#ask());
    live.on("undone", () => this.#ask());
    live.on("welcome", ({ has_images: hasImages }) => (this.pick.hidden = !hasImages));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) this.#drop(file);
    });
  }

  #choose(query) {
    if (query.item !== undefined && query.item === this.query?.item) return;
    if (this.query?.url) URL.revokeObjectURL(this.query.url);
    this.query = query;
    this.version = -1;
    this.cards.clear();
    this.starts.replaceChildren();
    this.advice.textContent = "";
    this.subject.replaceChildren();
  }

  #ask() {
    if (this.app.view !== "search" || !this.query) return;
    if (this.query.file) this.#post();
    else this.app.live.ask({ type: "neighbours", item: this.query.item, k: K });
  }

  #drop(file) {
    this.#choose({ file, url: URL.createObjectURL(file) });
    if (this.app.view === "search") this.#post();
    location.hash = "#search";
  }

  async #post() {
    const { query } = this;
    try {
      const response = await fetch(`/drop?k=${K}`, { method: "POST", body: query.file });
      const answer = await response.json();
      if (query !== this.query) return;
      if (response.ok) this.#show(answer);
      else notice(answer.sentence ?? "This file could not be used.");
    } catch {
      notice("The file could not be sent; it is tried again with the next version of the model.");
    }
  }

  #show({ item, version, list, items }) {
    const isFirst = this.version < 0;
    this.app.items.add(items);
    this.version = version;
    if (isFirst) this.subject.replaceChildren(...this.#describe(item));
    const moved = this.cards.show(list, this.app.items, { canMark: item !== null });
    const how =
      "Mark right ones and wrong ones (y, n): the list moves when the model has learnt from them.";
    this.advice.textContent =
      item === null ? "The nearest of all items. Choose one to go on from there and to mark." : how;
    if (isFirst) announce(`${plural(list.length, "neighbour")}, the nearest first.`);
    else if (moved) announce(`The list has changed: ${plural(moved, "item")} moved.`);
  }

  #describe(item) {
    if (item === null)
      return [
        el(
          "div",
          { class: "picture" },
          el("img", { src: this.query.url, alt: this.query.file.name }),
        ),
        el("p", { class: "name" }, this.query.file.name),
      ];
    const info = this.app.items.get(item);
    const fields = Object.entries(info.fields ?? {}).filter(([, value]) => value);
    return [
      info.image ? zoomable([{ item, info }], 0) : null,
      el("p", { class: "name" }, info.name),
      fields.length
        ? el(
            "dl",
            { class: "plain-fields" },
            ...fields.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]),
          )
        : null,
    ].filter(Boolean);
  }

  #mark(item, same) {
    this.app.live.tell({ type: "mark", left: this.query.item, right: item, same, seconds: 1 });
    announce(`${this.app.items.get(item).name}: ${same ? "right" : "wrong"}.`);
  }

  // Somewhere to begin.
  async #showStarts() {
    const n = this.app.welcome?.n_items;
    if (!n || this.starts.childElementCount) return;
    const rows = Array.from({ length: Math.min(N_STARTS, n) }, (_, i) =>
      Math.floor(((i + Math.random()) * n) / Math.min(N_STARTS, n)),
    );
    await this.app.items.fetch(rows);
    if (this.query) return;
    this.advice.textContent = this.pick.hidden
      ? "Find an item by its text, or begin with one of these."
      : "Find an item by its name, drop an image onto the page, or begin with one of these.";
    const links = rows.map((row) => {
      const info = this.app.items.get(row);
      return el(
        "a",
        { class: "start", href: `#search/${row}`, "aria-label": `More like ${info.name}` },
        thumbnail(row, info),
      );
    });
    this.starts.replaceChildren(...links);
  }
}
