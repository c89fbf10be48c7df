// What each answer has changed, and how to take it back.

import { chips } from "./documents.js";
import { bdi, h } from "./dom.js";
import { plural, ratio } from "./format.js";

const MOVED = 6;
const SAID = { sending: "being written …", taught: "learnt", undone: "taken back", failed: "not learnt" };

/** `entry` is an answer that was given: its item, the words of it, its receipt and state. */
export function receiptCard(entry, onTurn) {
  const { item, answer, receipt, state } = entry;
  const button = state === "taught" ? "Undo" : state === "undone" && "Redo";
  return h("li", { class: `receipt ${state}` },
    h("div", { class: "head" },
      h("p", {}, h("b", {}, SAID[state]), receipt && h("span", { class: "quiet" }, ` version ${receipt.version}`)),
      button && h("button", { class: "small", on: { click: () => onTurn(entry) } }, button)),
    h("p", { class: "excerpt", dir: "auto" }, item.text.slice(0, 300)),
    h("p", {}, h("span", { class: "quiet" }, "You said "), bdi(answer.words)),
    receipt?.changes && changes(receipt.changes));
}

function changes({ probabilities, threshold, documents }) {
  const moved = [...probabilities].sort((a, b) => gap(b) - gap(a)).slice(0, MOVED);
  return [
    h("ul", { class: "moved" }, moved.map(([name, before, after]) => h("li", {},
      h("span", { class: "name" }, bdi(name)), h("span", { class: way(before, after) }, arrow(before, after)))),
    h("li", {}, h("span", { class: "name quiet" }, "threshold"), h("span", { class: "quiet" }, arrow(...threshold)))),
    documents.length
      ? h("details", {}, h("summary", {}, `${plural(documents.length, "recent document", "recent documents")} would now be labelled otherwise`),
        h("ul", { class: "otherwise" }, documents.map((other) => h("li", {},
          h("p", { class: "excerpt", dir: "auto" }, other.text),
          h("p", {}, chips(other.before), " → ", chips(other.after))))))
      : h("p", { class: "quiet" }, "No recent document would now be labelled otherwise."),
  ];
}

const gap = ([, before, after]) => Math.abs(after - before);
const way = (before, after) => (ratio(before) === ratio(after) ? "quiet" : after > before ? "up" : "down");
const arrow = (before, after) => `${ratio(before)} → ${ratio(after)}`;
