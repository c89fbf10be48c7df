// Receipts: what an answer changed, with undo.

import { chips } from "./documents.js";
import { bdi, h } from "./dom.js";
import { plural, ratio } from "./format.js";

const MOVED = 6;
const STATES = { sending: "saving …", taught: "learnt", undone: "undone", failed: "not saved" };

/** Show an answer: its item, its wording, its receipt and its state. */
export function receiptCard(entry, onTurn) {
  const { item, answer, receipt, state } = entry;
  const button = state === "taught" ? "Undo" : state === "undone" && "Redo";
  return h("li", { class: `receipt ${state}` },
    h("div", { class: "head" },
      h("p", {}, h("b", {}, STATES[state]), receipt && h("span", { class: "quiet" }, ` version ${receipt.version}`)),
      button && h("button", { class: "small", on: { click: () => onTurn(entry) } }, button)),
    h("p", { class: "excerpt", dir: "auto" }, item.text.slice(0, 300)),
    h("p", {}, h("span", { class: "quiet" }, "Answer: "), bdi(answer.words)),
    receipt?.changes && changes(receipt.changes));
}

function changes({ probabilities, threshold, documents }) {
  const moved = [...probabilities].sort((a, b) => gap(b) - gap(a)).slice(0, MOVED);
  return [
    h("ul", { class: "moved" }, moved.map(([name, before, after]) => h("li", {},
      h("span", { class: "name" }, bdi(name)), h("span", { class: way(before, after) }, arrow(before, after)))),
    h("li", {}, h("span", { class: "name quiet" }, "threshold"), h("span", { class: "quiet" }, arrow(...threshold)))),
    documents.length
      ? h("details", {}, h("summary", {}, `${plural(documents.length, "recent document", "recent documents")} would now get other labels`),
        h("ul", { class: "otherwise" }, documents.map((other) => h("li", {},
          h("p", { class: "excerpt", dir: "auto" }, other.text),
          h("p", {}, chips(other.before), " → ", chips(other.after))))))
      : h("p", { class: "quiet" }, "No recent document would now get other labels."),
  ];
}

const gap = ([, before, after]) => Math.abs(after - before);
const way = (before, after) => (ratio(before) === ratio(after) ? "quiet" : after > before ? "up" : "down");
const arrow = (before, after) => `${ratio(before)} → ${ratio(after)}`;
