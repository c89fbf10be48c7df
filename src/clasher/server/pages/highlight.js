// Highlight the words of a text that speak for a label and against it.

import { h } from "./dom.js";

const LEVELS = 5;

/**
 * Split a text into pieces with weights. Stretches count code points and may overlap; one that
 * covers several pieces is divided by their length.
 */
export function pieces(text, stretches) {
  const characters = Array.from(text);
  const cuts = new Set([0, characters.length]);
  for (const { start, stop } of stretches) cuts.add(start).add(stop);
  const sorted = [...cuts].filter((cut) => cut <= characters.length).sort((a, b) => a - b);
  const weights = new Map(sorted.map((cut) => [cut, 0]));
  const places = new Map(sorted.map((cut, i) => [cut, i]));
  for (const { start, stop, evidence } of stretches) {
    for (let i = places.get(start); sorted[i] < stop; i += 1) {
      const share = (sorted[i + 1] - sorted[i]) / (stop - start);
      weights.set(sorted[i], weights.get(sorted[i]) + evidence * share);
    }
  }
  return sorted.slice(0, -1).map((cut, i) => ({
    text: characters.slice(cut, sorted[i + 1]).join(""), weight: weights.get(cut),
  }));
}

/** Mark words; more evidence makes a stronger mark. */
export function marked(parts) {
  const most = Math.max(...parts.map(({ weight }) => Math.abs(weight)), 1e-9);
  return parts.map(({ text, weight }) => {
    const level = Math.round(LEVELS * Math.sqrt(Math.abs(weight) / most));
    if (!level || !text.trim()) return text;
    const side = weight > 0 ? "for" : "against";
    return h("mark", { class: `${side} level-${level}`, title: `${side} ${Math.abs(weight).toFixed(2)}` }, text);
  });
}

/** Return the words with the most evidence for (1) or against (-1). */
export function weightiest(parts, sign, most = 8) {
  const sums = new Map();
  for (const { text, weight } of parts) {
    const word = text.trim().toLowerCase();
    if (word && weight) sums.set(word, (sums.get(word) ?? 0) + weight);
  }
  return [...sums].filter(([, weight]) => weight * sign > 0.005)
    .sort((a, b) => sign * (b[1] - a[1])).slice(0, most);
}
