// The recent past as the page keeps it: raw values, a fixed number of them.

import { get } from "./api.js";
import { listen } from "./events.js";

export const MOST = 1200; // points

const NAMES = [
  "learned", "predicted", "macro", "micro", "recentMacro", "recentMicro", "memory", "labels", "p50", "p99",
];

/**
 * Columns of equal length, the oldest point first. Past `most` points, every other one of the older
 * half goes: the last minutes are whole, and the further back, the fewer are left.
 */
export class History {
  constructor(names, most = MOST) {
    this.most = most;
    this.at = [];
    this.columns = Object.fromEntries(names.map((name) => [name, []]));
  }

  /** Add a point; those from before the last one are not taken. */
  add(at, values) {
    if (this.at.length && at <= this.at.at(-1)) return;
    this.at.push(at);
    for (const [name, column] of Object.entries(this.columns)) column.push(values[name] ?? null);
    if (this.at.length > this.most) this.thin();
  }

  thin() {
    const keep = (_, i) => i % 2 === 0 || i > this.most / 2;
    this.at = this.at.filter(keep);
    for (const name of Object.keys(this.columns)) this.columns[name] = this.columns[name].filter(keep);
  }

  /** How fast a counter grew between points; nothing where it began anew. */
  rates(name) {
    const column = this.columns[name];
    return column.map((value, i) => {
      const grown = i ? value - column[i - 1] : -1;
      return grown < 0 ? null : grown / (this.at[i] - this.at[i - 1]);
    });
  }

  /** What was so at this moment, to look at while more comes in. */
  copy() {
    const other = new History([], this.most);
    other.at = [...this.at];
    for (const [name, column] of Object.entries(this.columns)) other.columns[name] = [...column];
    return other;
  }
}

export const past = new History(NAMES);
export let latest = null; // the last figures
let ahead = 0; // seconds by which the clock of the service is ahead of ours

/** The time by the clock of the service. */
export const serverNow = () => Date.now() / 1000 + ahead;

/** Take what the service remembers, then follow it. */
export async function follow() {
  listen("metrics", (metrics, event) => {
    latest = metrics;
    ahead = event.at - Date.now() / 1000;
    past.add(event.at, pointOf(metrics));
  });
  latest ??= await get("metrics").catch(() => null);
  const { points } = await get("history").catch(() => ({ points: [] })); // curves may begin now as well
  const newer = past.copy();
  const all = new History(NAMES);
  for (const [at, ...values] of points) {
    all.add(at, Object.fromEntries(NAMES.map((name, i) => [name, values[i]])));
  }
  newer.at.forEach((at, i) => {
    all.add(at, Object.fromEntries(NAMES.map((name) => [name, newer.columns[name][i]])));
  });
  Object.assign(past, all);
}

function pointOf(metrics) {
  const { cumulative, recent } = metrics;
  const value = (estimate) => (estimate.is_enough ? estimate.value : null);
  const [p50, p99] = metrics.latency_ms?.predict ?? [null, null];
  return {
    learned: metrics.documents_learned, predicted: metrics.documents_predicted,
    macro: value(cumulative.macro_f1), micro: value(cumulative.micro_f1),
    recentMacro: value(recent.macro_f1), recentMicro: value(recent.micro_f1),
    memory: metrics.memory_bytes, labels: metrics.labels, p50, p99,
  };
}
