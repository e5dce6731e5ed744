// The view in which questions are answered, of both kinds, one after the other.

import { announce, byId, el, isOnControl, key, notice } from "./dom.js";
import { buildNine } from "./nine.js";
import { buildPair } from "./pairs.js";
import { Queue } from "./queue.js";
import { openZoom } from "./zoom.js";

const REMEMBERED = 50;
const IN_FLIGHT = 10; // fewer than lie between a question and the same one asked again on purpose
const LONGEST_LOOK = 3600;

export class Questions {
  constructor(app) {
    this.app = app;
    this.current = null;
    this.since = 0;
    this.lately = new Map(); // question id → entry, for what is taken back without the server
    this.queue = new Queue({
      build: (entry) => this.#build(entry),
      // Elsewhere nothing is asked: the server would think that nobody looks at the map any more.
      ask: (have) =>
        app.view === "pairs" && app.live.ask({ type: "more", have, kinds: this.#kinds() }),
      onArrival: () => this.current === null && this.#next(),
    });
    this.#draw();
    this.#listen();
  }

  enter() {
    this.since = performance.now();
    if (this.current === null) this.#next();
    else this.queue.refill(this.current, { now: true });
  }

  leave() {}

  key(event) {
    if (event.repeat || this.current === null) return false;
    const { kind } = this.current.question;
    if (event.key === "u" || (event.key === " " && !isOnControl(event)))
      return this.#did(() => this.answer(null));
    if (event.key === "+") return this.#did(() => this.#zoom());
    if (kind === "pair") {
      if (event.key === "y") return this.#did(() => this.answer(true));
      if (event.key === "n") return this.#did(() => this.answer(false));
      return false;
    }
    if (/^[1-9]$/.test(event.key))
      return this.#did(() => this.current.node.toggle(Number(event.key)));
    const isElsewhere = isOnControl(event) && !event.target.closest(".tile");
    if (event.key === "Enter" && !isElsewhere) return this.#did(() => this.#sendNine());
    return false;
  }

  answer(same) {
    if (this.current === null) return;
    const { question } = this.current;
    const seconds = Math.min((performance.now() - this.since) / 1000, LONGEST_LOOK);
    this.#remember(this.current);
    this.current = null;
    this.#next();
    this.app.live.tell({
      type: "answer",
      question: question.id,
      same,
      seconds: Math.round(10 * seconds) / 10,
    });
  }

  // Without a connection, an answer that never left this page is taken back here.
  undo() {
    const recalled = this.app.live.recall();
    if (recalled) {
      const entry = this.lately.get(recalled.question);
      if (entry) this.#again(entry);
      notice("Taken back.");
    } else {
      this.app.live.tell({ type: "undo" });
      if (this.app.live.state !== "open")
        notice("The last answer is taken back as soon as the connection is there again.");
    }
  }

  #kinds() {
    return this.app.settings.get("nines") ? ["pair", "nine"] : ["pair"];
  }

  #did(action) {
    action();
    return true;
  }

  #build(entry) {
    if (entry.question.kind === "pair") return buildPair(entry, this.app.welcome?.columns ?? []);
    return buildNine(entry, (n) => this.#picked(n));
  }

  #draw() {
    const button = (name, label, hint, action) =>
      el(
        "button",
        {
          type: "button",
          class: name,
          "aria-keyshortcuts": hint,
          on: { click: (event) => this.#clicked(event, action) },
        },
        el("span", {}, label),
        key(hint),
      );
    this.stage = el("div", { class: "stage", tabIndex: -1 });
    this.sendButton = button("same", "None is the same", "Enter", () => this.#sendNine());
    const undo = () => button("undo", "Undo", "z", () => this.undo());
    this.bars = {
      pair: el(
        "div",
        { class: "bar" },
        undo(),
        button("same", "Same", "y", () => this.answer(true)),
        button("unsure", "Unsure", "u", () => this.answer(null)),
        button("different", "Different", "n", () => this.answer(false)),
      ),
      nine: el(
        "div",
        { class: "bar" },
        undo(),
        this.sendButton,
        button("unsure", "Unsure of all", "u", () => this.answer(null)),
      ),
    };
    const switches = el(
      "div",
      { class: "switches" },
      this.app.settings.switch("nines", "One against nine"),
      this.app.settings.switch("guess", "Model’s guess"),
    );
    byId("view-pairs").replaceChildren(switches, this.stage, this.bars.pair, this.bars.nine);
    this.bars.nine.hidden = true;
    this.#enable(false);
  }

  // After a click of a mouse, keys must mean answers again and not that button.
  #clicked(event, action) {
    if (event.detail > 0) this.stage.focus({ preventScroll: true });
    action();
  }

  #listen() {
    const { live, settings, items } = this.app;
    live.on("questions", (message) => {
      items.add(message.items);
      this.queue.receive(message, [
        ...[...this.lately.values()].slice(-IN_FLIGHT),
        ...(this.current ? [this.current] : []),
      ]);
    });
    live.on("undone", (message) => this.#undone(message));
    live.on("welcome", () => this.queue.refill(this.current, { now: true }));
    live.on("learning", () => this.queue.isDry && this.queue.refill(this.current, { now: true }));
    settings.on("nines", () => this.#kindsChanged());
    document.addEventListener("visibilitychange", () => this.#pause());
  }

  #kindsChanged() {
    this.queue.keepOnly(this.#kinds());
    if (this.current?.question.kind === "nine" && !this.app.settings.get("nines")) this.#next();
    else this.queue.refill(this.current, { now: true });
  }

  // Time in which the page was not in sight is not counted.
  #pause() {
    if (document.hidden) this.looked = performance.now() - this.since;
    else this.since = performance.now() - (this.looked ?? 0);
  }

  #undone({ question, items, sentence }) {
    if (sentence) return notice(sentence);
    if (!question) return notice("Taken back.");
    this.app.items.add(items);
    this.#again({ question, items, node: null });
    const isHere = this.app.view === "pairs";
    notice(
      isHere
        ? "Taken back: here is the question again."
        : "Taken back. Its question waits under “Compare”.",
    );
  }

  #again(entry) {
    this.lately.delete(entry.question.id);
    entry.node = this.#build(entry);
    if (this.current) this.queue.putBack(this.current);
    this.#show(entry);
  }

  #remember(entry) {
    this.lately.set(entry.question.id, {
      question: entry.question,
      items: entry.items,
      node: null,
    });
    for (const id of this.lately.keys()) {
      if (this.lately.size <= REMEMBERED) break;
      this.lately.delete(id);
    }
  }

  #next() {
    const entry = this.queue.take(this.current);
    if (entry) this.#show(entry);
    else this.#showEmpty();
  }

  #show(entry) {
    const hadFocus = this.stage.contains(document.activeElement);
    this.current = entry;
    this.stage.replaceChildren(entry.node);
    if (hadFocus) this.stage.focus({ preventScroll: true });
    this.stage.scrollTop = 0;
    const { kind } = entry.question;
    this.bars.pair.hidden = kind !== "pair";
    this.bars.nine.hidden = kind !== "nine";
    if (kind === "nine") this.#picked(entry.node.picked.size);
    this.#enable(true);
    this.since = performance.now();
    if (this.app.view === "pairs") announce(spoken(entry.node.shown, kind));
  }

  #showEmpty() {
    this.current = null;
    const isOpen = this.app.live.state === "open";
    const sentence = this.queue.isDry
      ? "There is nothing to ask at the moment. New questions come when the model has learnt from your answers."
      : isOpen
        ? "The next questions are being chosen."
        : "The questions come as soon as the connection is there.";
    this.stage.replaceChildren(el("p", { class: "empty" }, sentence));
    this.#enable(false);
  }

  #enable(isOn) {
    for (const bar of Object.values(this.bars)) {
      for (const button of bar.querySelectorAll("button:not(.undo)")) button.disabled = !isOn;
    }
  }

  #picked(n) {
    this.sendButton.firstChild.textContent =
      n === 0 ? "None is the same" : n === 1 ? "1 is the same" : `${n} are the same`;
  }

  #sendNine() {
    if (this.current?.question.kind === "nine") this.answer([...this.current.node.picked]);
  }

  #zoom() {
    const shown = this.current.node.shown.filter(({ info }) => info.image);
    if (shown.length) openZoom(shown, 0, this.stage);
  }
}

function spoken(shown, kind) {
  const names = shown.map(({ info }) => info.name);
  if (kind === "pair") return `${names[0]} and ${names[1]}: are these the same?`;
  return `Which of these ${names.length - 1} are the same as ${names[0]}?`;
}
