// The Labels page: a table with search, sorting and pages.

import { get } from "./api.js";
import { bdi, h, say, show } from "./dom.js";
import { listenCalmly } from "./events.js";
import * as write from "./format.js";
import { attempt } from "./notes.js";
import { sparkline } from "./spark.js";

const ROWS = 50;
const CALM = 3000; // milliseconds between two updates
const COLUMNS = [
  { title: "Label", sort: "name", class: "text", first: "asc" },
  { title: "Recent F1", class: "recent" },
  { title: "F1", sort: "f1", first: "desc" },
  { title: "Precision", sort: "precision", first: "desc", class: "wide" },
  { title: "Recall", sort: "recall", first: "desc", class: "wide" },
  { title: "Support", sort: "support", first: "desc" },
  { title: "Words", class: "text wide" },
];

// The search survives visits of other pages.
const view = { query: "", sort: "support", order: "desc", start: 0 };

export function openLabels(root) {
  const table = new LabelTable();
  show(root, h("h1", {}, "Labels"), table.element);
  table.load();
  const stop = listenCalmly(["learned", "feedback", "label", "model"], CALM, () => table.isBusy || table.load());
  return () => {
    stop();
    table.asked?.abort();
  };
}

class LabelTable {
  constructor() {
    this.search = h("input", { type: "search", id: "search", value: view.query, autocomplete: "off", spellcheck: "false", on: { input: () => {
      Object.assign(view, { query: this.search.value.trim(), start: 0 });
      this.load();
    } } });
    this.found = h("p", { role: "status" });
    this.heads = COLUMNS.map((column) => h("th", { scope: "col", class: column.class },
      column.sort ? h("button", { on: { click: () => this.sort(column) } }, column.title) : column.title));
    this.body = h("tbody");
    this.before = h("button", { on: { click: () => this.turn(-ROWS) } }, "Previous");
    this.after = h("button", { on: { click: () => this.turn(ROWS) } }, "Next");
    this.element = h("section", {},
      h("div", { class: "tools" }, h("label", { for: "search" }, "Find a label"), this.search, this.found),
      h("div", { class: "boxed" }, h("table", { class: "labels" }, h("thead", {}, h("tr", {}, this.heads)), this.body)),
      h("nav", { class: "turn", "aria-label": "Pages of the table" }, this.before, this.after));
  }

  /** Whether an update would take the user's focus or selection. */
  get isBusy() {
    return this.body.contains(document.activeElement) || !getSelection().isCollapsed;
  }

  sort(column) {
    const isAgain = view.sort === column.sort;
    const other = view.order === "asc" ? "desc" : "asc";
    Object.assign(view, { sort: column.sort, order: isAgain ? other : column.first, start: 0 });
    this.load();
  }

  turn(rows) {
    view.start += rows;
    this.load();
  }

  async load() {
    this.asked?.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    await attempt(async () => {
      const { labels, total } = await get("labels", { ...view, most: ROWS, words: 4 }, { signal });
      if (view.start && !labels.length) {
        view.start = 0;
        this.load();
        return;
      }
      this.show(labels, total);
    });
  }

  show(labels, total) {
    const { start, query } = view;
    COLUMNS.forEach((column, i) => {
      if (!column.sort) return;
      const isSorted = column.sort === view.sort;
      this.heads[i].setAttribute("aria-sort", isSorted ? `${view.order}ending` : "none");
    });
    show(this.body, labels.length ? labels.map(row) : h("tr", {}, h("td", { class: "text quiet", colspan: COLUMNS.length },
      query ? "No label matches." : "No labels yet. They appear when the model learns them.")));
    const range = labels.length ? `${write.count(start + 1)}–${write.count(start + labels.length)} of ` : "";
    say(this.found, `${range}${write.plural(total, "label", "labels")}`);
    this.before.disabled = start === 0;
    this.after.disabled = start + labels.length >= total;
    this.before.parentElement.hidden = total <= ROWS;
  }
}

function row(label) {
  return h("tr", {},
    h("th", { scope: "row", class: "text" }, h("a", { href: `#/labels/${label.id}` }, bdi(label.name)), marks(label)),
    h("td", { class: "recent" }, sparkline(label.history)),
    h("td", {}, write.briefly(label.f1)),
    h("td", { class: "wide" }, write.briefly(label.precision)),
    h("td", { class: "wide" }, write.briefly(label.recall)),
    h("td", {}, write.count(label.support)),
    h("td", { class: "text wide quiet words" }, label.words.map(([word]) => [bdi(word), " "])));
}

/** Show that a label has drifted or is pinned. */
export function marks(label) {
  return [
    label.has_drifted && h("a", { class: "mark drifted", href: "#/drift" }, "drift"),
    label.is_pinned && h("span", { class: "mark pinned" }, "pinned"),
  ];
}
