// Live line charts of raw values, with a cursor and zoom.
//
// Charts that share a `TimeView` share zoom and cursor.

import { h, s, say, show } from "./dom.js";
import { time } from "./format.js";
import { nearest, roundStep, trace } from "./lines.js";

const MARGIN = { left: 60, right: 12, top: 10, bottom: 24 };
const HEIGHT = 200;
const DRAG = 6; // pixels: a longer movement selects a range

/** The visible time range and the cursor. */
export class TimeView {
  constructor() {
    this.last = 300; // seconds up to now
    this.range = null; // a selected range, which does not move
    this.cursor = null;
    this.watchers = new Set();
  }

  /** Return the first and last visible moment. */
  over(at) {
    const [first, last] = [at[0] ?? 0, at.at(-1) ?? 1];
    return this.range ?? [Math.max(first, last - this.last), last];
  }

  set(change) {
    Object.assign(this, change);
    for (const watcher of this.watchers) watcher();
  }
}

/** A chart; each of `lines` has a name and a class for its colour, and may be `dashed`. */
export class LineChart {
  constructor({ title, lines, write, floor = null, ceiling = null, least = 0 }, view) {
    Object.assign(this, { title, lines, write, floor, ceiling, least, view });
    this.at = [];
    this.columns = lines.map(() => []);
    this.width = 600;
    this.grid = s("g");
    this.paths = lines.map((line) => s("path", { class: `line ${line.class}${line.dashed ? " dashed" : ""}` }));
    this.cursor = s("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" });
    this.choice = s("rect", { class: "choice", y: MARGIN.top, height: HEIGHT - MARGIN.top - MARGIN.bottom, visibility: "hidden" });
    this.area = s("svg", { x: MARGIN.left, height: HEIGHT }, this.choice, this.paths, this.cursor);
    this.svg = s("svg", { class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": title }, this.grid, this.area);
    this.values = lines.map(() => h("b", {}, "–"));
    this.tip = h("div", { class: "tip", hidden: true });
    this.element = h("figure", { class: "chart" },
      h("figcaption", {}, h("h2", {}, title), this.legend()), h("div", { class: "canvas" }, this.svg, this.tip));
    this.isPointed = false; // this chart shows the values at the cursor; others only the cursor
    this.isKeyed = false;
    this.handle();
    this.sizes = new ResizeObserver(([entry]) => {
      this.width = Math.max(200, entry.contentRect.width);
      this.draw();
    });
    this.sizes.observe(this.svg.parentElement);
    view.watchers.add(this.redraw = () => this.draw());
  }

  close() {
    this.sizes.disconnect();
    this.view.watchers.delete(this.redraw);
  }

  /** Draw values; `columns` in the order of the lines. */
  update(at, columns) {
    this.at = at;
    this.columns = columns;
    columns.forEach((column, i) => say(this.values[i], this.format(column.at(-1))));
    this.svg.setAttribute("aria-label", this.spoken());
    this.draw();
  }

  format(value) {
    return value === null || value === undefined ? "–" : this.write(value);
  }

  spoken() {
    const values = this.lines.map((line, i) => `${line.name} ${this.format(this.columns[i].at(-1))}`);
    return `${this.title}: ${values.join(", ")}. Left and right move the cursor, plus and minus zoom, Escape resets.`;
  }

  legend() {
    return h("ul", { class: "legend" }, this.lines.map((line, i) => h("li", { class: line.class },
      h("i", { class: line.dashed ? "key dashed" : "key" }), `${line.name} `, this.values[i])));
  }

  draw() {
    const { at, svg, width } = this;
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.area.setAttribute("width", this.inner); // clips the lines
    this.area.setAttribute("viewBox", `${MARGIN.left} 0 ${this.inner} ${HEIGHT}`);
    const [from, to] = this.view.over(at);
    this.from = from;
    this.span = Math.max(to - from, 1);
    const [low, high, ticks] = this.heights(from, to);
    const x = (moment) => MARGIN.left + ((moment - from) / this.span) * this.inner;
    const y = (value) => HEIGHT - MARGIN.bottom - ((value - low) / (high - low)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    this.paths.forEach((path, i) => path.setAttribute("d", trace(at, this.columns[i], x, y, from, to)));
    show(this.grid, ticks.map((tick) => [
      s("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
      s("text", { class: "y", x: MARGIN.left - 8, y: y(tick) + 4 }, this.write(tick)),
    ]), at.length > 1 && [
      s("text", { class: "x first", x: MARGIN.left, y: HEIGHT - 6 }, time(from)),
      s("text", { class: "x last", x: width - MARGIN.right, y: HEIGHT - 6 }, time(to)),
    ]);
    this.point(x);
  }

  get inner() {
    return this.width - MARGIN.left - MARGIN.right;
  }

  /** Return the bounds of the visible values and round ticks between them. */
  heights(from, to) {
    let [low, high] = [Infinity, -Infinity];
    this.at.forEach((moment, i) => {
      if (moment < from || moment > to) return;
      for (const column of this.columns) {
        if (column[i] === null || column[i] === undefined) continue;
        low = Math.min(low, column[i]);
        high = Math.max(high, column[i]);
      }
    });
    if (low > high) [low, high] = [0, 1];
    if (this.floor !== null && this.ceiling === null) low = this.floor;
    const missing = Math.max(0, this.least - (high - low)) / 2;
    const step = roundStep((high - low + 2 * missing || 1) / 4);
    low = Math.max(this.floor ?? -Infinity, Math.floor((low - missing) / step) * step);
    high = Math.min(this.ceiling ?? Infinity, Math.ceil((high + missing) / step) * step);
    if (high <= low) high = low + step;
    const ticks = [];
    for (let tick = low; tick <= high + step / 2; tick += step) ticks.push(tick);
    return [low, high, ticks];
  }

  /** Show the cursor and the values at it. */
  point(x) {
    const seen = this.at.filter((moment) => moment >= this.from && moment <= this.from + this.span);
    const isSeen = this.view.cursor !== null && seen.length > 0;
    const i = isSeen ? this.at.indexOf(seen[nearest(seen, this.view.cursor)]) : -1;
    this.cursor.setAttribute("visibility", isSeen ? "visible" : "hidden");
    this.tip.hidden = !isSeen || !this.isPointed;
    if (!isSeen) return;
    const place = x(this.at[i]);
    this.cursor.setAttribute("x1", place);
    this.cursor.setAttribute("x2", place);
    show(this.tip, h("p", { class: "when" }, time(this.at[i])), this.lines.map((line, k) =>
      h("p", { class: line.class }, h("span", {}, h("i", { class: line.dashed ? "key dashed" : "key" }), line.name),
        h("b", {}, this.format(this.columns[k][i])))));
    const isLeft = place > this.width / 2;
    this.tip.style.left = isLeft ? "auto" : `${place + 12}px`;
    this.tip.style.right = isLeft ? `${this.width - place + 12}px` : "auto";
    this.tip.setAttribute("role", this.isKeyed ? "status" : "none");
  }

  handle() {
    let start = null;
    const momentAt = (event) => {
      const box = this.svg.getBoundingClientRect();
      const inside = ((event.clientX - box.left) / box.width) * this.width - MARGIN.left;
      return this.from + Math.min(1, Math.max(0, inside / this.inner)) * this.span;
    };
    const on = (name, listener) => this.svg.addEventListener(name, listener);
    on("pointerdown", (event) => {
      start = { x: event.clientX, at: momentAt(event) };
      this.svg.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      this.isKeyed = false;
      this.isPointed = true;
      const at = momentAt(event);
      this.mark(start && Math.abs(event.clientX - start.x) > DRAG ? [start.at, at] : null);
      this.view.set({ cursor: at });
    });
    on("pointerup", (event) => {
      const ends = start && Math.abs(event.clientX - start.x) > DRAG ? [start.at, momentAt(event)] : null;
      start = null;
      this.mark(null);
      if (ends) this.view.set({ range: ends.sort((a, b) => a - b) });
    });
    on("pointercancel", () => { start = null; this.mark(null); });
    const leave = () => {
      this.isPointed = false;
      this.view.set({ cursor: null });
    };
    on("pointerleave", leave);
    on("blur", leave);
    on("dblclick", () => this.view.set({ range: null }));
    on("keydown", (event) => this.key(event));
  }

  key(event) {
    if (!this.at.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const { cursor } = this.view;
    const i = cursor === null ? this.at.length - 1 : nearest(this.at, cursor);
    const move = (k) => this.view.set({ cursor: this.at[Math.max(0, Math.min(this.at.length - 1, k))] });
    const zoom = (factor) => {
      const half = (this.span / 2) * factor;
      this.view.set({ range: [this.at[i] - half, this.at[i] + half], cursor: this.at[i] });
    };
    const actions = {
      ArrowLeft: () => move(cursor === null ? i : i - 1), ArrowRight: () => move(cursor === null ? i : i + 1),
      Home: () => move(0), End: () => move(this.at.length - 1),
      "+": () => zoom(0.5), "-": () => zoom(2), Escape: () => this.view.set({ range: null, cursor: null }),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    this.isKeyed = this.isPointed = true;
    actions[event.key]();
  }

  mark(ends) {
    this.choice.setAttribute("visibility", ends ? "visible" : "hidden");
    if (!ends) return;
    const [a, b] = ends.map((at) => MARGIN.left + ((at - this.from) / this.span) * this.inner).sort((m, n) => m - n);
    this.choice.setAttribute("x", a);
    this.choice.setAttribute("width", b - a);
  }
}
