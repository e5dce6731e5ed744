// The websocket: it opens itself again, and sends again what was not confirmed.

import { Outbox, newKey } from "./outbox.js";

const FIRST_WAIT = 300;
const LONGEST_WAIT = 8000;
const CONFIRMS = new Set(["saved", "undone", "refused"]);

// Events: every message of the server by its type; "state" when `state` or the outbox changes.
export class Live extends EventTarget {
  constructor({ who }) {
    super();
    this.who = who;
    this.outbox = new Outbox();
    this.state = "connecting"; // → "open" → "away" → "open" …, or "refused" for good
    this.wait = FIRST_WAIT;
    this.socket = null;
    this.retry = 0;
    addEventListener("online", () => this.#hurry());
    addEventListener("focus", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/live`);
    this.socket = socket;
    socket.addEventListener("open", () => this.#write({ type: "hello", who: this.who }));
    socket.addEventListener("message", (event) => this.#receive(event.data));
    socket.addEventListener("close", () => this.socket === socket && this.#lost());
  }

  // Says something that is asked anew after a reconnect anyway; false if nobody listens now.
  ask(message) {
    if (this.state !== "open") return false;
    return this.#write(message);
  }

  // Says something that must not be lost; returns its key.
  tell(message) {
    const entry = this.outbox.add({ ...message, key: newKey() });
    if (this.state === "open" && this.#write(entry.message)) this.outbox.markSent(entry);
    this.#changed();
    return entry.message.key;
  }

  // Takes back the last message if it never left this page; returns it, or null.
  recall() {
    const entry = this.outbox.lastUnsent();
    if (!entry || this.state === "open") return null;
    this.outbox.remove(entry.message.key);
    this.#changed();
    return entry.message;
  }

  rename(who) {
    this.who = who;
    this.ask({ type: "hello", who });
  }

  on(type, listener) {
    this.addEventListener(type, (event) => listener(event.detail));
  }

  #write(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  #receive(text) {
    const message = JSON.parse(text);
    if (message.type === "welcome") this.#welcomed(message);
    if (CONFIRMS.has(message.type) && message.key) this.outbox.remove(message.key);
    this.dispatchEvent(new CustomEvent(message.type, { detail: message }));
    if (CONFIRMS.has(message.type)) this.#changed();
  }

  #welcomed(message) {
    const isFirst = this.state !== "open";
    this.wait = FIRST_WAIT;
    this.state = "open";
    this.outbox.open(message.title);
    if (!isFirst) return;
    for (const entry of this.outbox.unsent) {
      if (this.#write(entry.message)) this.outbox.markSent(entry);
    }
    this.#changed();
  }

  async #lost() {
    this.socket = null;
    if (this.state === "refused") return;
    this.state = "away";
    this.#changed();
    if (await isRefused()) {
      this.state = "refused";
      this.#changed();
      return;
    }
    const jitter = 0.75 + Math.random() / 2;
    this.retry = setTimeout(() => this.connect(), this.wait * jitter);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  // A new link that was opened in another tab makes this one valid too.
  async #hurry() {
    if (this.state === "refused" && !(await isRefused())) location.reload();
    if (this.state !== "away" || this.socket !== null) return;
    clearTimeout(this.retry);
    this.connect();
  }

  #changed() {
    this.dispatchEvent(new CustomEvent("state", { detail: this }));
  }
}

// A websocket does not say why it was closed; a plain request does.
async function isRefused() {
  try {
    const response = await fetch("/", { cache: "no-store", credentials: "same-origin" });
    return response.status === 401 || response.status === 403;
  } catch {
    return false; // nobody is there: that may change
  }
}
