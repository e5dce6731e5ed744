// Elements, and what a screen reader is told.

const SVG = "http://www.w3.org/2000/svg";

// A property that the element knows is set, everything else becomes an attribute; `on` holds listeners.
function dress(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value))
        element.addEventListener(event, listener);
    } else if (name === "class") {
      element.setAttribute("class", value);
    } else if (name in element && element.namespaceURI !== SVG && !name.includes("-")) {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const el = (tag, properties = {}, ...children) =>
  dress(document.createElement(tag), properties, children);

export const svg = (tag, properties = {}, ...children) =>
  dress(document.createElementNS(SVG, tag), properties, children);

export const byId = (id) => document.getElementById(id);

export const unseen = (text) => el("span", { class: "unseen" }, text);

export const key = (name) => el("kbd", { "aria-hidden": "true" }, name);

// Politely tells a screen reader; the same words twice in a row are told twice.
export function announce(text) {
  const region = byId("announcer");
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

let noticed = 0;

// A sentence in the quiet line at the foot of the page; it goes by itself unless it is to stay.
export function notice(text, { stays = false } = {}) {
  const line = byId("notice");
  line.textContent = text ?? "";
  clearTimeout(noticed);
  line.dataset.stays = String(stays);
  if (text && !stays) noticed = setTimeout(() => (line.textContent = ""), 8000);
}

// What was said of one view is not carried to the next.
export function forgetNotice() {
  if (byId("notice").dataset.stays !== "true") notice("");
}

export const plural = (n, one, many = `${one}s`) =>
  `${n.toLocaleString("en-GB")} ${n === 1 ? one : many}`;

export const percent = (share) => `${Math.round(100 * share)} %`;

// How alike two items are: a share where there is one, else how far away.
export const degree = (similarity) =>
  similarity >= 0 ? percent(similarity) : `${(-similarity).toFixed(2)} away`;

// Whether keys are meant for what has the focus and not for the view.
export function isTyping(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  if (document.querySelector("dialog[open]")) return true;
  return (
    event.target instanceof Element &&
    event.target.closest("input:not([type=checkbox]), textarea, select") !== null
  );
}

// Space and Enter belong to a button, a link or a box that has the focus.
export const isOnControl = (event) =>
  event.target instanceof Element &&
  event.target.closest("button, a, summary, label, input") !== null;
