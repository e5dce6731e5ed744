// What is known of items, how one is shown, and a picture in its box.

import { el } from "./dom.js";
import { openZoom } from "./zoom.js";

const MOST = 5000;
const PIXELATED_BELOW = 100;

export const imageUrl = (item, side = 480) => `/image/${item}?side=${side}`;

// The latest few thousand items; questions that wait hold their own.
export class Items {
  constructor() {
    this.known = new Map();
  }

  add(items) {
    for (const [row, info] of Object.entries(items ?? {})) {
      this.known.delete(Number(row));
      this.known.set(Number(row), info);
    }
    for (const row of this.known.keys()) {
      if (this.known.size <= MOST) break;
      this.known.delete(row);
    }
  }

  get(item) {
    return this.known.get(item) ?? { name: `item ${item}`, image: false, fields: {} };
  }

  // Fetches those that are not known yet.
  async fetch(rows) {
    const missing = rows.filter((row) => !this.known.has(row)).slice(0, 400);
    if (!missing.length) return;
    const response = await fetch(`/items?rows=${missing.join(",")}`);
    if (!response.ok) return;
    const answer = await response.json();
    this.add(answer.items ?? answer);
  }
}

// An image that fills a box of reserved size; small ones keep their pixels.
export function picture(item, info, { side = 480, lazy = false } = {}) {
  const image = el("img", { alt: info.name, draggable: false });
  image.decoding = lazy ? "async" : "sync";
  if (lazy) image.loading = "lazy";
  image.addEventListener("load", () => {
    image.classList.toggle(
      "pixels",
      image.naturalWidth < PIXELATED_BELOW && image.naturalHeight < PIXELATED_BELOW,
    );
  });
  image.src = imageUrl(item, side);
  return image;
}

// A button with the picture, which enlarges it; `shown` are those that can be gone through there.
export function zoomable(shown, at) {
  const { item, info } = shown[at];
  const button = el(
    "button",
    {
      type: "button",
      class: "picture",
      title: "Enlarge (+)",
      "aria-label": `Enlarge ${info.name}`,
    },
    picture(item, info),
  );
  button.addEventListener("click", () => openZoom(shown, at, button));
  return button;
}

// A small likeness of an item: its picture, or its first fields.
export function thumbnail(item, info, { side = 240 } = {}) {
  if (info.image) return el("span", { class: "thumb" }, picture(item, info, { side, lazy: true }));
  return el(
    "span",
    { class: "thumb words" },
    el("span", { class: "thumb-name" }, info.name),
    brief(info),
  );
}

// The fields that are not the name, in a line.
export function brief(info, most = 4) {
  const values = Object.values(info.fields ?? {}).filter((value) => value && value !== info.name);
  return el("span", { class: "brief" }, values.slice(0, most).join(" · "));
}
