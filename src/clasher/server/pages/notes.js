// Short messages at the foot of the page, also spoken by screen readers.

import { h } from "./dom.js";

const SHOWN = 7000; // milliseconds
const MOST = 3;

/** Say something; it goes away by itself. */
export function note(text, kind = "") {
  const list = document.getElementById("notes");
  const line = h("p", { class: `note ${kind}` }, text);
  list.append(line);
  while (list.childElementCount > MOST) list.firstElementChild.remove();
  setTimeout(() => line.remove(), SHOWN);
}

/** Run `work`, and say what went wrong; what was given up on purpose did not. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") note(error.message, "error");
    return undefined;
  }
}
