// What the keys of Teach mean.

import { UNKNOWN } from "./answer.js";

/** The keys and what they do, for the help below Teach. */
export const KEYS = [
  ["1 – 9", "yes or no to a label"], ["Shift + 1 – 9", "unknown"], ["0", "may other labels apply?"],
  ["letters", "find any label, Enter adds it"], ["Enter", "accept and go on"], ["→", "skip"],
  ["↑ ↓", "walk the labels, space for yes or no"], ["Ctrl + Z", "undo"], ["Ctrl + Y", "redo"],
];

/** Keys that go on while they are held down. */
export const STEPS = new Set(["ArrowUp", "ArrowDown"]);

/** What a key means here; letters go to the search, so commands are none. */
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
  if (/^\p{L}$/u.test(key)) desk.picker.input.focus(); // and the letter goes there
  return null;
}
