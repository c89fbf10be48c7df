// A search box for labels, usable by keyboard; it can also name a new one.

import { bdi, h, say, show } from "./dom.js";
import { count } from "./format.js";
import { allNames, search } from "./names.js";
import { attempt } from "./notes.js";

const STEP = 60; // options to draw at a time; more follow on scrolling

export class Picker {
  /** `onPick(name)` is called for a chosen label, `onLeave()` when the user cancels. */
  constructor({ id, label, onPick, onLeave = () => {}, allowsNew = false }) {
    Object.assign(this, { onPick, onLeave, allowsNew });
    this.list = h("ul", { role: "listbox", id: `${id}-list`, "aria-label": label, hidden: true,
      on: { scroll: () => this.grow(), mousedown: (event) => event.preventDefault() } }); // keep the focus in the box
    this.input = h("input", { id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", maxlength: 256,
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
      on: { input: () => this.look(), keydown: (event) => this.key(event), blur: () => this.hide() } });
    this.status = h("span", { class: "unseen", role: "status" });
    this.element = h("div", { class: "picker" }, h("label", { for: id }, label), this.input, this.list, this.status);
    this.options = [];
    this.active = 0;
  }

  async look() {
    const text = this.input.value.trim();
    if (!text) {
      this.hide();
      return;
    }
    const names = await attempt(allNames);
    if (!names || text !== this.input.value.trim()) return;
    const found = search(names, text);
    this.options = found.map(({ name, support }) => ({ name, detail: count(support) }));
    if (this.allowsNew && !names.some(({ name }) => name === text)) this.options.push({ name: text, detail: "new label", isNew: true });
    this.active = 0;
    show(this.list);
    this.grow(STEP);
    this.list.hidden = !this.options.length;
    this.input.setAttribute("aria-expanded", String(Boolean(this.options.length)));
    say(this.status, found.length ? `${count(found.length)} found` : "no label matches");
    this.mark();
  }

  grow(least = 0) {
    const { list, options } = this;
    const isNearEnd = list.scrollTop + list.clientHeight > list.scrollHeight - 80;
    const until = Math.max(least, list.childElementCount + (isNearEnd ? STEP : 0));
    for (let i = list.childElementCount; i < Math.min(until, options.length); i += 1) list.append(this.option(i));
  }

  option(i) {
    const { name, detail, isNew } = this.options[i];
    return h("li", { role: "option", id: `${this.input.id}-${i}`, class: isNew ? "new" : null, "aria-selected": "false",
      on: { click: () => this.pick(i) } }, bdi(name), h("small", { class: "quiet" }, detail));
  }

  key(event) {
    const { options } = this;
    const actions = {
      ArrowDown: () => this.move(this.active + 1), ArrowUp: () => this.move(this.active - 1),
      Escape: () => this.leave(), Enter: () => (options.length ? this.pick(this.active) : this.leave()),
    };
    if (!actions[event.key] || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  move(place) {
    const { length } = this.options;
    if (!length) return;
    this.active = (place + length) % length;
    this.grow(this.active + 1);
    this.mark();
  }

  mark() {
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    const option = this.list.children[this.active];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
  }

  pick(i) {
    const { name } = this.options[i];
    this.hide();
    this.onPick(name);
  }

  leave() {
    this.hide();
    this.onLeave();
  }

  hide() {
    this.input.value = "";
    this.options = [];
    show(this.list);
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}
