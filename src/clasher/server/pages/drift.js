// The Drift page: alarms, what changed, what to teach next, and the recovery since.

import { get } from "./api.js";
import { bdi, h, show } from "./dom.js";
import { listenCalmly } from "./events.js";
import * as write from "./format.js";
import { numbersByName } from "./names.js";
import { attempt } from "./notes.js";

const CALM = 5000; // milliseconds between two updates
const EXCERPT = 160; // characters
const STEADY = 0.2; // relative change of a label's frequency below which it counts as unchanged

export function openDrift(root) {
  const place = h("div", { class: "alarms" });
  const asked = new AbortController();
  show(root, h("h1", {}, "Drift"), h("p", { class: "lead" },
    "The model raises an alarm when the errors of a label rise significantly. It then forgets most of what it learnt about that label and learns it again."), place);
  const load = () => attempt(async () => {
    const { alarms } = await get("alarms", {}, { signal: asked.signal });
    const [texts, numbers] = await Promise.all([textsOf(alarms, asked.signal), numbersByName()]);
    if (place.contains(document.activeElement)) return; // keep the user's focus
    show(place, alarms.length ? alarms.map((alarm) => card(alarm, texts, numbers))
      : h("p", { class: "notice calm" }, "No alarms so far."));
  });
  load();
  const stop = listenCalmly(["metrics"], CALM, load);
  return () => {
    stop();
    asked.abort();
  };
}

let known = new Map(); // texts of the current alarms by id; null: no longer available

/** Fetch the texts worth teaching, each once. */
async function textsOf(alarms, signal) {
  const ids = [...new Set(alarms.flatMap((alarm) => alarm.teach))];
  known = new Map(await Promise.all(ids.map(async (id) => [id, known.has(id) ? known.get(id) : await textOf(id, signal)])));
  return known;
}

async function textOf(id, signal) {
  try {
    return (await get(`documents/${encodeURIComponent(id)}`, {}, { signal })).text;
  } catch (error) {
    if (error.status === 404 || error.status === 403) return null; // dropped, or hidden from this token
    throw error;
  }
}

function card(alarm, texts, numbers) {
  const { label } = alarm;
  const name = label === null ? "All labels" : numbers.has(label) ? h("a", { href: `#/labels/${numbers.get(label)}` }, bdi(label)) : bdi(label);
  const teach = alarm.teach.filter((id) => texts.get(id));
  return h("article", { class: "panel alarm" },
    h("h2", {}, name, ": more errors"),
    h("p", {}, "Errors rose from ", h("b", {}, write.percent(alarm.error_before)), " to ", h("b", {}, write.percent(alarm.error_after)),
      h("span", { class: "quiet" }, ` of ${label === null ? "the" : "its"} documents: ${write.count(100 * (alarm.error_after - alarm.error_before))} points; noticed at document ${write.count(alarm.document)}${alarm.at === null ? "" : `, ${write.moment(alarm.at)}`}.`)),
    frequencyChange(alarm),
    h("div", { class: "change", "aria-hidden": "true", vars: { before: alarm.error_before, after: alarm.error_after } }, h("i"), h("b")),
    words("More frequent words:", alarm.gained, "yes"), words("Less frequent words:", alarm.lost, "no"),
    h("p", {}, "Since then: ", alarm.recovered
      ? [h("b", {}, `F1 ${write.ratio(alarm.recovered.value)}`), h("span", { class: "quiet" }, ` (${write.interval(alarm.recovered)})`)]
      : h("span", { class: "quiet" }, "not enough data yet")),
    teach.length > 0 && [
      h("h3", {}, "Teach these next"),
      h("ul", { class: "next" }, teach.map((id) => h("li", { dir: "auto" }, texts.get(id).slice(0, EXCERPT)))),
      h("p", { class: "actions" }, h("a", { class: "button main", href: `#/teach/ids/${teach.map(encodeURIComponent).join(",")}` },
        `Teach ${write.plural(teach.length, "text", "texts")}`)),
    ]);
}

/** Describe how the frequency of the label changed, if enough documents were judged. */
function frequencyChange({ label, frequency_before: before, frequency: now }) {
  if (label === null || before === null || now === null) return null;
  if (Math.abs(now - before) < STEADY * Math.max(now, before)) return h("p", {}, `Its frequency is unchanged: ${write.percent(now)} of documents.`);
  return h("p", {}, h("b", {}, now > before ? "It became more frequent" : "It became less frequent"), `: from ${write.percent(before)} to ${write.percent(now)} of documents.`);
}

function words(title, list, look) {
  return list.length > 0 && h("p", {}, h("span", { class: "quiet" }, `${title} `), list.map((word) => [h("span", { class: `chip ${look}` }, bdi(word)), " "]));
}
