// A curve with its band against the number of answers, drawn as SVG at the size of its box.

import { svg } from "./dom.js";

const EDGE = { top: 14, right: 16, bottom: 40, left: 46 };
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];

// Round numbers from 0 on, at most `most` of them.
export function ticks(top, most) {
  const step = STEPS.find((each) => top / each <= most) ?? top;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

// The lower end of the axis: below everything drawn, by twentieths.
function floorOf(history, features) {
  if (!history.length) return 0.5;
  const lowest = Math.min(0.95, ...history.map(({ low }) => low), features ?? 1);
  const parts = lowest < 0.7 ? 10 : 20;
  return Math.max(0, Math.floor(parts * (lowest - 0.005)) / parts);
}

export function drawCurve({ history, features }, width, height) {
  const floor = floorOf(history, features);
  const last = Math.max(10, history.at(-1)?.answers ?? 100);
  const inner = { width: width - EDGE.left - EDGE.right, height: height - EDGE.top - EDGE.bottom };
  const x = (answers) => EDGE.left + (answers / last) * inner.width;
  const y = (auroc) => EDGE.top + ((1 - auroc) / (1 - floor)) * inner.height;
  const at = (point, name) =>
    `${x(point.answers).toFixed(1)},${y(Math.min(1, Math.max(floor, point[name]))).toFixed(1)}`;
  const path = (name, points = history) => points.map((point) => at(point, name)).join("L");
  const text = (words, px, py, anchor, name = "tick") =>
    svg("text", { x: px, y: py, "text-anchor": anchor, class: name }, words);

  const stepY = floor < 0.69 ? 0.1 : 0.05;
  const rows = Array.from(
    { length: Math.round((1 - floor) / stepY) + 1 },
    (_, i) => floor + i * stepY,
  );
  const parts = rows.flatMap((value) => [
    svg("line", {
      class: "rule",
      x1: EDGE.left,
      x2: width - EDGE.right,
      y1: y(value),
      y2: y(value),
    }),
    text(value.toFixed(2).replace(/^0/, ""), EDGE.left - 10, y(value) + 4, "end"),
  ]);
  parts.push(
    ...ticks(last, Math.max(3, inner.width / 90)).map((answers) =>
      text(String(answers), x(answers), height - EDGE.bottom + 20, "middle"),
    ),
  );
  parts.push(text("answers", width - EDGE.right, height - 4, "end", "axis"));
  if (!history.length) {
    parts.push(text("no estimate yet", x(last / 2), y((1 + floor) / 2) + 4, "middle", "axis"));
  } else {
    parts.push(
      svg("path", { class: "band", d: `M${path("high")}L${path("low", [...history].reverse())}Z` }),
    );
    parts.push(svg("path", { class: "line", d: `M${path("auroc")}` }));
    const [cx, cy] = at(history.at(-1), "auroc").split(",");
    parts.push(
      svg("path", {
        class: "whisker",
        d: `M${at(history.at(-1), "low")}L${at(history.at(-1), "high")}`,
      }),
    );
    parts.push(svg("circle", { class: "dot", cx, cy, r: 5 }));
  }
  if (features !== null && features !== undefined) {
    parts.push(
      svg("line", {
        class: "features",
        x1: EDGE.left,
        x2: width - EDGE.right,
        y1: y(features),
        y2: y(features),
      }),
    );
    parts.push(
      text(
        `features as given ${features.toFixed(2).replace(/^0/, "")}`,
        width - EDGE.right - 4,
        y(features) + 16,
        "end",
        "features-label",
      ),
    );
  }
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label":
        "Estimated quality against the number of answers; the figures are in the table below.",
    },
    ...parts,
  );
}
