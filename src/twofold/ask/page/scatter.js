// Items as dots on a canvas; close up, pictures or names of some of those in sight.

import { imageUrl } from "./items.js";

const MOST_SHOWN = 180;
const PICTURES_FROM_ZOOM = 2.5;
const FEW_IN_SIGHT = 160;
const MOST_KEPT = 600;
const PICTURE = 46;

// Dots as packed pixels: where more of them fall, the colour is stronger.
function ramp(colour, steps = 24) {
  const [red, green, blue] = colour;
  return Uint32Array.from({ length: steps + 1 }, (_, n) => {
    const alpha = n === 0 ? 0 : Math.round(255 * (1 - Math.exp(-(1.6 + n) / 3.2)));
    return (alpha << 24) | (blue << 16) | (green << 8) | red;
  });
}

export class Scatter {
  // `onLoad()` when a picture has come and the map is to be drawn again.
  constructor(canvas, items, onLoad) {
    Object.assign(this, { canvas, items, onLoad });
    this.context = canvas.getContext("2d");
    this.pictures = new Map();
    this.image = null;
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.counts = new Uint8Array(this.pixels.length);
  }

  // Draws it all and returns the items in sight whose picture or name is shown.
  draw(positions, camera, theme, { selected, neighbours, isMoving, hasPictures }) {
    const inSight = this.#dots(positions, camera, theme);
    const { context, ratio } = this;
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const isClose = camera.zoom >= PICTURES_FROM_ZOOM || inSight.length <= FEW_IN_SIGHT;
    const first = selected === null ? [] : [selected, ...neighbours];
    const shown = isClose ? this.#choose(positions, camera, inSight, first, hasPictures) : [];
    this.#labels(positions, camera, theme, shown, isMoving);
    if (selected !== null)
      this.#links(positions, camera, theme, selected, neighbours, new Set(shown));
    context.setTransform(1, 0, 0, 1, 0, 0);
    return { inSight, shown };
  }

  #dots(positions, camera, theme) {
    const { width, height } = this.canvas;
    const { counts, pixels } = this;
    counts.fill(0);
    const scale = camera.scale * this.ratio;
    const [left, top] = [width / 2 - camera.x * scale, height / 2 - camera.y * scale];
    const n = positions.length / 2;
    const size = Math.max(
      2,
      Math.round(
        (n > 20000 ? 1.6 : n > 2000 ? 3 : 5) * this.ratio * Math.min(3, Math.sqrt(camera.zoom)),
      ),
    );
    const inset = Array.from({ length: size }, (_, row) =>
      size < 4
        ? 0
        : Math.round(size / 2 - Math.sqrt((size * size) / 4 - (row + 0.5 - size / 2) ** 2)),
    );
    const inSight = [];
    for (let i = 0; i < n; i++) {
      const x = (positions[2 * i] * scale + left - size / 2) | 0;
      const y = (positions[2 * i + 1] * scale + top - size / 2) | 0;
      if (x < 0 || y < 0 || x + size >= width || y + size >= height) continue;
      inSight.push(i);
      for (let row = 0; row < size; row++) {
        const start = (y + row) * width + x;
        for (let at = start + inset[row]; at < start + size - inset[row]; at++)
          if (counts[at] < 24) counts[at]++;
      }
    }
    const colours = ramp(theme.dot);
    for (let at = 0; at < pixels.length; at++) pixels[at] = colours[counts[at]];
    return inSight;
  }

  // Some that do not cover each other: those asked about first, then by their number, so that they stay as the map moves.
  #choose(positions, camera, inSight, first, hasPictures) {
    const [wide, tall] = hasPictures ? [PICTURE + 6, PICTURE + 6] : [150, 26];
    const grow = Math.max(
      1,
      Math.sqrt((camera.width * camera.height) / (2 * MOST_SHOWN * wide * tall)),
    );
    const grid = new Map(); // cell → place of the one shown there
    const chosen = [];
    const isFree = (x, y, column, row) => {
      for (let c = column - 1; c <= column + 1; c++) {
        for (let r = row - 1; r <= row + 1; r++) {
          const other = grid.get(c * 65536 + r);
          if (other && Math.abs(other[0] - x) < wide * grow && Math.abs(other[1] - y) < tall * grow)
            return false;
        }
      }
      return true;
    };
    for (const list of [first, inSight]) {
      for (const item of list) {
        const [x, y] = [positions[2 * item] * camera.scale, positions[2 * item + 1] * camera.scale];
        const [column, row] = [Math.floor(x / (wide * grow)), Math.floor(y / (tall * grow))];
        if (!isFree(x, y, column, row)) continue;
        grid.set(column * 65536 + row, [x, y]);
        chosen.push(item);
        if (chosen.length >= MOST_SHOWN) return chosen;
      }
    }
    return chosen;
  }

  #labels(positions, camera, theme, shown, isMoving) {
    const { context } = this;
    for (const item of shown) {
      const [x, y] = camera.toScreen(positions[2 * item], positions[2 * item + 1]);
      const info = this.items.known.get(item);
      if (!info) continue;
      if (info.image) this.#picture(item, x, y, theme, isMoving);
      else this.#name(info.name, x, y, theme);
    }
    context.globalAlpha = 1;
  }

  #picture(item, x, y, theme, isMoving) {
    const image = this.pictures.get(item) ?? (isMoving ? null : this.#load(item));
    if (!image?.complete || !image.naturalWidth) return;
    const ratio = PICTURE / Math.max(image.naturalWidth, image.naturalHeight);
    const [width, height] = [image.naturalWidth * ratio, image.naturalHeight * ratio];
    const { context } = this;
    context.fillStyle = theme.line;
    context.fillRect(x - width / 2 - 1, y - height / 2 - 1, width + 2, height + 2);
    context.imageSmoothingEnabled = image.naturalWidth >= PICTURE;
    context.drawImage(image, x - width / 2, y - height / 2, width, height);
  }

  #load(item) {
    const image = new Image();
    image.onload = this.onLoad;
    image.src = imageUrl(item, 96);
    this.pictures.set(item, image);
    for (const old of this.pictures.keys()) {
      if (this.pictures.size <= MOST_KEPT) break;
      this.pictures.delete(old);
    }
    return image;
  }

  #name(name, x, y, theme) {
    const { context } = this;
    const text = name.length > 22 ? `${name.slice(0, 21)}…` : name;
    context.font = theme.font;
    const width = context.measureText(text).width;
    context.globalAlpha = 0.9;
    context.fillStyle = theme.paper;
    context.fillRect(x + 6, y - 9, width + 8, 18);
    context.globalAlpha = 1;
    context.fillStyle = theme.ink;
    context.fillText(text, x + 10, y + 4);
  }

  // A picture gets a frame, a dot gets a ring.
  #links(positions, camera, theme, selected, neighbours, shown) {
    const { context } = this;
    const at = (item) => camera.toScreen(positions[2 * item], positions[2 * item + 1]);
    const [cx, cy] = at(selected);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    for (const item of neighbours) {
      const [x, y] = at(item);
      context.globalAlpha = 0.5;
      context.beginPath();
      context.moveTo(cx, cy);
      context.lineTo(x, y);
      context.stroke();
      context.globalAlpha = 1;
      outline(context, x, y, this.#hasPicture(item, shown) ? PICTURE / 2 : 0, 6);
    }
    context.lineWidth = 3.5;
    outline(context, cx, cy, this.#hasPicture(selected, shown) ? PICTURE / 2 : 0, 11);
  }

  #hasPicture(item, shown) {
    return shown.has(item) && Boolean(this.pictures.get(item)?.naturalWidth);
  }
}

function outline(context, x, y, half, radius) {
  context.beginPath();
  if (half) context.rect(x - half - 2, y - half - 2, 2 * half + 4, 2 * half + 4);
  else context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}
