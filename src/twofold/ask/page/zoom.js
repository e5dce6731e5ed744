// Images as large as the window: arrow keys go to the next, Esc closes.

import { announce, byId, el } from "./dom.js";
import { imageUrl } from "./items.js";

// `shown` is a list of {item, info}; the one at `at` comes first.
export function openZoom(shown, at = 0, opener = null) {
  const dialog = byId("zoom");
  const image = el("img", { alt: "" });
  const name = el("p");
  const go = (to) => {
    at = (to + shown.length) % shown.length;
    const { item, info } = shown[at];
    image.src = imageUrl(item, 1600);
    image.alt = name.textContent = info.name;
    announce(info.name);
  };
  const step = (sign, by, label) =>
    el(
      "button",
      {
        type: "button",
        class: `step step-${label}`,
        "aria-label": label,
        on: { click: () => go(at + by) },
      },
      sign,
    );
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth < 100));
  dialog.replaceChildren(
    image,
    name,
    el(
      "button",
      {
        type: "button",
        class: "close",
        "aria-label": "Close",
        on: { click: () => dialog.close() },
      },
      "×",
    ),
    ...(shown.length > 1 ? [step("‹", -1, "previous"), step("›", 1, "next")] : []),
  );
  dialog.onclick = (event) => (event.target === dialog || event.target === image) && dialog.close();
  dialog.onkeydown = (event) => {
    if (event.key === "ArrowLeft") go(at - 1);
    if (event.key === "ArrowRight") go(at + 1);
    if (event.key === "-") dialog.close();
  };
  dialog.onclose = () => {
    dialog.replaceChildren();
    if (opener?.isConnected) opener.focus({ preventScroll: true });
  };
  go(at);
  dialog.showModal();
}
