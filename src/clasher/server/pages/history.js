// The history of metrics for charts: a bounded number of raw values.

import { get } from "./api.js";
import { listen } from "./events.js";

export const MOST = 1200; // points

const NAMES = [
  "learned", "predicted", "macro", "micro", "recentMacro", "recentMicro", "memory", "labels", "p50", "p99",
];

/**
 * Columns of equal length, oldest point first. Beyond `most` points, every other one of the older
 * half is dropped: recent minutes stay complete, older ones get sparser.
 */
export class History {
  constructor(names, most = MOST) {
    this.most = most;
    this.at = [];
    this.columns = Object.fromEntries(names.map((name) => [name, []]));
  }

  /** Add a point, unless it is older than the last one. */
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

  /** Return the growth of a counter between points; null where it restarted. */
  rates(name) {
    const column = this.columns[name];
    return column.map((value, i) => {
      const grown = i ? value - column[i - 1] : -1;
      return grown < 0 ? null : grown / (this.at[i] - this.at[i - 1]);
    });
  }

  /** Copy the current state. */
  copy() {
    const other = new History([], this.most);
    other.at = [...this.at];
    for (const [name, column] of Object.entries(this.columns)) other.columns[name] = [...column];
    return other;
  }
}

export const past = new History(NAMES);
export let latest = null; // the last metrics
let ahead = 0; // seconds by which the server's clock is ahead

/** The time by the server's clock. */
export const serverNow = () => Date.now() / 1000 + ahead;

/** Load the history from the service, then follow its events. */
export async function follow() {
  listen("metrics", (metrics, event) => {
    latest = metrics;
    ahead = event.at - Date.now() / 1000;
    past.add(event.at, pointOf(metrics));
  });
  latest ??= await get("metrics").catch(() => null);
  const { points } = await get("history").catch(() => ({ points: [] })); // charts can also start empty
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
