// The Memory page: sizes and their limits, what the model forgets, pinned labels.

import { get, newKey, post } from "./api.js";
import { bdi, h, say, show } from "./dom.js";
import { listen, listenCalmly } from "./events.js";
import * as write from "./format.js";
import { latest } from "./history.js";
import { allNames } from "./names.js";
import { attempt, note } from "./notes.js";
import { Picker } from "./picker.js";

const ROWS = 8; // labels unseen for longest
const CALM = 5000; // milliseconds between two updates

export function openMemory(root) {
  const meters = new Meters();
  const forgetting = h("ul", { class: "plain" });
  const fading = new Fading();
  const pins = new Pins();
  show(root, h("h1", {}, "Memory"),
    h("section", { class: "panel" }, h("h2", {}, "In use"), meters.element),
    h("div", { class: "columns" },
      h("section", { class: "panel" }, h("h2", {}, "Forgetting"), forgetting, fading.element),
      pins.element));
  const tell = (metrics) => {
    meters.update(metrics);
    const lines = forgotten(metrics);
    if (lines.join() !== [...forgetting.children].map((line) => line.textContent).join()) show(forgetting, lines.map((line) => h("li", {}, line)));
  };
  if (latest) tell(latest);
  pins.load();
  fading.load();
  const stops = [listen("metrics", tell), listen("label", () => pins.load()), listen("label", () => fading.load()),
    listenCalmly(["learned", "feedback", "model"], CALM, () => fading.load())];
  return () => stops.forEach((stop) => stop());
}

function forgotten(metrics) {
  const { settings = {} } = metrics;
  return [
    settings.half_life
      ? `Half-life: a lesson counts half after ${write.count(settings.half_life)} more documents.`
      : "No half-life: old lessons do not fade.",
    settings.detector && settings.detector !== "none"
      ? "When the errors of a label rise, the model forgets most of its past (see Drift)."
      : "No drift detector: rising errors do not make the model forget.",
    settings.on_full === "evict"
      ? `Beyond ${write.count(settings.max_labels)} labels, a new label replaces the one unseen for longest, unless it is pinned.`
      : `Beyond ${write.count(settings.max_labels ?? 0)} labels, new labels are refused.`,
    metrics.awaiting_dropped
      ? `${write.plural(metrics.awaiting_dropped, "document was", "documents were")} dropped before anybody gave feedback.`
      : "No document was dropped before somebody gave feedback.",
    metrics.log_dropped
      ? `${write.plural(metrics.log_dropped, "log entry was", "log entries were")} dropped: the model has learnt them, but the export lacks them.`
      : "The log is complete.",
  ];
}

/** Meters of sizes and their limits. */
class Meters {
  constructor() {
    this.rows = new Map();
    this.element = h("div", { class: "meters" });
  }

  update(metrics) {
    const { settings = {} } = metrics;
    const days = metrics.awaiting_seconds ? ` for ${write.duration(metrics.awaiting_seconds)} at most` : "";
    const dropped = metrics.model_dropped_values;
    const lost = dropped ? `; ${write.count(dropped)} values of words were dropped for want of room` : "";
    this.set("Model", metrics.model_bytes, metrics.model_bytes_most, write.bytes, `two copies: one predicts while the other learns${lost}`);
    this.set("Labels", metrics.labels, settings.max_labels ?? 0, write.count, "");
    this.set("Recent documents", metrics.awaiting, metrics.awaiting_most, write.count, `kept for feedback${days}; ${write.count(metrics.leased)} being taught now`);
    this.set("Disk", metrics.disk_bytes, metrics.disk_bytes_most, write.bytes, `${write.plural(metrics.log_entries, "entry", "entries")} in the log; latest snapshot: version ${write.count(metrics.snapshot_version)}`);
    this.set("Waiting requests", metrics.waiting_requests, metrics.waiting_most, write.count, "when full, clients are asked to try again later");
  }

  set(name, value, most, format, more) {
    if (!this.rows.has(name)) {
      const meter = h("div", { role: "meter", "aria-label": name, "aria-valuemin": 0 });
      const shown = h("b");
      const quiet = h("p", { class: "quiet" });
      this.rows.set(name, { meter, shown, quiet });
      this.element.append(h("div", {}, h("p", { class: "head" }, h("span", {}, name), shown), meter, quiet));
    }
    const { meter, shown, quiet } = this.rows.get(name);
    const text = most ? `${format(value)} of ${format(most)}` : format(value);
    meter.setAttribute("aria-valuemax", most);
    meter.setAttribute("aria-valuenow", value);
    meter.setAttribute("aria-valuetext", text);
    meter.style.setProperty("--share", most ? value / most : 0);
    say(shown, text);
    say(quiet, more);
  }
}

/** The pinned labels. */
class Pins {
  constructor() {
    this.list = h("ul", { class: "pins" });
    this.picker = new Picker({ id: "pin", label: "Pin a label", onPick: (name) => this.turn(name, "pin") });
    this.element = h("section", { class: "panel" }, h("h2", {}, "Pinned labels"),
      h("p", { class: "quiet" }, "New labels never replace these."), this.list, this.picker.element);
  }

  load() {
    return attempt(async () => {
      const pinned = (await allNames()).filter(({ isPinned }) => isPinned);
      show(this.list, pinned.length ? pinned.map(({ id, name }) => h("li", {},
        h("a", { href: `#/labels/${id}` }, bdi(name)),
        h("button", { class: "small", "aria-label": `Unpin ${name}`, on: { click: () => this.turn(name, "unpin") } }, "Unpin")))
        : h("li", { class: "quiet" }, "None."));
    });
  }

  turn(name, action) {
    return attempt(async () => {
      const { id } = (await allNames()).find((label) => label.name === name);
      await post(`labels/${id}`, { action }, { key: newKey() });
      note(`${name}: ${action === "pin" ? "pinned" : "unpinned"}.`);
    });
  }
}

/** The labels unseen for longest, and the one to be replaced next. */
class Fading {
  constructor() {
    this.list = h("ul", { class: "fades" });
    this.element = h("div", { class: "fading" }, h("h3", {}, "Unseen for longest"), this.list);
  }

  load() {
    return attempt(async () => {
      const { labels } = await get("labels", { sort: "unseen", most: ROWS, words: 0 });
      if (this.list.contains(document.activeElement)) return; // keep the user's focus
      show(this.list, labels.length ? labels.map((label) => this.row(label)) : h("li", { class: "quiet" }, "No labels yet."));
    });
  }

  row({ id, name, unseen, weight, is_next: isNext, is_pinned: isPinned }) {
    const left = weight < 1 ? `, ${write.percent(weight)} remembered` : "";
    return h("li", {},
      h("a", { href: `#/labels/${id}` }, bdi(name)),
      isPinned && h("span", { class: "mark pinned" }, "pinned"),
      isNext && h("span", { class: "mark" }, "replaced next"),
      h("span", { class: "quiet" }, `${write.plural(unseen, "document", "documents")} ago${left}`));
  }
}
