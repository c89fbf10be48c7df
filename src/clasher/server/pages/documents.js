// Recent documents as a list.

import { bdi, h } from "./dom.js";
import { moment, percent } from "./format.js";

/** Show a label; `state` is yes, no or unknown. */
export function chip(name, state = "", more = "") {
  return h("span", { class: `chip ${state}` }, bdi(name), more && h("small", {}, ` ${more}`));
}

export function chips(names, state = "") {
  return names.length ? names.map((name) => [chip(name, state), " "]) : h("span", { class: "quiet" }, "none");
}

/** Show a correction: a list of all labels, or yes and no for some. */
export function taughtChips(taught) {
  if (Array.isArray(taught)) return chips(taught, "yes");
  const sorted = Object.entries(taught).sort(([a, isA], [b, isB]) => isB - isA || (a < b ? -1 : 1)); // yes first, then by name
  return sorted.map(([name, yes]) => [chip(name, yes ? "yes" : "no", yes ? "" : "no"), " "]);
}

export function documentRow(document) {
  const probabilities = new Map(document.probabilities);
  const labels = document.predicted.map((name) => [chip(name, "", probabilities.has(name) ? percent(probabilities.get(name)) : ""), " "]);
  return h("li", { class: "document" },
    h("p", { class: "text", dir: "auto" }, document.text.slice(0, 400), document.text.length > 400 && " …"),
    h("p", { class: "row" }, h("span", { class: "quiet" }, "predicted "), labels.length ? labels : h("span", { class: "quiet" }, "none")),
    document.taught !== null && h("p", { class: "row" }, h("span", { class: "quiet" }, "corrected to "), taughtChips(document.taught)),
    h("p", { class: "quiet small" }, moment(document.at)));
}
