// The labels that were unseen for longest: what is left of them, and which one makes room next.

import { get } from "./api.js";
import { bdi, h, show } from "./dom.js";
import * as write from "./format.js";
import { attempt } from "./notes.js";

const ROWS = 8;

export class Fading {
  constructor() {
    this.list = h("ul", { class: "fades" });
    this.element = h("div", { class: "fading" }, h("h3", {}, "Unseen for longest"), this.list);
  }

  load() {
    return attempt(async () => {
      const { labels } = await get("labels", { sort: "unseen", most: ROWS, words: 0 });
      if (this.list.contains(document.activeElement)) return; // nobody loses their place
      show(this.list, labels.length ? labels.map(row) : h("li", { class: "quiet" }, "No labels yet."));
    });
  }
}

function row({ id, name, unseen, weight, is_next: isNext, is_pinned: isPinned }) {
  const left = weight < 1 ? `, ${write.percent(weight)} of what it was taught is left` : "";
  return h("li", {},
    h("a", { href: `#/labels/${id}` }, bdi(name)),
    isPinned && h("span", { class: "mark pinned" }, "pinned"),
    isNext && h("span", { class: "mark" }, "makes room next"),
    h("span", { class: "quiet" }, `${write.plural(unseen, "document", "documents")} ago${left}`));
}
