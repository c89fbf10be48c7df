// A document to teach: its text, and a row for each label with yes, no and unknown.

import { NO, UNKNOWN, YES } from "./answer.js";
import { bdi, h, say, show } from "./dom.js";
import { percent } from "./format.js";
import { secondsLeft } from "./queue.js";

const REASONS = {
  uncertain: ["uncertain", "The model is unsure of it."],
  diverse: ["diverse", "Few documents like it have been taught."],
  random: ["random", "Picked at random, to measure quality."],
};
const STATES = [[YES, "Yes"], [NO, "No"], [UNKNOWN, "?"]];

/** Show an item; every change goes through `onChange(act)`, which runs `act` and updates the view. */
export class ItemView {
  constructor(item, answer, onChange) {
    Object.assign(this, { item, answer, onChange });
    const [reason, why] = REASONS[item.reason] ?? REASONS.random;
    this.left = h("span", { class: "quiet left", role: "status" });
    this.lost = ""; // why the lease was lost
    this.rows = [];
    this.list = h("ol", { class: "answers", "aria-label": "Labels" });
    this.others = h("button", { class: "others", "aria-pressed": "false", on: { click: () => onChange(() => answer.toggleOthers()) } });
    this.words = h("bdi");
    this.text = h("p", { class: "text", dir: "auto", tabindex: "0", "aria-label": "Document" }, item.text);
    this.head = h("p", { class: "why" }, h("span", { class: `mark ${reason}` }, reason), ` ${why} `, this.left);
    this.body = h("section", { class: "panel", "aria-label": "Labels of the document" }, this.list, this.others,
      h("p", { class: "sentence", role: "status" }, h("span", { class: "quiet" }, "Your answer: "), this.words));
    this.update();
    this.tick();
  }

  /** Show how long the lease lasts, or why it was lost. */
  tick() {
    this.head.classList.toggle("lost", Boolean(this.lost));
    if (this.lost) {
      say(this.left, this.lost);
      return;
    }
    const seconds = Math.max(0, Math.floor(secondsLeft(this.item)));
    say(this.left, `Yours for ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}.`);
  }

  update() {
    const { answer } = this;
    while (this.rows.length < answer.rows.length) this.list.append(this.row(this.rows.length));
    answer.rows.forEach((row, i) => {
      const { line, buttons } = this.rows[i];
      line.dataset.state = row.state;
      buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(STATES[k][0] === row.state)));
    });
    const isOpen = answer.areOthersUnknown;
    this.others.setAttribute("aria-pressed", String(isOpen));
    show(this.others, h("kbd", {}, "0"), " All other labels: ", h("b", {}, isOpen ? "unknown" : "no"));
    say(this.words, answer.words);
  }

  row(i) {
    const { name, probability, isPredicted } = this.answer.rows[i];
    const main = h("button", { class: "toggle", on: { click: () => this.onChange(() => this.answer.toggle(i)) } },
      h("kbd", {}, i < 9 ? String(i + 1) : "·"), h("span", { class: "name" }, bdi(name)),
      h("span", { class: "quiet" }, probability === null ? "added" : percent(probability), isPredicted && h("span", { class: "unseen" }, " predicted")));
    const buttons = STATES.map(([state, text]) => h("button", {
      class: state, "aria-label": `${state}: ${name}`, on: { click: () => this.onChange(() => this.answer.set(i, state)) },
    }, text));
    const line = h("li", { class: isPredicted ? "predicted" : null, vars: { share: probability ?? 0 } },
      main, h("span", { class: "states", role: "group", "aria-label": name }, buttons));
    this.rows.push({ line, buttons, main });
    return line;
  }

  /** Focus the row above or below. */
  step(by) {
    const at = this.rows.findIndex(({ line }) => line.contains(document.activeElement));
    const to = at < 0 ? (by > 0 ? 0 : this.rows.length - 1) : at + by;
    this.rows[(to + this.rows.length) % this.rows.length]?.main.focus();
  }
}
