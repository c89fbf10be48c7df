// The Try page: labels as you type, and the words behind them.

import { get, post } from "./api.js";
import { bdi, h, say, show } from "./dom.js";
import * as write from "./format.js";
import { marked, pieces, weightiest } from "./highlight.js";
import { attempt } from "./notes.js";

const CALM = 150; // milliseconds after the last key press
const TOP = 8;

let limits = null; // of explanations
let kept = ""; // survives visits of other pages

export function openTry(root) {
  const trial = new Trial();
  show(root, h("h1", {}, "Try"), trial.element);
  trial.input.focus();
  trial.later();
  return () => trial.close();
}

class Trial {
  constructor() {
    this.input = h("textarea", { id: "text", rows: 7, dir: "auto", placeholder: "Type or paste a text …",
      on: { input: () => this.later() } });
    this.input.value = kept;
    this.labels = h("div", { class: "choices", role: "radiogroup", "aria-label": "Labels by probability" });
    this.words = h("p", { class: "text highlighted", dir: "auto" });
    this.sides = h("div", { class: "sides" });
    this.status = h("p", { class: "quiet", role: "status" });
    this.detail = h("section", { class: "panel", hidden: true }, this.head = h("h2"), this.words, this.sides);
    this.element = h("div", { class: "try" },
      h("div", {}, h("label", { for: "text" }, "Text"), this.input),
      h("section", { class: "panel labels" }, h("h2", {}, "Labels"), this.status, this.labels), this.detail);
    this.chosen = null; // a label's name
  }

  later() {
    kept = this.input.value;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), CALM);
  }

  close() {
    clearTimeout(this.timer);
    this.asked?.abort();
  }

  async ask() {
    this.asked?.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    const text = kept;
    if (!text.trim()) {
      this.tell(text, [], []);
      return;
    }
    await attempt(async () => {
      const answer = await post("predict", { documents: [{ text }], top: TOP, keep: false }, { signal });
      const [{ labels, probabilities }] = answer.predictions;
      this.tell(text, await explained(text, labels, probabilities, signal), labels);
    });
  }

  tell(text, explanations, labels) {
    const sorted = explanations.sort((a, b) => b.probability - a.probability);
    if (!sorted.some(({ label }) => label === this.chosen)) this.chosen = null;
    say(this.status, summary(text, sorted, labels));
    this.detail.hidden = !sorted.length;
    show(this.labels, sorted.map((explained) => this.choice(text, explained)));
    const shown = sorted.find(({ label }) => label === this.chosen) ?? sorted[0];
    if (shown) this.explain(text, shown);
  }

  choice(text, explained) {
    const { label, probability, is_predicted: isPredicted } = explained;
    const input = h("input", { type: "radio", name: "label", on: { change: () => {
      this.chosen = label;
      this.explain(text, explained);
    } } });
    explained.input = input;
    return h("label", { class: isPredicted ? "choice predicted" : "choice", vars: { share: probability } }, input,
      h("span", { class: "name" }, bdi(label), isPredicted && h("span", { class: "mark" }, "predicted")),
      h("b", {}, write.percent(probability)));
  }

  explain(text, { label, is_predicted: isPredicted, words, other, input }) {
    input.checked = true;
    show(this.head, isPredicted ? "Why " : "Why not ", bdi(label));
    if (!words) {
      show(this.words, "The text is too long to explain this label.");
      show(this.sides);
      return;
    }
    const parts = pieces(text, words);
    show(this.words, marked(parts));
    show(this.sides, side("For", weightiest(parts, 1), "for"), side("Against", weightiest(parts, -1), "against"), rest(other));
  }
}

/** Explain as many labels as the service allows for a text of this length. */
async function explained(text, labels, probabilities, signal) {
  limits ??= (await get("about", {}, { signal })).limits;
  const length = Array.from(text).length;
  const most = length > limits.longest_explained ? 0 : Math.floor(limits.most_explained / length);
  const names = probabilities.slice(0, most).map(([name]) => name);
  const { explanations } = names.length ? await post("explain", { text, labels: names }, { signal }) : { explanations: [] };
  const rest = probabilities.slice(names.length).map(([label, probability]) => ({
    label, probability, is_predicted: labels.includes(label), words: null, other: {},
  }));
  return [...explanations, ...rest];
}

function summary(text, explanations, labels) {
  if (!text.trim()) return "Labels appear as you type.";
  if (!explanations.length) return "The model has no labels yet.";
  return labels.length ? `${write.plural(labels.length, "label", "labels")} predicted` : "No label predicted";
}

function side(title, words, look) {
  return h("div", {}, h("h3", {}, title), words.length
    ? h("ul", { class: "weights" }, words.map(([word, weight]) => h("li", {}, h("mark", { class: `${look} level-2` }, bdi(word)), ` ${signed(weight)}`)))
    : h("p", { class: "quiet" }, "none"));
}

function rest(other) {
  const rows = Object.entries(other);
  return rows.length > 0 && h("div", {}, h("h3", {}, "Other evidence"),
    h("ul", { class: "weights" }, rows.map(([name, weight]) => h("li", {}, `${name} ${signed(weight)}`))));
}

function signed(weight) {
  return `${weight < 0 ? "−" : "+"}${Math.abs(weight).toFixed(2)}`;
}
