// Questions that wait. The next few are built and their images decoded ahead, so that one costs a frame.

const FEW = 8;
const AHEAD = 6;
const PATIENCE = 4000;

// `build(question, items)` makes the element of a question; `ask(have)` asks the server for more.
export class Queue {
  constructor({ build, ask, onArrival }) {
    Object.assign(this, { build, ask, onArrival });
    this.waiting = []; // {question, items, node}
    this.asked = -Infinity;
    this.isDry = false;
  }

  get length() {
    return this.waiting.length;
  }

  // A message of questions. `before` are those on the screen or just answered, of which the server may not have known yet.
  receive({ list, items, drop = [] }, before) {
    const dropped = new Set(drop);
    this.waiting = this.waiting.filter(({ question }) => !dropped.has(question.id));
    const known = new Set(
      [...this.waiting, ...before].flatMap(({ question }) => pairsOf(question)),
    );
    const fresh = list.filter((question) => !pairsOf(question).some((pair) => known.has(pair)));
    for (const question of fresh)
      this.waiting.push({ question, items: only(items, question), node: null });
    this.isDry = !fresh.length && !this.waiting.length;
    if (this.isDry) this.#askLater();
    else this.asked = -Infinity;
    this.#prepare();
    this.onArrival();
  }

  // Hands out the next one, or null.
  take(current) {
    const entry = this.waiting.shift() ?? null;
    if (entry) this.#built(entry);
    // What is to be ready next is built once this one is on the screen.
    requestAnimationFrame(() => setTimeout(() => this.#prepare()));
    this.refill(entry ?? current);
    return entry;
  }

  putBack(entry) {
    this.waiting.unshift(entry);
  }

  keepOnly(kinds) {
    this.waiting = this.waiting.filter(({ question }) => kinds.includes(question.kind));
    this.#prepare();
  }

  refill(current, { now = false } = {}) {
    if (this.waiting.length >= FEW) return;
    if (!now && performance.now() - this.asked < PATIENCE) return;
    const have = this.waiting.map(({ question }) => question.id);
    if (current) have.push(current.question.id);
    if (this.ask(have)) this.asked = performance.now();
  }

  // Whoever has nothing to ask says so at once: asked again at once, it would say so without end.
  #askLater() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.isDry && this.refill(null, { now: true }), PATIENCE);
  }

  // The very next one at once, the others one by one while nobody presses a key.
  #prepare() {
    for (const entry of this.waiting.slice(2 * AHEAD)) entry.node = null;
    if (this.waiting.length) this.#built(this.waiting[0]);
    const missing = this.waiting.slice(0, AHEAD).find(({ node }) => !node);
    if (!missing || this.isPreparing) return;
    this.isPreparing = true;
    requestIdleCallback(
      () => {
        this.isPreparing = false;
        if (this.waiting.includes(missing)) this.#built(missing);
        this.#prepare();
      },
      { timeout: 100 },
    );
  }

  #built(entry) {
    if (entry.node) return entry.node;
    entry.node = this.build(entry);
    for (const image of entry.node.querySelectorAll("img")) image.decode().catch(() => {});
    return entry.node;
  }
}

const pairsOf = ({ items: [first, ...others] }) =>
  others.map((other) => `${Math.min(first, other)}-${Math.max(first, other)}`);

const only = (items, question) =>
  Object.fromEntries(question.items.map((item) => [item, items[item]]));
