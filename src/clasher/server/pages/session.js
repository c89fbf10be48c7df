// The user's name and token.

import { askText } from "./dialogs.js";

const NAME = "clasher.name";
const TOKEN = "clasher.token";
let asking = null;

export const who = () => localStorage.getItem(NAME) || "anonymous";
export const setWho = (name) => localStorage.setItem(NAME, name);
export const token = () => sessionStorage.getItem(TOKEN);

/** Ask for a token, once for all requests that need it; resolves with whether there is a new one. */
export function askForToken() {
  asking ??= askText("Enter your token", "Token", {
    type: "password",
    about: "This service needs a token. This tab keeps it until you close it.",
    yes: "Continue",
  }).then((given) => {
    asking = null;
    if (given) sessionStorage.setItem(TOKEN, given);
    return Boolean(given);
  });
  return asking;
}
