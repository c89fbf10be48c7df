// Charts of the size of a word.

import { s } from "./dom.js";
import { trace } from "./lines.js";

/** Draw a small chart of values from 0 to 1, with gaps where they are missing. */
export function sparkline(values) {
  const [width, height] = [72, 20];
  const at = values.map((_, i) => i);
  const x = (i) => 2 + (i / Math.max(1, values.length - 1)) * (width - 4);
  const y = (value) => height - 2 - value * (height - 4);
  const known = values.filter((value) => value !== null);
  const text = known.length ? `Recent F1, oldest first: ${known.map((value) => value.toFixed(2)).join(", ")}` : "no recent values";
  const dots = values.map((value, i) => value !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null
    && s("circle", { cx: x(i), cy: y(value), r: 1.5 }));
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text },
    s("path", { d: trace(at, values, x, y, 0, values.length) }), dots);
}
