// Is it good enough? The estimate, its interval, and what to do.

import { byId, el, percent, plural } from "./dom.js";
import { drawCurve } from "./curve.js";

const HEIGHT = 300;
const PAUSE = 1500;

const figure = (value) => value.toFixed(2).replace(/^0/, "");

export class Quality {
  constructor(app) {
    this.app = app;
    this.latest = null;
    this.box = el("div", { class: "curve" });
    this.sentence = el("p", { class: "advice", role: "status" }, " ");
    this.now = el("p", { class: "lead" });
    this.facts = el("div", { class: "facts" });
    this.rows = el("tbody");
    const head = el(
      "tr",
      {},
      ...["answers", "estimate", "from", "to"].map((name) => el("th", { scope: "col" }, name)),
    );
    byId("view-quality").replaceChildren(
      el("h1", {}, "Is it good enough?"),
      this.sentence,
      this.now,
      el(
        "figure",
        { class: "chart" },
        el(
          "figcaption",
          { class: "legend" },
          el("span", { class: "is-line" }, "estimate on new pairs (AUROC)"),
          el("span", { class: "is-band" }, "95 % interval"),
          el("span", { class: "is-dashed" }, "features as given"),
        ),
        this.box,
      ),
      this.facts,
      el(
        "details",
        {},
        el("summary", {}, "The curve as a table"),
        el("table", { class: "numbers" }, el("thead", {}, head), this.rows),
      ),
    );
    new ResizeObserver(() => this.#draw()).observe(this.box);
    app.live.on("quality", (message) => this.#receive(message));
    for (const type of ["learning", "saved", "undone"]) app.live.on(type, () => this.#askSoon());
  }

  enter() {
    if (this.latest) this.#show(this.latest);
    this.app.live.ask({ type: "quality" });
  }

  leave() {}

  key() {
    return false;
  }

  #askSoon() {
    if (this.app.view !== "quality" || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (this.app.view === "quality") this.enter();
    }, PAUSE);
  }

  // What nobody looks at is not drawn: it comes with every version of the model.
  #receive(message) {
    this.latest = message;
    if (this.app.view === "quality") this.#show(message);
  }

  #show(message) {
    const { now, features, advice, test_share: share, agreement } = message;
    if (this.sentence.textContent !== advice.sentence) this.sentence.textContent = advice.sentence;
    this.sentence.classList.toggle("enough", advice.enough);
    this.now.textContent = now
      ? `Of a same and a different pair, the model tells which is which ${Math.round(100 * now.auroc)} times in 100.`
      : "There are not enough held-out answers for an estimate yet.";
    this.facts.replaceChildren(
      fact(
        "Estimate now",
        now ? figure(now.auroc) : "–",
        now
          ? `AUROC; with 95 % certainty between ${figure(now.low)} and ${figure(now.high)}${features ? `. The features as given: ${figure(features)}.` : "."}`
          : "It needs some same and some different pairs that were held out.",
      ),
      fact(
        "Answers left",
        advice.enough ? "0" : advice.n_more ? `≈ ${advice.n_more}` : "–",
        advice.enough
          ? "The curve is flat: more answers would change little."
          : advice.n_more
            ? "until the curve is expected to flatten."
            : "It is too early to say how many.",
      ),
      fact(
        "Held out",
        percent(share),
        `of the questions, drawn at random and never learnt from: only so is the estimate honest.${now ? ` So far ${now.n_same} same and ${now.n_different} different.` : ""}`,
      ),
      fact(
        "You agree with yourself",
        agreement.n ? `${agreement.n_agree} of ${agreement.n}` : "–",
        agreement.n
          ? `${plural(agreement.n, "question was", "questions were")} asked a second time.`
          : "No question has been asked a second time yet.",
      ),
    );
    this.rows.replaceChildren(
      ...message.history.map((point) =>
        el(
          "tr",
          {},
          ...[point.answers, figure(point.auroc), figure(point.low), figure(point.high)].map(
            (cell) => el("td", {}, String(cell)),
          ),
        ),
      ),
    );
    this.#draw();
  }

  #draw() {
    const width = Math.floor(this.box.clientWidth);
    if (!this.latest || width < 80) return;
    this.box.replaceChildren(drawCurve(this.latest, width, HEIGHT));
  }
}

const fact = (title, value, text) =>
  el(
    "div",
    { class: "fact" },
    el("h2", {}, title),
    el("p", { class: "value" }, value),
    el("p", { class: "hint" }, text),
  );
