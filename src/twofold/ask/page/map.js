// The map: all items in two dimensions, and the neighbours of one of them by the embedding.

import { byId, el } from "./dom.js";
import { Beside } from "./beside.js";
import { Camera } from "./camera.js";
import { Finder } from "./finder.js";
import { Scatter } from "./scatter.js";

const K = 12;
const REACH = 18;
const MOVE_MS = 800;
const SETTLED_MS = 160;

export class ItemMap {
  constructor(app) {
    this.app = app;
    this.positions = null;
    this.version = -1;
    this.selected = null;
    this.neighbours = [];
    this.inSight = [];
    this.#draw();
    this.camera = new Camera(this.canvas, {
      onMove: () => this.#redraw(),
      onClick: (x, y) => this.#click(x, y),
    });
    this.scatter = new Scatter(this.canvas, app.items, () => this.#redraw());
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#redraw());
    app.live.on(
      "map",
      ({ version }) => app.view === "map" && version !== this.version && this.#fetch(),
    );
    app.live.on(
      "neighbours",
      (message) => message.item === this.selected && this.#showNeighbours(message),
    );
    app.live.on(
      "learning",
      ({ version }) => app.view === "map" && version > (this.listed ?? 0) && this.#askNeighbours(),
    );
  }

  enter(argument) {
    this.app.live.ask({ type: "map" });
    this.#fetch();
    const item = Number.parseInt(argument, 10);
    if (Number.isInteger(item) && item !== this.selected) this.select(item, { look: true });
    else this.#askNeighbours();
    this.#redraw();
  }

  leave() {}

  get hasPictures() {
    return this.app.welcome?.has_images ?? true;
  }

  key(event) {
    const isOnCanvas =
      event.target === this.canvas ||
      event.target === document.body ||
      event.target === byId("main");
    if (event.key.startsWith("Arrow") && !isOnCanvas) return false;
    if (event.key === "Enter" && event.target === this.canvas) {
      this.#click(this.camera.width / 2, this.camera.height / 2, Infinity);
      return true;
    }
    return this.camera.key(event.key);
  }

  select(item, { look = false } = {}) {
    this.selected = item;
    this.neighbours = [];
    this.lookWhenThere = look;
    if (look && this.positions) this.#look();
    this.#askNeighbours();
    this.#redraw();
  }

  #look() {
    this.lookWhenThere = false;
    this.camera.lookAt(
      this.positions[2 * this.selected],
      this.positions[2 * this.selected + 1],
      Math.max(this.camera.zoom, 4),
    );
  }

  #draw() {
    const tool = (label, sign, name) =>
      el(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": label,
          title: label,
          on: { click: () => this.camera.key(name) },
        },
        sign,
      );
    this.canvas = el("canvas", {
      tabIndex: 0,
      role: "application",
      "aria-label":
        "Map of all items. Arrow keys move, plus and minus zoom, Enter chooses the item in the middle. A list of what is in sight follows.",
    });
    this.state = el("p", { class: "map-state" }, "The map comes in a moment.");
    this.finder = new Finder({
      live: this.app.live,
      items: this.app.items,
      label: "Find on the map",
      onChoose: (item) => this.select(item, { look: true }),
    });
    this.beside = new Beside({
      items: this.app.items,
      onChoose: (item) => this.select(item),
      onOpen: () => this.beside.showSight(this.inSight),
    });
    byId("view-map").replaceChildren(
      el(
        "div",
        { class: "sheet" },
        this.canvas,
        this.state,
        el(
          "div",
          { class: "map-tools" },
          tool("Closer", "+", "+"),
          tool("Further away", "−", "-"),
          tool("All of it", "⤢", "0"),
        ),
      ),
      el(
        "div",
        { class: "margin" },
        el("h1", {}, "The map"),
        this.finder.node,
        this.beside.chosen,
        this.beside.sight,
      ),
    );
  }

  async #fetch() {
    if (this.fetching) return void (this.again = true);
    this.fetching = true;
    try {
      const response = await fetch("/map", { cache: "no-store" });
      const bytes = response.ok ? await response.arrayBuffer() : null;
      if (bytes?.byteLength)
        this.#receive(new Float32Array(bytes), Number(response.headers.get("X-Version")));
      else this.state.textContent = "The map is being drawn; it comes by itself.";
    } catch {
      this.state.textContent = "The map comes as soon as the connection is there.";
    }
    this.fetching = false;
    if (this.again) {
      this.again = false;
      this.#fetch();
    }
  }

  #receive(positions, version) {
    this.state.textContent = "";
    if (version === this.version && this.positions?.length === positions.length) return;
    this.version = version;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const old = this.positions;
    this.target = positions;
    if (!old || old.length !== positions.length || isCalm || this.app.view !== "map")
      this.positions = positions;
    else this.#move(old.slice(), positions);
    if (this.lookWhenThere && this.selected !== null) this.#look();
    this.#redraw();
  }

  #move(from, to) {
    const start = performance.now();
    this.positions = from.slice();
    this.isMoving = true;
    const step = (now) => {
      if (this.target !== to) return;
      const t = Math.min(1, Math.max(0, (now - start) / MOVE_MS));
      const eased = t * t * (3 - 2 * t);
      for (let i = 0; i < to.length; i++) this.positions[i] = from[i] + (to[i] - from[i]) * eased;
      this.isMoving = t < 1;
      this.#paint();
      if (t < 1) requestAnimationFrame(step);
      else this.#settle();
    };
    requestAnimationFrame(step);
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.camera.resize(width, height);
    this.scatter.resize(width, height, Math.min(2, devicePixelRatio));
    this.#paint();
  }

  #redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.#paint();
    });
  }

  #paint() {
    if (!this.positions || !this.scatter.image || this.app.view !== "map") return;
    const { inSight, shown } = this.scatter.draw(
      this.positions,
      this.camera,
      theme(this.canvas),
      this,
    );
    Object.assign(this, { inSight, shown });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#settle(), SETTLED_MS);
  }

  // What is shown close up is fetched once the map stands still.
  async #settle() {
    const missing = this.shown?.filter((item) => !this.app.items.known.has(item)) ?? [];
    if (missing.length) {
      await this.app.items.fetch(missing);
      this.#redraw();
    }
    this.beside.showSight(this.inSight);
  }

  #click(x, y, reach = REACH) {
    if (!this.positions) return;
    let [best, nearest] = [null, reach * reach];
    for (const item of this.inSight) {
      const [px, py] = this.camera.toScreen(this.positions[2 * item], this.positions[2 * item + 1]);
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < nearest) [best, nearest] = [item, far];
    }
    if (best !== null) this.select(best);
  }

  #askNeighbours() {
    if (this.selected !== null)
      this.app.live.ask({ type: "neighbours", item: this.selected, k: K });
  }

  #showNeighbours(message) {
    if (this.app.view !== "map") return;
    this.listed = message.version;
    this.app.items.add(message.items);
    this.neighbours = message.list.map((neighbour) => neighbour.item);
    this.beside.showNeighbours(message);
    this.#redraw();
  }
}

// The colours of the style sheet, for the canvas.
function theme(canvas) {
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(name).trim();
  const dot = colour("--dot").split(" ").map(Number);
  return {
    dot,
    ink: colour("--ink"),
    paper: colour("--card"),
    line: colour("--line"),
    accent: colour("--mark"),
    font: `12px ${style.fontFamily}`,
  };
}
