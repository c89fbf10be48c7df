// Answers that were begun and not sent yet: kept in this tab, also through a reload.

const PLACE = "clasher.drafts";
const MOST = 50; // the oldest make room

/** Rows of [id, digest of the text, draft], the oldest first. */
function all() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACE)) ?? [];
  } catch {
    return []; // written by another version, or storage is forbidden
  }
}

function write(rows) {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(rows.slice(-MOST)));
  } catch { /* the page still has it */ }
}

const isOf = (item) => ([id, digest]) => id === item.id && digest === item.digest;
const without = (item) => all().filter((row) => !isOf(item)(row));

/** What was begun for this text, null where nothing was. */
export function draftOf(item) {
  return all().find(isOf(item))?.[2] ?? null;
}

export function keepDraft(item, draft) {
  write([...without(item), [item.id, item.digest, draft]]);
}

export function dropDraft(item) {
  write(without(item));
}

/** Ask for these documents no more; what was begun for them stays. */
export function setAside(ids) {
  write(all().map(([id, digest, draft]) => [id, digest, ids.includes(id) ? { ...draft, isSkipped: true } : draft]));
}

/** The ids of documents with an answer that was begun, but for those that were skipped. */
export function draftedIds() {
  return all().filter(([, , draft]) => !draft.isSkipped).map(([id]) => id);
}
