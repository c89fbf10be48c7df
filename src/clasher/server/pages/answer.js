// What somebody says of a document: yes, no or unknown, label by label.

export const YES = "yes";
export const NO = "no";
export const UNKNOWN = "unknown";

/**
 * The rows of an item keep their places: first what was suggested, the best first, then what was
 * added. It begins with a draft, or with the prediction: its labels and no others.
 */
export class Answer {
  constructor(item, draft = null) {
    const predicted = new Set(item.labels);
    const said = new Map(draft ? draft.rows : item.labels.map((name) => [name, YES]));
    this.rows = item.probabilities.map(([name, probability]) => ({
      name, probability, isPredicted: predicted.has(name), said: said.get(name) ?? NO,
    }));
    const listed = new Set(this.rows.map(({ name }) => name));
    for (const [name, what] of said) {
      if (!listed.has(name)) this.rows.push({ name, probability: null, isPredicted: false, said: what });
    }
    this.wantsOthers = draft?.wantsOthers ?? false;
  }

  /** What `constructor` takes up again. */
  get draft() {
    return { rows: this.rows.map(({ name, said }) => [name, said]), wantsOthers: this.wantsOthers };
  }

  /** Yes becomes no, everything else yes. */
  toggle(place) {
    const row = this.rows[place];
    if (row) row.said = row.said === YES ? NO : YES;
  }

  set(place, said) {
    if (this.rows[place]) this.rows[place].said = said;
  }

  /** Say yes to a label, wherever it stands; returns its place. */
  add(name) {
    const place = this.rows.findIndex((row) => row.name === name);
    if (place < 0) return this.rows.push({ name, probability: null, isPredicted: false, said: YES }) - 1;
    this.rows[place].said = YES;
    return place;
  }

  /** Whether labels that are not listed may apply too, for all that is known. */
  get areOthersUnknown() {
    return this.wantsOthers || this.rows.some((row) => row.said === UNKNOWN);
  }

  toggleOthers() {
    this.wantsOthers = !this.wantsOthers;
  }

  with(said) {
    return this.rows.filter((row) => row.said === said).map((row) => row.name);
  }

  /** As the service takes it: a list says all labels, a mapping yes or no to some. Null: nothing. */
  get labels() {
    if (!this.areOthersUnknown) return this.with(YES);
    const known = this.rows.filter((row) => row.said !== UNKNOWN);
    return known.length ? Object.fromEntries(known.map((row) => [row.name, row.said === YES])) : null;
  }

  /** The same in words. */
  get words() {
    const [yes, no] = [this.with(YES), this.with(NO)];
    if (this.labels === null) return "nothing: every label is unknown";
    if (!this.areOthersUnknown) return yes.length ? `${yes.join(", ")} – and no others` : "no label at all";
    const told = [yes.length && `yes to ${yes.join(", ")}`, no.length && `no to ${no.join(", ")}`];
    return [...told.filter(Boolean), "all others unknown"].join("; ");
  }
}
