// Format numbers, times and estimates.

import { h } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const UNITS = ["B", "kB", "MB", "GB", "TB"];

export const count = (value) => whole.format(value);
export const short = (value) => three.format(value);
export const ratio = (value) => value.toFixed(3).replace(/^0/, "");
export const percent = (value) => (value > 0 && value < 0.005 ? "< 1 %" : `${whole.format(value * 100)} %`);
export const rate = (value) => `${three.format(value)}/s`;
export const milliseconds = (value) => `${three.format(value)} ms`;
export const time = (seconds) => clock.format(seconds * 1000);
export const moment = (seconds) => day.format(seconds * 1000);
export const plural = (number, one, many) => `${whole.format(number)} ${number === 1 ? one : many}`;

export function bytes(value) {
  const power = value < 1 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  return `${Number((value / 1000 ** power).toPrecision(3))} ${UNITS[power]}`;
}

export function duration(seconds) {
  const [d, h, m] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (d) return plural(d, "day", "days") + (h ? ` ${h} h` : "");
  if (h) return `${h} h ${m} min`;
  return m ? `${m} min` : plural(Math.floor(seconds), "second", "seconds");
}

export const interval = (estimate) => `${ratio(estimate.low)}–${ratio(estimate.high)}`;

/** Format an estimate, or a dash if too few documents were judged. */
export function briefly(estimate) {
  if (estimate.is_enough) return h("span", { title: `95 % interval ${interval(estimate)}` }, ratio(estimate.value));
  return h("span", { class: "quiet", title: "not enough data yet" },
    h("span", { "aria-hidden": "true" }, "–"), h("span", { class: "unseen" }, "not enough data yet"));
}

/** Draw an estimate and its interval on a scale from 0 to 1. */
export function reach(estimate) {
  const { low, high, value } = estimate;
  return h("div", { class: "reach", "aria-hidden": "true", vars: { low, high, value } }, h("i"), h("b"));
}
