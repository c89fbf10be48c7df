// Requests to the API.

import { askForToken, token, who } from "./session.js";

export const base = new URL("../", import.meta.url);
const TRIES = 4;

/** An error response. */
export class Problem extends Error {
  constructor(status, { title, detail, remedy } = {}) {
    super([detail || title || `The service answered with status ${status}.`, remedy].filter(Boolean).join(" "));
    this.status = status;
  }
}

export function get(path, parameters = {}, { signal } = {}) {
  const url = new URL(`v1/${path}`, base);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return send(url, { signal });
}

/** With a `key`, a request that is sent again counts once. */
export function post(path, body, { signal, keepalive = false, key = null } = {}) {
  const headers = { "Content-Type": "application/json", "X-Clasher-Who": encodeURIComponent(who()) };
  if (key) headers["Idempotency-Key"] = key;
  const request = { method: "POST", headers, body: JSON.stringify(body), signal, keepalive };
  return send(new URL(`v1/${path}`, base), request);
}

export function newKey() {
  const numbers = crypto.getRandomValues(new Uint32Array(4));
  return Array.from(numbers, (number) => number.toString(16).padStart(8, "0")).join("");
}

async function send(url, request) {
  for (let tries = 1; ; tries += 1) {
    const headers = { Accept: "application/json", ...request.headers };
    if (token()) headers.Authorization = `Bearer ${token()}`;
    const response = await fetch(url, { ...request, headers, cache: "no-store" });
    if (response.status === 204) return null;
    if (response.ok) return response.json();
    const problem = new Problem(response.status, await response.json().catch(() => ({})));
    const isBusy = response.status === 503 && tries < TRIES;
    if (isBusy) await pause(Number(response.headers.get("Retry-After")) || tries);
    else if (response.status !== 401 || tries > 1 || !(await askForToken())) throw problem;
  }
}

function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(seconds, 10)));
}

/** The user's name and scope. A token fixes the name; without one, users choose it. */
export async function me() {
  const { who: name, scope } = await get("about");
  return token() ? { name, scope, isFixed: true } : { name: who(), scope, isFixed: false };
}
