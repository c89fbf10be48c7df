// Memory: what is kept, what is being forgotten, and labels that never are.

import { newKey, post } from "./api.js";
import { bdi, h, say, show } from "./dom.js";
import { listen, listenCalmly } from "./events.js";
import { Fading } from "./fading.js";
import * as write from "./format.js";
import { latest } from "./history.js";
import { allNames } from "./names.js";
import { attempt, note } from "./notes.js";
import { Picker } from "./picker.js";

const CALM = 5000; // milliseconds between two looks at what fades

export function openMemory(root) {
  const meters = new Meters();
  const forgetting = h("ul", { class: "plain" });
  const fading = new Fading();
  const pins = new Pins();
  show(root, h("h1", {}, "Memory"),
    h("section", { class: "panel" }, h("h2", {}, "What is kept"), meters.element),
    h("div", { class: "columns" },
      h("section", { class: "panel" }, h("h2", {}, "What is being forgotten"), forgetting, fading.element),
      pins.element));
  const tell = (metrics) => {
    meters.update(metrics);
    const told = forgotten(metrics);
    if (told.join() !== [...forgetting.children].map((line) => line.textContent).join()) show(forgetting, told.map((line) => h("li", {}, line)));
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
      ? `What was learnt ${write.count(settings.half_life)} documents ago weighs half of what is learnt now.`
      : "Time alone makes nothing fade: this model has no half-life.",
    settings.detector && settings.detector !== "none"
      ? "When a label's errors rise, most of its past is given up (see Drift)."
      : "Nothing is given up when errors rise: this model has no detector.",
    settings.on_full === "evict"
      ? `Past ${write.count(settings.max_labels)} labels, the one unseen for longest makes room, unless it is pinned.`
      : `Past ${write.count(settings.max_labels ?? 0)} labels, new ones are refused; none is given up.`,
    metrics.awaiting_dropped
      ? `${write.plural(metrics.awaiting_dropped, "document", "documents")} had to make room before anybody spoke of them.`
      : "No document had to make room before somebody spoke of it.",
    metrics.log_dropped
      ? `${write.plural(metrics.log_dropped, "entry", "entries")} of the log made room: the model knows them, the export does not.`
      : "The log still holds everything that was ever taught.",
  ];
}

/** How much there is of what, and the most there can be. */
class Meters {
  constructor() {
    this.rows = new Map();
    this.element = h("div", { class: "meters" });
  }

  update(metrics) {
    const { settings = {} } = metrics;
    const days = metrics.awaiting_seconds ? `, ${write.duration(metrics.awaiting_seconds)} at most` : "";
    this.set("The model", metrics.model_bytes, metrics.model_bytes_most, write.bytes, "two copies: one predicts while the other learns");
    this.set("Labels", metrics.labels, settings.max_labels ?? 0, write.count, "");
    this.set("Recent documents", metrics.awaiting, metrics.awaiting_most, write.count, `so that people can speak of them${days}; ${write.count(metrics.leased)} with somebody now`);
    this.set("Disk", metrics.disk_bytes, metrics.disk_bytes_most, write.bytes, `${write.plural(metrics.log_entries, "entry", "entries")} in the log, the last snapshot is of version ${write.count(metrics.snapshot_version)}`);
    this.set("Requests waiting to be learnt", metrics.waiting_requests, metrics.waiting_most, write.count, "past the bound, senders are asked to come back");
  }

  set(name, value, most, format, more) {
    if (!this.rows.has(name)) {
      const meter = h("div", { role: "meter", "aria-label": name, "aria-valuemin": 0 });
      const told = h("b");
      const quiet = h("p", { class: "quiet" });
      this.rows.set(name, { meter, told, quiet });
      this.element.append(h("div", {}, h("p", { class: "head" }, h("span", {}, name), told), meter, quiet));
    }
    const { meter, told, quiet } = this.rows.get(name);
    const text = most ? `${format(value)} of ${format(most)}` : format(value);
    meter.setAttribute("aria-valuemax", most);
    meter.setAttribute("aria-valuenow", value);
    meter.setAttribute("aria-valuetext", text);
    meter.style.setProperty("--share", most ? value / most : 0);
    say(told, text);
    say(quiet, more);
  }
}

/** Labels that are never given up for new ones. */
class Pins {
  constructor() {
    this.list = h("ul", { class: "pins" });
    this.picker = new Picker({ id: "pin", label: "Pin a label", onPick: (name) => this.turn(name, "pin") });
    this.element = h("section", { class: "panel" }, h("h2", {}, "Pinned labels"),
      h("p", { class: "quiet" }, "These are never given up for new ones, however long they are unseen."), this.list, this.picker.element);
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
      note(`${name}: ${action === "pin" ? "pinned" : "no longer pinned"}.`);
    });
  }
}
