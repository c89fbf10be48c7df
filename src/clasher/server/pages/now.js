// The Now page: quality, speed, size, and charts.

import { LineChart, TimeView } from "./charts.js";
import { h, say, show } from "./dom.js";
import { listen } from "./events.js";
import * as write from "./format.js";
import { latest, past } from "./history.js";

const QUALITY = [
  ["macro_f1", "Macro F1", "macro", "mean over labels"],
  ["micro_f1", "Micro F1", "micro", "over all decisions"],
  ["frequent_f1", "Frequent labels", "frequent", "macro F1 of the most frequent labels"],
  ["rare_f1", "Rare labels", "rare", "macro F1 of the other labels"],
];

const SPANS = [["5 min", 300], ["1 h", 3600], ["All", Infinity]];

const CHARTS = [
  [{ title: "F1", write: write.ratio, floor: 0, ceiling: 1, least: 0.05, lines: [
    { name: "macro, recent", class: "macro" }, { name: "micro, recent", class: "micro" },
    { name: "macro, total", class: "macro", dashed: true }, { name: "micro, total", class: "micro", dashed: true },
  ] }, (points) => ["recentMacro", "recentMicro", "macro", "micro"].map((name) => points.columns[name])],
  [{ title: "Documents per second", write: write.short, floor: 0, lines: [
    { name: "learnt", class: "rare" }, { name: "predicted", class: "micro" },
  ] }, (points) => [points.rates("learned"), points.rates("predicted")]],
  [{ title: "Prediction time", write: write.milliseconds, floor: 0, lines: [
    { name: "median", class: "micro" }, { name: "99th percentile", class: "frequent" },
  ] }, (points) => [points.columns.p50, points.columns.p99]],
  [{ title: "Memory", write: write.bytes, floor: 0, lines: [
    { name: "process", class: "macro" },
  ] }, (points) => [points.columns.memory]],
];

export function openNow(root) {
  const view = new TimeView();
  const cards = QUALITY.map((row) => new QualityCard(...row));
  const facts = new Facts();
  const charts = CHARTS.map(([options, columns]) => [new LineChart(options, view), columns]);
  const empty = h("p", { class: "notice", hidden: true },
    "No documents yet. Send some to ", h("code", {}, "v1/learn"), " or ", h("code", {}, "v1/predict"),
    " (", h("a", { href: "docs" }, "API"), ").");
  const pause = h("button", { "aria-pressed": "false", on: { click: () => turn(!frozen) } }, "Pause");
  const whole = h("button", { hidden: true, on: { click: () => view.set({ range: null }) } }, "Zoom out");
  let frozen = null; // the history when paused

  function turn(isPaused) {
    frozen = isPaused ? past.copy() : null;
    pause.setAttribute("aria-pressed", String(isPaused));
    say(pause, isPaused ? "Resume" : "Pause");
    draw();
  }
  function draw() {
    const points = frozen ?? past;
    for (const [chart, columns] of charts) chart.update(points.at, columns(points));
  }
  function tell(metrics) {
    empty.hidden = metrics.documents_learned + metrics.documents_predicted > 0;
    for (const card of cards) card.update(metrics);
    facts.update(metrics);
    if (!frozen) draw();
  }
  const spans = SPANS.map(([name, last]) => h("button", { on: { click: () => view.set({ last, range: null }) } }, name));
  const marked = () => {
    whole.hidden = view.range === null;
    spans.forEach((button, i) => button.setAttribute("aria-pressed", String(!view.range && view.last === SPANS[i][1])));
  };
  view.watchers.add(marked);
  marked();

  show(root,
    h("div", { class: "title" }, h("h1", {}, "Now"), h("p", { class: "actions" }, whole, h("span", { class: "group", role: "group", "aria-label": "Time range" }, spans), pause)),
    empty,
    h("section", { class: "cards", "aria-label": "Quality" }, cards.map((card) => card.element)),
    h("p", { class: "explanation" }, "Measured on documents predicted before they were learnt, excluding those picked as uncertain. Large number: recent value with its 95 % confidence interval."),
    facts.element,
    h("section", { class: "charts", "aria-label": "Charts" }, charts.map(([chart]) => chart.element)),
    h("p", { class: "explanation" }, "One point per second; older points are thinned out. Drag over a chart to zoom in, double-click to zoom out."));
  if (latest) tell(latest);
  draw();
  const stop = listen("metrics", tell);
  return () => {
    stop();
    for (const [chart] of charts) chart.close();
  };
}

/** A quality measure: recent and total. */
class QualityCard {
  constructor(name, title, look, about) {
    this.name = name;
    this.figure = h("p", { class: "figure" }, "–");
    this.reach = h("div", { class: "reach" });
    this.recent = h("p", { class: "parts" }, "not enough data yet");
    this.ever = h("p", { class: "parts" });
    this.element = h("article", { class: `card ${look}` },
      h("h2", { title: about }, title), this.figure, this.reach, this.recent, this.ever);
  }

  update({ recent, cumulative }) {
    const [now, ever] = [recent[this.name], cumulative[this.name]];
    say(this.figure, now.is_enough ? write.ratio(now.value) : "–");
    const reach = now.is_enough ? write.reach(now) : h("div", { class: "reach" });
    this.reach.replaceWith(reach);
    this.reach = reach;
    parts(this.recent, now.is_enough
      ? [write.interval(now), `of ${this.size(recent)}`]
      : ["not enough data yet:", `${write.plural(recent.documents, "document", "documents")} judged`]);
    parts(this.ever, ever.is_enough ? [`total ${write.ratio(ever.value)}`, `(${write.interval(ever)})`] : []);
  }

  size(recent) {
    if (this.name === "frequent_f1") return write.plural(recent.frequent_labels, "label", "labels");
    if (this.name === "rare_f1") return write.plural(recent.rare_labels, "label", "labels");
    return write.plural(recent.documents, "document", "documents");
  }
}

/** Show texts side by side, each unbroken. */
function parts(element, texts) {
  if (element.textContent !== texts.join("")) show(element, texts.map((text) => h("span", {}, text)));
}

/** The other numbers. */
class Facts {
  constructor() {
    this.cells = new Map();
    this.element = h("dl", { class: "facts", "aria-label": "Numbers" });
  }

  update(metrics) {
    const latency = metrics.latency_ms?.predict;
    const lastRate = (name) => past.rates(name).at(-1) ?? null;
    const rate = (name) => (lastRate(name) === null ? "–" : write.rate(lastRate(name)));
    this.set("Learning", rate("learned"), `${write.count(metrics.documents_learned)} documents in total`);
    this.set("Predicting", rate("predicted"), `${write.count(metrics.documents_predicted)} since the start`);
    this.set("Prediction time", latency ? write.milliseconds(latency[0]) : "–", latency ? `99th percentile ${write.milliseconds(latency[1])}` : "no recent predictions");
    this.set("Labels", write.count(metrics.labels), `${write.plural(metrics.documents_taught, "answer", "answers")} learnt`);
    this.set("Memory", write.bytes(metrics.memory_bytes), `model: ${write.bytes(metrics.model_bytes)}`);
    this.set("Uptime", write.duration(metrics.uptime_seconds), `version ${write.count(metrics.version)}`);
  }

  set(name, value, more) {
    if (!this.cells.has(name)) {
      const cells = [h("b"), h("span", { class: "quiet" })];
      this.cells.set(name, cells);
      this.element.append(h("div", {}, h("dt", {}, name), h("dd", {}, cells)));
    }
    const [main, quiet] = this.cells.get(name);
    say(main, value);
    say(quiet, more);
  }
}
