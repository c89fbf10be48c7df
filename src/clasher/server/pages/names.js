// The names of all labels: fetched again when there may be others.

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

/** Every label: id, name, support, isPinned; the best known first. */
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

/** The numbers of labels by their names. */
export async function numbersByName() {
  return new Map((await allNames()).map(({ id, name }) => [name, id]));
}

/** Without case and accents. */
export function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** All names with this text in them: the same one first, then those that begin so, or a word of theirs. */
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
