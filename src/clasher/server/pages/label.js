// The page of a label: quality, words, neighbours, recent documents, actions.

import { get, me, newKey, post } from "./api.js";
import { askText, confirm } from "./dialogs.js";
import { documentRow } from "./documents.js";
import { bdi, h, show } from "./dom.js";
import * as write from "./format.js";
import { marks } from "./labels.js";
import { numbersByName } from "./names.js";
import { attempt, note } from "./notes.js";
import { sparkline } from "./spark.js";

export function openLabel(root, number) {
  const place = h("div");
  const asked = new AbortController();
  show(root, h("p", { class: "back" }, h("a", { href: "#/labels" }, "All labels")), place);
  const load = () => attempt(() => tell(place, number, load, asked.signal));
  load();
  return () => asked.abort();
}

async function tell(place, number, reload, signal) {
  try {
    const page = await get(`labels/${encodeURIComponent(number)}`, {}, { signal });
    const [numbers, { scope }] = await Promise.all([numbersByName(), me()]);
    document.title = `${page.label.name} – clasher`;
    show(place, head(page.label, scope === "admin" && reload), measures(page.label), columns(page, numbers), recent(page));
  } catch (error) {
    if (error.status !== 404) throw error;
    show(place, h("h1", {}, "No such label"), h("p", { class: "notice" }, "It was retired or merged, or never existed."));
  }
}

/** Show the name and, for admins, the actions. */
function head(label, reload) {
  const title = h("h1", {}, bdi(label.name), marks(label));
  return h("div", { class: "title" }, title, reload && actions(label, reload));
}

function actions(label, reload) {
  const act = (action, into) => attempt(async () => {
    await post(`labels/${label.id}`, into === undefined ? { action } : { action, into }, { key: newKey() });
    note(`${label.name}: ${DONE[action]}${into === undefined ? "" : ` ${into}`}.`);
    if (action === "retire" || action === "merge") location.hash = "#/labels";
    else await reload();
  });
  const button = (text, click, look = "") => h("button", { class: look, on: { click } }, text);
  return h("p", { class: "actions" },
    button(label.is_pinned ? "Unpin" : "Pin", () => act(label.is_pinned ? "unpin" : "pin")),
    button("Rename", async () => {
      const into = await askText("Rename this label", "New name", { value: label.name, yes: "Rename" });
      if (into && into !== label.name) act("rename", into);
    }),
    button("Merge", async () => {
      const into = await askText("Merge this label into another one", "Name of the other label", { yes: "Merge" });
      if (into) act("merge", into);
    }),
    button("Retire", async () => {
      if (await confirm("Retire this label?", "The model will forget it and no longer predict it.", "Retire label")) act("retire");
    }, "danger"));
}

const DONE = { pin: "pinned", unpin: "unpinned", rename: "renamed to", merge: "merged into", retire: "retired" };

function measures(label) {
  const one = (title, estimate, look) => h("article", { class: `card ${look}` }, h("h2", {}, title),
    h("p", { class: "figure" }, estimate.is_enough ? write.ratio(estimate.value) : "–"),
    estimate.is_enough ? write.reach(estimate) : h("div", { class: "reach" }),
    h("p", {}, estimate.is_enough ? write.interval(estimate) : "not enough data yet"),
    h("p", {}, write.plural(estimate.observations, "observation", "observations")));
  return h("section", { class: "cards", "aria-label": "Quality" },
    one("F1", label.f1, "macro"), one("Precision", label.precision, "micro"), one("Recall", label.recall, "frequent"),
    h("article", { class: "card rare" }, h("h2", {}, "Support"), h("p", { class: "figure" }, write.count(label.support)),
      sparkline(label.history), h("p", {}, "F1 over time")));
}

function columns({ label, neighbours }, numbers) {
  const most = Math.max(...label.words.map(([, weight]) => weight), 1e-9);
  const bar = (name, share, text, href) => h("li", { vars: { share } },
    h("span", { class: "name" }, href ? h("a", { href }, bdi(name)) : bdi(name)), h("span", { class: "quiet" }, text));
  return h("div", { class: "columns" },
    h("section", { class: "panel" }, h("h2", {}, "Top words"), label.words.length
      ? h("ol", { class: "bars" }, label.words.map(([word, weight]) => bar(word, weight / most, write.short(weight))))
      : h("p", { class: "quiet" }, "None: the model has learnt nothing yet, or does not store words.")),
    h("section", { class: "panel" }, h("h2", {}, "Often together with"), neighbours.length
      ? h("ol", { class: "bars second" }, neighbours.map(([name, share]) => bar(name, share, write.percent(share), numbers.has(name) && `#/labels/${numbers.get(name)}`)))
      : h("p", { class: "quiet" }, "None so far.")));
}

function recent({ recent: documents }) {
  if (documents === null) return h("p", { class: "quiet" }, "To see its recent documents, use a token with scope teach.");
  return h("section", { class: "panel" }, h("h2", {}, "Recent documents"), documents.length
    ? h("ul", { class: "documents" }, documents.map(documentRow))
    : h("p", { class: "quiet" }, "None of the kept documents."));
}
