// Which part of the map is in sight: panned and zoomed by pointer, wheel, pinch and keys.

const MARGIN = 0.92;
const CLOSEST = 400;
const CLICK_SLACK = 5;
const KEY_STEP = 0.12;
const KEY_ZOOM = 1.4;

export class Camera {
  // `onMove()` when another part is in sight, `onClick(x, y)` in pixels of the canvas.
  constructor(canvas, { onMove, onClick }) {
    Object.assign(this, { canvas, onMove, onClick });
    this.width = this.height = 1;
    this.x = this.y = 0.5;
    this.zoom = 1;
    this.pointers = new Map();
    this.#listen();
  }

  resize(width, height) {
    Object.assign(this, { width, height });
  }

  // Pixels per unit of the map.
  get scale() {
    return Math.min(this.width, this.height) * MARGIN * this.zoom;
  }

  toScreen(x, y) {
    return [
      (x - this.x) * this.scale + this.width / 2,
      (y - this.y) * this.scale + this.height / 2,
    ];
  }

  toMap(px, py) {
    return [
      (px - this.width / 2) / this.scale + this.x,
      (py - this.height / 2) / this.scale + this.y,
    ];
  }

  zoomBy(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toMap(px, py);
    this.zoom = Math.min(CLOSEST, Math.max(0.8, this.zoom * factor));
    const [nx, ny] = this.toMap(px, py);
    this.#go(this.x + x - nx, this.y + y - ny);
  }

  panBy(dx, dy) {
    this.#go(this.x - dx / this.scale, this.y - dy / this.scale);
  }

  lookAt(x, y, zoom = this.zoom) {
    this.zoom = Math.min(CLOSEST, zoom);
    this.#go(x, y);
  }

  key(name) {
    const [dx, dy] = [this.width * KEY_STEP, this.height * KEY_STEP];
    const moves = {
      ArrowLeft: [dx, 0],
      ArrowRight: [-dx, 0],
      ArrowUp: [0, dy],
      ArrowDown: [0, -dy],
    };
    if (name in moves) this.panBy(...moves[name]);
    else if (name === "+" || name === "=") this.zoomBy(KEY_ZOOM);
    else if (name === "-") this.zoomBy(1 / KEY_ZOOM);
    else if (name === "0") this.lookAt(0.5, 0.5, 1);
    else return false;
    return true;
  }

  #go(x, y) {
    this.x = Math.min(1.1, Math.max(-0.1, x));
    this.y = Math.min(1.1, Math.max(-0.1, y));
    this.onMove();
  }

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#drag(event));
    for (const type of ["pointerup", "pointercancel"])
      canvas.addEventListener(type, (event) => this.#up(event));
  }

  #wheel(event) {
    event.preventDefault();
    const amount = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    this.zoomBy(
      Math.exp(-Math.max(-120, Math.min(120, amount)) / 300),
      event.offsetX,
      event.offsetY,
    );
  }

  #down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.travelled = this.pointers.size > 1 ? Infinity : 0;
  }

  #drag(event) {
    const old = this.pointers.get(event.pointerId);
    if (!old) return;
    const now = [event.offsetX, event.offsetY];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    this.travelled += Math.hypot(now[0] - old[0], now[1] - old[1]);
    if (other) {
      const ratio = distance(now, other) / Math.max(1, distance(old, other));
      this.zoomBy(ratio, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      this.panBy((now[0] - old[0]) / 2, (now[1] - old[1]) / 2);
    } else if (this.travelled > CLICK_SLACK) {
      this.panBy(now[0] - old[0], now[1] - old[1]);
    }
  }

  #up(event) {
    if (!this.pointers.delete(event.pointerId) || event.type === "pointercancel") return;
    if (this.travelled <= CLICK_SLACK) this.onClick(event.offsetX, event.offsetY);
  }
}

const distance = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);
