// Dialogs.

import { h } from "./dom.js";

/** Ask for a line of text; null if cancelled. */
export async function askText(title, label, { value = "", type = "text", about = null, yes = "OK" } = {}) {
  const input = h("input", { id: "asked", type, value, required: true, maxlength: 1000, autocomplete: "off" });
  const content = [about && h("p", { class: "quiet" }, about), h("label", { for: "asked" }, label), input];
  return (await ask(title, content, yes, "main")) ? input.value.trim() || null : null;
}

/** Ask for confirmation. */
export function confirm(title, text, yes) {
  return ask(title, [h("p", {}, text)], yes, "danger");
}

function ask(title, content, yes, look) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "asked-title", on: { close: () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    } } }, h("form", { method: "dialog" }, h("h2", { id: "asked-title" }, title), content,
      h("p", { class: "actions" }, h("button", { class: look, value: "yes" }, yes),
        h("button", { value: "", formnovalidate: true }, "Cancel"))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
