// What this person prefers, remembered in the browser.

import { byId, el } from "./dom.js";

const STORED = "twofold.settings";
const DEFAULTS = { who: "", guess: false, nines: true };

// Event "change" with the name of what changed.
export class Settings extends EventTarget {
  constructor() {
    super();
    this.values = { ...DEFAULTS };
    try {
      const stored = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      for (const name of Object.keys(DEFAULTS)) {
        if (typeof stored[name] === typeof DEFAULTS[name]) this.values[name] = stored[name];
      }
    } catch {
      /* what cannot be read is as if it had not been set */
    }
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    try {
      localStorage.setItem(STORED, JSON.stringify(this.values));
    } catch {
      /* it holds for this page */
    }
    this.dispatchEvent(new CustomEvent("change", { detail: name }));
  }

  on(name, listener) {
    this.addEventListener("change", (event) => event.detail === name && listener(this.get(name)));
  }

  // A labelled switch that follows the setting wherever it is changed.
  switch(name, label) {
    const box = el("input", { type: "checkbox", role: "switch", checked: this.get(name) });
    box.addEventListener("change", () => this.set(name, box.checked));
    this.on(name, (value) => (box.checked = value));
    return el(
      "label",
      { class: "switch" },
      box,
      el("span", { class: "track", "aria-hidden": "true" }),
      el("span", {}, label),
    );
  }
}

export function prepareSettings(settings) {
  const dialog = byId("settings");
  const name = el("input", {
    type: "text",
    id: "who",
    maxLength: 80,
    autocomplete: "off",
    placeholder: "me",
  });
  name.addEventListener("change", () => settings.set("who", name.value.trim()));
  name.addEventListener("keydown", (event) => event.key === "Enter" && dialog.close());
  dialog.replaceChildren(
    el("h2", { id: "settings-heading" }, "Settings"),
    el("label", { class: "field", htmlFor: "who" }, "Who answers"),
    name,
    el(
      "p",
      { class: "hint" },
      "Kept with each answer, so that it can be seen later who said what.",
    ),
    settings.switch("nines", "Also ask “one against nine”"),
    settings.switch("guess", "Show the model’s guess"),
    el("p", { class: "hint" }, "Hidden at first, because people tend to copy it."),
    el("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, "Done"),
  );
  dialog.addEventListener("close", () => settings.set("who", name.value.trim()));
  byId("open-settings").addEventListener("click", () => {
    name.value = settings.get("who");
    dialog.showModal();
  });
}
