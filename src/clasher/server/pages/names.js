// The names of all labels, fetched again when they may have changed.

import { get } from "./api.js";
import { listen } from "./events.js";

let known = null; // a promise of the names
let labels = -1;

for (const kind of ["label", "model"]) listen(kind, forget);
listen("metrics", (metrics) => {
  if (metrics.labels !== labels) forget();
  labels = metrics.labels;
});

function forget() {
  known = null;
}

/** List all labels: id, name, support, isPinned; the most frequent first. */
export function allNames() {
  known ??= get("names").then(
    ({ names }) => names
      .map(([id, name, support, isPinned]) => ({ id, name, support, isPinned, plain: plain(name) }))
      .sort((a, b) => b.support - a.support),
    (error) => {
      forget();
      throw error;
    },
  );
  return known;
}

/** Map label names to their numbers. */
export async function numbersByName() {
  return new Map((await allNames()).map(({ id, name }) => [name, id]));
}

/** Remove case and accents. */
export function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Find labels that contain a text: exact matches first, then beginnings of the name, then of a word. */
export function search(names, text) {
  const wanted = plain(text.trim());
  if (!wanted) return names;
  const groups = [[], [], [], []];
  for (const entry of names) {
    const at = entry.plain.indexOf(wanted);
    if (at >= 0) groups[rank(entry.plain, wanted, at)].push(entry);
  }
  return groups.flat();
}

function rank(name, wanted, at) {
  if (name === wanted) return 0;
  if (at === 0) return 1;
  return /[\p{L}\p{N}]/u.test(name[at - 1]) ? 3 : 2;
}
