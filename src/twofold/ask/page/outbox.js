// Messages that the server has not confirmed, kept in the browser until it has.

const PREFIX = "twofold.outbox";

export const newKey = () =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

// Each message has a place of its own in the storage, so that two tabs do not overwrite each other.
export class Outbox {
  constructor(storage = localStorage) {
    this.storage = storage;
    this.title = null;
    this.entries = new Map(); // key → {message, at, sent, counted}
  }

  // Called with the project's title as soon as it is known: brings what an earlier page left.
  open(title) {
    if (this.title === title) return;
    this.title = title;
    for (const entry of this.entries.values()) this.#store(entry);
    const left = [];
    for (let i = 0; i < this.storage.length; i++) {
      const name = this.storage.key(i);
      if (name.startsWith(`${PREFIX}/${title}/`)) left.push(name);
    }
    for (const name of left) this.#restore(name);
    const inOrder = [...this.entries].sort(([, a], [, b]) => a.at - b.at);
    this.entries = new Map(inOrder);
  }

  add(message) {
    const last = [...this.entries.values()].at(-1)?.at ?? 0;
    const entry = { message, at: Math.max(Date.now(), last + 1), sent: false };
    this.entries.set(message.key, entry);
    this.#store(entry);
    return entry;
  }

  has(key) {
    return this.entries.has(key);
  }

  remove(key) {
    this.entries.delete(key);
    if (this.title !== null) this.#quietly(() => this.storage.removeItem(this.#name(key)));
  }

  markSent(entry) {
    if (entry.sent) return;
    entry.sent = true;
    this.#store(entry);
  }

  // The last message, if it says something and the server cannot have seen it.
  lastUnsent() {
    const last = [...this.entries.values()].at(-1);
    return last && !last.sent && last.message.type !== "undo" ? last : null;
  }

  get size() {
    return this.entries.size;
  }

  get unsent() {
    return [...this.entries.values()];
  }

  #name(key) {
    return `${PREFIX}/${this.title}/${key}`;
  }

  #store(entry) {
    if (this.title === null) return;
    this.#quietly(() => this.storage.setItem(this.#name(entry.message.key), JSON.stringify(entry)));
  }

  #restore(name) {
    try {
      const entry = JSON.parse(this.storage.getItem(name));
      if (!this.entries.has(entry.message.key))
        this.entries.set(entry.message.key, { ...entry, sent: true });
    } catch {
      this.storage.removeItem(name);
    }
  }

  // A full or forbidden storage must not keep an answer from being sent.
  #quietly(action) {
    try {
      action();
    } catch {
      /* the message stays in memory */
    }
  }
}
