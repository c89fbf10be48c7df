// Keyboard commands of the Teach page.

import { UNKNOWN } from "./answer.js";

/** The keys and their actions, for the help. */
export const KEYS = [
  ["1 – 9", "switch a label between yes and no"], ["Shift + 1 – 9", "mark a label unknown"], ["0", "switch all other labels between no and unknown"],
  ["letters, /", "search all labels; Enter adds one"], ["Enter", "accept and continue"], ["→", "skip"],
  ["↑ ↓", "move between labels; Space switches yes and no"], ["Ctrl + Z", "undo"], ["Ctrl + Y", "redo"],
];

/** Keys that repeat while held down. */
export const STEPS = new Set(["ArrowUp", "ArrowDown"]);

/** Return the action of a key. Letters go to the search box. */
export function actionOf(event, desk) {
  const { key, code, target, shiftKey: isShifted } = event;
  const isTyping = target.matches("input, textarea");
  if (event.ctrlKey || event.metaKey) {
    if (event.altKey || (isTyping && target.value)) return null;
    const letter = key.toLowerCase();
    if (letter === "z") return () => (isShifted ? desk.redo() : desk.undo());
    return letter === "y" ? () => desk.redo() : null;
  }
  if (event.altKey || isTyping || !desk.view) return null;
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(code)?.[1];
  if (digit === "0") return () => desk.change(() => desk.view.answer.toggleOthers());
  if (digit) return () => desk.change(() => (isShifted ? desk.view.answer.set(digit - 1, UNKNOWN) : desk.view.answer.toggle(digit - 1)));
  if (key === "Enter" && !target.closest("button:not(.toggle), a, summary")) return () => desk.accept();
  if (key === "ArrowRight") return () => desk.skip();
  const isScrolling = target.matches(".text");
  if (!isScrolling && (key === "ArrowDown" || key === "ArrowUp")) return () => desk.view.step(key === "ArrowDown" ? 1 : -1);
  if (key === "/") return () => desk.picker.input.focus();
  if (/^\p{L}$/u.test(key)) desk.picker.input.focus(); // the letter is typed there
  return null;
}
