// An answer: yes, no or unknown for each label of a document.

export const YES = "yes";
export const NO = "no";
export const UNKNOWN = "unknown";

/**
 * Rows keep their order: suggestions by probability, then added labels. An answer starts from a
 * draft, or from the prediction: its labels and no others.
 */
export class Answer {
  constructor(item, draft = null) {
    const predicted = new Set(item.labels);
    const state = new Map(draft ? draft.rows : item.labels.map((name) => [name, YES]));
    this.rows = item.probabilities.map(([name, probability]) => ({
      name, probability, isPredicted: predicted.has(name), state: state.get(name) ?? NO,
    }));
    const listed = new Set(this.rows.map(({ name }) => name));
    for (const [name, value] of state) {
      if (!listed.has(name)) this.rows.push({ name, probability: null, isPredicted: false, state: value });
    }
    this.wantsOthers = draft?.wantsOthers ?? false;
  }

  /** The draft for the constructor. */
  get draft() {
    return { rows: this.rows.map(({ name, state }) => [name, state]), wantsOthers: this.wantsOthers };
  }

  /** Switch yes to no, and anything else to yes. */
  toggle(place) {
    const row = this.rows[place];
    if (row) row.state = row.state === YES ? NO : YES;
  }

  set(place, state) {
    if (this.rows[place]) this.rows[place].state = state;
  }

  /** Set a label to yes, adding it if necessary; return its row number. */
  add(name) {
    const place = this.rows.findIndex((row) => row.name === name);
    if (place < 0) return this.rows.push({ name, probability: null, isPredicted: false, state: YES }) - 1;
    this.rows[place].state = YES;
    return place;
  }

  /** Whether labels that are not listed are unknown. */
  get areOthersUnknown() {
    return this.wantsOthers || this.rows.some((row) => row.state === UNKNOWN);
  }

  toggleOthers() {
    this.wantsOthers = !this.wantsOthers;
  }

  with(state) {
    return this.rows.filter((row) => row.state === state).map((row) => row.name);
  }

  /** The labels as the API takes them: a list of all, or a mapping of some to yes or no; null: no answer. */
  get labels() {
    if (!this.areOthersUnknown) return this.with(YES);
    const known = this.rows.filter((row) => row.state !== UNKNOWN);
    return known.length ? Object.fromEntries(known.map((row) => [row.name, row.state === YES])) : null;
  }

  /** The answer in words. */
  get words() {
    const [yes, no] = [this.with(YES), this.with(NO)];
    if (this.labels === null) return "none: all labels are unknown";
    if (!this.areOthersUnknown) return yes.length ? `${yes.join(", ")}, no others` : "no labels";
    const parts = [yes.length && `yes: ${yes.join(", ")}`, no.length && `no: ${no.join(", ")}`];
    return [...parts.filter(Boolean), "all others unknown"].join("; ");
  }
}
