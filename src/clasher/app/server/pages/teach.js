// Teach: one document after the other, by keyboard alone.

import { Answer, UNKNOWN } from "./answer.js";
import { newKey, post } from "./api.js";
import { askText } from "./dialogs.js";
import { h, say, show } from "./dom.js";
import { listen } from "./events.js";
import { ItemView } from "./item.js";
import { me } from "./me.js";
import { attempt, note } from "./notes.js";
import { Picker } from "./picker.js";
import { Queue, secondsLeft } from "./queue.js";
import { receiptCard } from "./receipts.js";
import { setWho } from "./session.js";

const KEPT = 20; // answers that can be taken back here
const KEYS = [
  ["1 – 9", "yes or no to a label"], ["Shift + 1 – 9", "unknown"], ["0", "may other labels apply?"],
  ["letters", "find any label, Enter adds it"], ["Enter", "accept and go on"], ["→", "skip"],
  ["↑ ↓", "walk the labels, space for yes or no"], ["Ctrl + Z", "undo"], ["Ctrl + Y", "redo"],
];

export function openTeach(root, rest) {
  const desk = new Desk(root);
  const ids = rest.startsWith("ids/") ? rest.slice(4).split(",").map(decodeURIComponent) : [];
  if (ids.length) history.replaceState(null, "", "#/teach");
  desk.start(ids);
  const key = (event) => desk.key(event);
  document.addEventListener("keydown", key);
  const timer = setInterval(() => desk.tick(), 1000);
  const stop = listen("metrics", () => desk.isIdle && desk.advance());
  return () => {
    document.removeEventListener("keydown", key);
    clearInterval(timer);
    stop();
    desk.close();
  };
}

class Desk {
  constructor(root) {
    this.queue = new Queue();
    this.entries = []; // answers given, the newest first
    this.undone = []; // those taken back, the last one last
    this.sending = Promise.resolve(); // answers reach the service in the order they were given
    this.view = null;
    this.isLooking = true; // until `start` has asked for what was wanted
    this.picker = new Picker({
      id: "find", label: "Find any label", allowsNew: true,
      onPick: (name) => { this.change(() => this.view.answer.add(name)); this.focus(); }, onLeave: () => this.focus(),
    });
    this.text = h("div", { class: "item", tabindex: "-1", "aria-live": "polite" });
    this.labels = h("div");
    this.receipts = h("ol", { class: "receipts", "aria-label": "Receipts" });
    this.accepts = h("button", { class: "main", on: { click: () => this.accept() } }, "Accept", h("kbd", {}, "Enter"));
    this.skips = h("button", { on: { click: () => this.skip() } }, "Skip", h("kbd", {}, "→"));
    this.undoes = h("button", { on: { click: () => this.undo() } }, "Undo");
    this.redoes = h("button", { on: { click: () => this.redo() } }, "Redo");
    this.name = h("span");
    this.told = h("p", { class: "quiet empty", hidden: true });
    show(root, h("div", { class: "title" }, h("h1", {}, "Teach"), h("p", { class: "quiet" }, "as ", this.name)),
      h("div", { class: "teach" },
        h("div", {}, this.told, this.text),
        h("div", { class: "side" }, this.labels, this.picker.element,
          h("p", { class: "actions" }, this.accepts, this.skips, this.undoes, this.redoes)),
        h("section", { class: "panel said" }, h("h2", {}, "What your answers changed"), this.receipts),
        h("details", { class: "panel keys" }, h("summary", {}, "Keys"),
          h("dl", {}, KEYS.map(([keys, does]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)))))));
    this.tell();
  }

  async start(ids) {
    attempt(() => this.introduce());
    if (ids.length) await attempt(() => this.queue.want(ids));
    await this.advance();
  }

  close() {
    if (this.view) this.queue.back(this.view.item);
    this.queue.close();
  }

  /** Whether there was nothing to do when we last looked. */
  get isIdle() {
    return !this.view && !this.isLooking;
  }

  async advance() {
    this.view = null;
    this.isLooking = true;
    const item = await attempt(() => this.queue.next());
    this.isLooking = false;
    this.open(item, item && new Answer(item));
  }

  open(item, answer) {
    this.view = item ? new ItemView(item, answer, (act) => this.change(act)) : null;
    this.told.hidden = Boolean(item);
    say(this.told, item ? "" : "Nothing to teach right now: every recent document has its answer, or is with somebody else. New ones appear here by themselves.");
    show(this.text, item && [this.view.head, this.view.text]);
    show(this.labels, item && this.view.body);
    this.picker.element.hidden = !item;
    this.accepts.disabled = this.skips.disabled = !item;
    if (item) this.focus();
  }

  focus() {
    this.text.focus({ preventScroll: true });
  }

  change(act) {
    if (!this.view) return;
    act();
    this.view.update();
  }

  tick() {
    if (!this.view) return;
    this.view.tick();
    if (secondsLeft(this.view.item) > 0) return;
    note("The time for this document is over: others may get it now.");
    this.advance();
  }

  accept() {
    if (!this.view) return;
    const { item, answer } = this.view;
    if (answer.labels === null) {
      note("Every label is unknown, so there is nothing to learn: skip it instead.");
      return;
    }
    const entry = { item, answer, receipt: null, state: "sending" };
    this.undone = this.undone.filter((other) => other.item.id !== item.id);
    this.entries = [entry, ...this.entries.filter((other) => other.item.id !== item.id)].slice(0, KEPT);
    this.tell();
    const key = newKey();
    this.send(entry, async () => {
      const body = { documents: [{ id: item.id, labels: answer.labels }] };
      const { receipts: [receipt] } = await post("feedback", body, { key });
      Object.assign(entry, { receipt, state: "taught" });
    });
    this.advance();
  }

  skip() {
    if (!this.view) return;
    this.queue.skip(this.view.item);
    this.advance();
  }

  undo(entry = this.entries.find(({ state }) => state === "taught" || state === "sending")) {
    if (!entry) return;
    this.send(entry, async () => {
      if (entry.state !== "taught") return;
      entry.receipt = await post("undo", { version: entry.receipt.version });
      entry.state = "undone";
      this.undone.push(entry);
      const [item] = await this.queue.lease([entry.item.id]); // nobody else is to get it meanwhile
      if (!item) return;
      if (this.view) this.queue.back(this.view.item);
      this.open(item, entry.answer);
    });
  }

  redo(entry = this.undone.at(-1)) {
    if (!entry) return;
    this.send(entry, async () => {
      if (entry.state !== "undone") return;
      entry.receipt = await post("undo", { version: entry.receipt.version });
      entry.state = "taught";
      this.undone = this.undone.filter((other) => other !== entry);
      if (this.view?.item.id === entry.item.id) await this.advance();
    });
  }

  /** One after the other; what failed can be answered again. */
  send(entry, work) {
    this.sending = this.sending.then(async () => {
      try {
        await work();
      } catch (error) {
        note(error.message, "error");
        if (entry.state === "sending") {
          entry.state = "failed";
          this.queue.back(entry.item);
        }
      }
      this.tell();
    });
  }

  tell() {
    const turn = (entry) => (entry.state === "taught" ? this.undo(entry) : this.redo(entry));
    show(this.receipts, this.entries.length
      ? this.entries.map((entry) => receiptCard(entry, turn))
      : h("li", { class: "quiet" }, "After each answer: which probabilities moved, and which recent documents would now be labelled otherwise."));
    this.undoes.disabled = !this.entries.some(({ state }) => state === "taught" || state === "sending");
    this.redoes.disabled = !this.undone.length;
  }

  /** Say who is teaching; without a token one can be called otherwise. */
  async introduce() {
    const { name, isFixed } = await me();
    show(this.name, isFixed ? name : h("button", { class: "link", on: { click: () => this.rename(name) } }, name));
  }

  async rename(value) {
    const name = await askText("Who is teaching?", "Your name, as it stands in the log", { value, yes: "That is me" });
    if (name) setWho(name);
    await this.introduce();
  }

  key(event) {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const act = this.actionOf(event);
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** What a key means here; letters go to the search, so commands are none. */
  actionOf(event) {
    const { key, code, target, shiftKey: isShifted } = event;
    const isTyping = target.matches("input, textarea");
    if (event.ctrlKey || event.metaKey) {
      if (event.altKey || (isTyping && target.value)) return null;
      const letter = key.toLowerCase();
      if (letter === "z") return () => (isShifted ? this.redo() : this.undo());
      return letter === "y" ? () => this.redo() : null;
    }
    if (event.altKey || isTyping || !this.view) return null;
    const digit = /^(?:Digit|Numpad)(\d)$/.exec(code)?.[1];
    if (digit === "0") return () => this.change(() => this.view.answer.toggleOthers());
    if (digit) return () => this.change(() => (isShifted ? this.view.answer.set(digit - 1, UNKNOWN) : this.view.answer.toggle(digit - 1)));
    if (key === "Enter" && !target.closest("button:not(.toggle), a, summary")) return () => this.accept();
    if (key === "ArrowRight") return () => this.skip();
    const isScrolling = target.matches(".text");
    if (!isScrolling && (key === "ArrowDown" || key === "ArrowUp")) return () => this.view.step(key === "ArrowDown" ? 1 : -1);
    if (key === "/") return () => this.picker.input.focus();
    if (/^\p{L}$/u.test(key)) this.picker.input.focus(); // and the letter goes there
    return null;
  }
}
