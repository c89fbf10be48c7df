// Who sits here, and the token that lets them in.

import { askText } from "./dialogs.js";

const NAME = "clasher.name";
const TOKEN = "clasher.token";
let asking = null;

export const who = () => localStorage.getItem(NAME) || "anonymous";
export const setWho = (name) => localStorage.setItem(NAME, name);
export const token = () => sessionStorage.getItem(TOKEN);

/** Ask for a token, once however many need it; resolves with whether there is a new one. */
export function askForToken() {
  asking ??= askText("A token, please", "Token", {
    type: "password",
    about: "This service lets in those who have one. It is kept until this tab is closed.",
    yes: "Use it",
  }).then((given) => {
    asking = null;
    if (given) sessionStorage.setItem(TOKEN, given);
    return Boolean(given);
  });
  return asking;
}
