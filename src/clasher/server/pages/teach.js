// The Teach page: label documents one by one, by keyboard.

import { Answer } from "./answer.js";
import { me, newKey, post, Problem } from "./api.js";
import { askText } from "./dialogs.js";
import { draftedIds, draftOf, dropDraft, keepDraft, setAside } from "./drafts.js";
import { h, say, show } from "./dom.js";
import { listen } from "./events.js";
import { plural } from "./format.js";
import { ItemView } from "./item.js";
import { actionOf, KEYS, STEPS } from "./keys.js";
import { attempt, note } from "./notes.js";
import { Picker } from "./picker.js";
import { Queue, secondsLeft } from "./queue.js";
import { receiptCard } from "./receipts.js";
import { setWho } from "./session.js";

const KEPT = 20; // answers that can be undone here
const RENEW = 60_000; // milliseconds between two renewals while the user works
const SOON = 30; // seconds before the end of a lease: renew at once
const LAPSED = "Your time is up: others may get this document. Your answer is still here.";
const LOST = "Somebody else has this document or has answered it. Your answer is still here and was not sent.";
const UNREACHED = "Cannot reach the service. Your answer is still here: press Enter to send it again.";

export function openTeach(root, rest) {
  const desk = new Desk(root);
  const ids = rest.startsWith("ids/") ? rest.slice(4).split(",").map(decodeURIComponent) : [];
  if (ids.length) history.replaceState(null, "", "#/teach");
  desk.start(ids);
  const key = (event) => desk.key(event);
  const work = () => desk.work();
  document.addEventListener("keydown", key);
  for (const kind of ["keydown", "pointerdown", "wheel"]) document.addEventListener(kind, work, { passive: true });
  const timer = setInterval(() => desk.tick(), 1000);
  const stop = listen("metrics", () => desk.isIdle && desk.advance());
  return () => {
    document.removeEventListener("keydown", key);
    for (const kind of ["keydown", "pointerdown", "wheel"]) document.removeEventListener(kind, work);
    clearInterval(timer);
    stop();
    desk.close();
  };
}

/** Somebody else has the document now. */
class Lost extends Error {}

class Desk {
  constructor(root) {
    this.queue = new Queue();
    this.entries = []; // answers, newest first
    this.undone = []; // undone answers, newest last
    this.sending = Promise.resolve(); // answers are sent in order
    this.view = null;
    this.isSending = false; // an answer is being sent; block changes
    this.worked = this.renewed = 0; // when the user last did something, and when leases were renewed
    this.isLooking = true; // until `start` has fetched documents
    this.picker = new Picker({
      id: "find", label: "Add a label", allowsNew: true,
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
    this.empty = h("p", { class: "quiet empty", hidden: true });
    show(root, h("div", { class: "title" }, h("h1", {}, "Teach"), h("p", { class: "quiet" }, "as ", this.name)),
      h("div", { class: "teach" },
        h("div", {}, this.empty, this.text),
        h("div", { class: "side" }, this.labels, this.picker.element,
          h("p", { class: "actions" }, this.accepts, this.skips, this.undoes, this.redoes)),
        h("section", { class: "panel effects" }, h("h2", {}, "Effects of your answers"), this.receipts),
        h("details", { class: "panel keys" }, h("summary", {}, "Keys"),
          h("dl", {}, KEYS.map(([keys, does]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)))))));
    this.tell();
  }

  async start(ids) {
    attempt(() => this.introduce());
    const drafted = draftedIds();
    const wanted = [...new Set([...ids, ...drafted])];
    const got = wanted.length ? await attempt(() => this.queue.want(wanted)) : [];
    const lost = got ? drafted.filter((id) => !got.some((item) => item.id === id)) : [];
    if (lost.length) note(`${plural(lost.length, "answer was", "answers were")} not sent: somebody else has the document or has answered it.`);
    setAside(lost);
    await this.advance();
  }

  close() {
    if (this.view) this.queue.back(this.view.item);
    this.queue.close();
  }

  /** Whether there was no document at the last look. */
  get isIdle() {
    return !this.view && !this.isLooking;
  }

  async advance() {
    this.view = null;
    this.isLooking = true;
    const item = await attempt(() => this.queue.next());
    this.isLooking = false;
    this.open(item, item && new Answer(item, draftOf(item)));
  }

  open(item, answer) {
    this.view = item ? new ItemView(item, answer, (act) => this.change(act)) : null;
    this.empty.hidden = Boolean(item);
    say(this.empty, item ? "" : "Nothing to teach right now: all recent documents are answered or held by others. New ones appear automatically.");
    show(this.text, item && [this.view.head, this.view.text]);
    show(this.labels, item && this.view.body);
    this.picker.element.hidden = !item;
    this.renewed = Date.now();
    this.enable();
    if (item) this.focus();
  }

  enable() {
    this.accepts.disabled = this.skips.disabled = !this.view || this.isSending;
    this.labels.inert = this.picker.element.inert = this.isSending;
  }

  focus() {
    this.text.focus({ preventScroll: true });
  }

  change(act) {
    if (!this.view || this.isSending) return;
    act();
    this.view.update();
    keepDraft(this.view.item, this.view.answer.draft);
  }

  /** The user is active: try to get an expired lease back. */
  work() {
    this.worked = Date.now();
    if (this.view?.lost === LAPSED) this.renew();
  }

  tick() {
    const { view } = this;
    if (!view || this.isSending) return;
    view.tick();
    if (view.lost) return;
    const seconds = secondsLeft(view.item);
    if (seconds > 0) {
      const isDue = seconds < SOON || Date.now() - this.renewed > RENEW;
      if (isDue && this.worked > this.renewed) this.renew();
      return;
    }
    if (draftOf(view.item)) {
      this.lose(LAPSED);
      return;
    }
    note("Your time for this document is up: others may get it now.");
    this.advance();
  }

  /** Renew the lease, or show that it was lost. */
  async renew() {
    const { view } = this;
    this.renewed = Date.now();
    const isOurs = await this.queue.renew(view.item).catch(() => null); // null: cannot reach the service
    if (this.view !== view || isOurs === null) return;
    if (!isOurs) this.lose(LOST);
    else if (view.lost) this.lose("");
    else view.tick();
  }

  /** Show why the lease was lost; an empty text: it was regained. */
  lose(why) {
    if (why && why !== this.view.lost) note(why);
    this.view.lost = why;
    this.view.tick();
  }

  accept() {
    if (!this.view || this.isSending) return;
    const { view } = this;
    const { item, answer } = view;
    if (answer.labels === null) {
      note("All labels are unknown, so there is nothing to learn: skip this document.");
      return;
    }
    const entry = { item, answer, receipt: null, state: "sending" };
    this.undone = this.undone.filter((other) => other.item.id !== item.id);
    this.entries = [entry, ...this.entries.filter((other) => other.item.id !== item.id)].slice(0, KEPT);
    this.tell();
    this.isSending = true;
    this.enable();
    this.send(entry, async () => {
      if (view.lost && !(await this.queue.regain(item))) throw new Lost(LOST);
      view.lost = "";
      const body = { documents: [{ id: item.id, digest: item.digest, labels: answer.labels }] };
      const sent = JSON.stringify(body);
      if (sent !== view.sent) Object.assign(view, { sent, key: newKey() }); // sent again, it counts once
      const { receipts: [receipt] } = await post("feedback", body, { key: view.key });
      Object.assign(entry, { receipt, state: "taught" });
      dropDraft(item);
      this.isSending = false;
      await this.advance();
    });
  }

  skip() {
    if (!this.view || this.isSending) return;
    const { item, answer } = this.view;
    if (draftOf(item)) keepDraft(item, { ...answer.draft, isSkipped: true });
    this.queue.skip(item);
    this.advance();
  }

  undo(entry = this.entries.find(({ state }) => state === "taught" || state === "sending")) {
    if (!entry) return;
    this.send(entry, async () => {
      if (entry.state !== "taught") return;
      entry.receipt = await post("undo", { version: entry.receipt.version });
      entry.state = "undone";
      this.undone.push(entry);
      const [item] = await this.queue.lease([entry.item.id]); // so that nobody else gets it
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

  /** Send in order; a failed answer stays open, to be sent again. */
  send(entry, work) {
    this.sending = this.sending.then(async () => {
      try {
        await work();
      } catch (error) {
        note(error instanceof Problem || error instanceof Lost ? error.message : UNREACHED, "error");
        if (entry.state === "sending") {
          entry.state = "failed";
          this.isSending = false;
          keepDraft(entry.item, entry.answer.draft);
          if (error instanceof Lost && this.view?.item === entry.item) this.lose(error.message);
          this.enable();
          this.focus();
        }
      }
      this.enable();
      this.tell();
    });
  }

  tell() {
    const turn = (entry) => (entry.state === "taught" ? this.undo(entry) : this.redo(entry));
    show(this.receipts, this.entries.length
      ? this.entries.map((entry) => receiptCard(entry, turn))
      : h("li", { class: "quiet" }, "After each answer, this shows which probabilities changed and which recent documents would get other labels."));
    this.undoes.disabled = !this.entries.some(({ state }) => state === "taught" || state === "sending");
    this.redoes.disabled = !this.undone.length;
  }

  /** Show who is teaching; without a token, the name can be changed. */
  async introduce() {
    const { name, isFixed } = await me();
    show(this.name, isFixed ? name : h("button", { class: "link", on: { click: () => this.rename(name) } }, name));
  }

  async rename(value) {
    const name = await askText("Who is teaching?", "Your name in the log", { value, yes: "Save" });
    if (name) await attempt(() => this.queue.handOver(this.view?.item, () => setWho(name)));
    await this.introduce();
  }

  key(event) {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const act = actionOf(event, this);
    const isHeld = event.repeat && (act ? !STEPS.has(event.key) : event.key === "Enter"); // a held key acts once
    if (!act && !isHeld) return;
    event.preventDefault();
    if (!isHeld) act();
  }
}
