// Curves of the size of a word.

import { s } from "./dom.js";
import { trace } from "./lines.js";

/** A small curve of shares from 0 to 1; nothing is drawn where there is nothing. */
export function sparkline(values) {
  const [width, height] = [72, 20];
  const at = values.map((_, i) => i);
  const x = (i) => 2 + (i / Math.max(1, values.length - 1)) * (width - 4);
  const y = (value) => height - 2 - value * (height - 4);
  const known = values.filter((value) => value !== null);
  const told = known.length ? `F1 lately, oldest first: ${known.map((value) => value.toFixed(2)).join(", ")}` : "nothing judged lately";
  const dots = values.map((value, i) => value !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null
    && s("circle", { cx: x(i), cy: y(value), r: 1.5 }));
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told },
    s("path", { d: trace(at, values, x, y, 0, values.length) }), dots);
}
