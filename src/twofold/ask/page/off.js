// Something is off: statements that contradict each other or the rest, to be answered again.

import { announce, byId, el, percent, plural } from "./dom.js";
import { comparison } from "./compare.js";
import { thumbnail } from "./items.js";

const WORD = { true: "same", false: "different", null: "unsure" };
const REASONS = {
  chain: "Contradicts a chain",
  "both ways": "Said both ways",
  "unlike the rest": "Unlike the rest",
};

export class Off {
  constructor(app) {
    this.app = app;
    this.answered = new Set();
    this.lead = el("p", { class: "lead", role: "status" });
    this.list = el("ol", { class: "offs" });
    byId("view-off").replaceChildren(el("h1", {}, "Something is off"), this.lead, this.list);
    app.live.on("off", (message) => app.view === "off" && this.#receive(message));
    app.live.on("undone", () => app.view === "off" && this.enter());
    app.live.on(
      "learning",
      ({ state }) => app.view === "off" && state === "waiting" && this.#isIdle() && this.enter(),
    );
  }

  enter() {
    this.isAwaited = this.app.live.ask({ type: "off" });
  }

  leave() {
    this.answered.clear();
  }

  key() {
    return false;
  }

  // A list must not change under a hand that is about to answer.
  #isIdle() {
    return !this.list.contains(document.activeElement) && !this.list.matches(":hover");
  }

  #receive(message) {
    if (!this.isAwaited && !this.#isIdle()) return;
    this.isAwaited = false;
    this.#show(message);
  }

  #show({ list, items }) {
    this.app.items.add(items);
    this.answered.clear();
    this.lead.textContent = list.length
      ? `${plural(list.length, "answer")} ${list.length === 1 ? "does" : "do"} not go with the others. Look once more: what you say now counts.`
      : "Nothing is off: no answers contradict each other.";
    this.list.replaceChildren(...list.map((entry) => this.#entry(entry)));
  }

  #entry(entry) {
    const { left, right, said, who, when, why, sentence } = entry;
    const state = el(
      "p",
      { class: "hint", role: "status" },
      `${this.#speaker(who)} said ${WORD[said]}${when ? `, ${readable(when)}` : ""}.`,
    );
    const names = `${this.#info(left).name} and ${this.#info(right).name}`;
    const button = (same, name) =>
      el(
        "button",
        {
          type: "button",
          class: name,
          "aria-pressed": String(said === same),
          "aria-label": `${name}: ${names}`,
          on: { click: (event) => this.#answer(entry, same, state, event.currentTarget) },
        },
        same ? "Same" : "Different",
      );
    return el(
      "li",
      { class: "off" },
      el(
        "h2",
        {},
        REASONS[why] ?? why,
        el("span", { class: "degree" }, `suspicion ${percent(entry.suspicion)}`),
      ),
      el("p", { class: "sentence" }, sentence),
      this.#chain(entry),
      comparison(this.app.welcome?.columns ?? [], this.#info(left), this.#info(right)),
      el("div", { class: "again" }, button(true, "same"), button(false, "different"), state),
    );
  }

  #speaker(who) {
    return who === this.app.welcome?.who ? "You" : who || "Somebody";
  }

  #info(item) {
    return this.app.items.get(item);
  }

  // The items in a row with what was said between them, and what was said of its ends.
  #chain({ left, right, said, why, chain }) {
    const row = chain.length ? chain : [left, right];
    const between =
      why === "chain" ? "same" : why === "both ways" ? "same and different" : WORD[said];
    const links = row.flatMap((item, i) => {
      const info = this.#info(item);
      const link = el(
        "a",
        { class: "link-item", href: `#search/${item}`, title: info.name },
        thumbnail(item, info),
        el("span", { class: "name" }, info.name),
      );
      return i
        ? [el("span", { class: `between ${between.split(" ")[0]}` }, between), link]
        : [link];
    });
    const ends =
      why === "chain"
        ? el("p", { class: `ends ${WORD[said]}` }, el("span", {}, `first and last: ${WORD[said]}`))
        : null;
    return el("div", { class: "chain" }, el("div", { class: "row" }, ...links), ends);
  }

  #answer({ left, right }, same, state, button) {
    const name = `${left}-${right}-${same}`;
    if (this.answered.has(name)) return;
    this.answered.delete(`${left}-${right}-${!same}`);
    this.answered.add(name);
    this.app.live.tell({ type: "mark", left, right, same, seconds: 1 });
    for (const each of button.parentElement.querySelectorAll("button"))
      each.setAttribute("aria-pressed", String(each === button));
    state.textContent = `Answered: ${WORD[same]}.`;
    button.closest(".off").classList.add("done");
    announce(`Answered: ${WORD[same]}.`);
  }
}

// Times come in UTC, and are shown as they were here.
function readable(when) {
  const date = new Date(/[Z+]/.test(when) ? when : `${when}Z`);
  return Number.isNaN(date.valueOf())
    ? when
    : date.toLocaleString("en-GB", {
        day: "numeric",
        month: "short",
        hour: "2-digit",
        minute: "2-digit",
      });
}
