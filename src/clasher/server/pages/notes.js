// Short messages at the bottom of the page, also for screen readers.

import { h } from "./dom.js";

const SHOWN = 7000; // milliseconds
const MOST = 3;

/** Show a message for some seconds. */
export function note(text, kind = "") {
  const list = document.getElementById("notes");
  const line = h("p", { class: `note ${kind}` }, text);
  list.append(line);
  while (list.childElementCount > MOST) list.firstElementChild.remove();
  setTimeout(() => line.remove(), SHOWN);
}

/** Run `work` and show its errors, except cancelled requests. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") note(error.message, "error");
    return undefined;
  }
}
