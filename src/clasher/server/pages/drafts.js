// Answers not sent yet; this tab keeps them, also after a reload.

const PLACE = "clasher.drafts";
const MOST = 50; // older ones are dropped

/** List rows of [id, digest of the text, draft], oldest first. */
function all() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACE)) ?? [];
  } catch {
    return []; // another version's data, or no access to storage
  }
}

function write(rows) {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(rows.slice(-MOST)));
  } catch { /* the open page still has it */ }
}

const isOf = (item) => ([id, digest]) => id === item.id && digest === item.digest;
const without = (item) => all().filter((row) => !isOf(item)(row));

/** Return the draft for this text, or null. */
export function draftOf(item) {
  return all().find(isOf(item))?.[2] ?? null;
}

export function keepDraft(item, draft) {
  write([...without(item), [item.id, item.digest, draft]]);
}

export function dropDraft(item) {
  write(without(item));
}

/** Skip these documents from now on, but keep their drafts. */
export function setAside(ids) {
  write(all().map(([id, digest, draft]) => [id, digest, ids.includes(id) ? { ...draft, isSkipped: true } : draft]));
}

/** List the ids of documents with a draft, except skipped ones. */
export function draftedIds() {
  return all().filter(([, , draft]) => !draft.isSkipped).map(([id]) => id);
}
