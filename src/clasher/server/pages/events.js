// Events from the server: one connection for all tabs of a browser.
//
// Without shared workers, each visible tab has a connection of its own.

import { base } from "./api.js";
import { token } from "./session.js";
import { openStream } from "./stream.js";

const BEAT = 30_000; // milliseconds between two messages that keep the tab registered
const handlers = new Map(); // kind → set of functions
const watchers = new Set();
let status = "connecting";
let hello = null;

/** Call `handler(data, event)` for every event of a kind; return a function that stops it. */
export function listen(kind, handler) {
  if (!handlers.has(kind)) handlers.set(kind, new Set());
  handlers.get(kind).add(handler);
  return () => handlers.get(kind).delete(handler);
}

/** Call `handler()` for events of these kinds, at most once per `milliseconds`; return a function that stops it. */
export function listenCalmly(kinds, milliseconds, handler) {
  let heard = Date.now();
  const hear = () => {
    if (Date.now() - heard < milliseconds) return;
    heard = Date.now();
    handler();
  };
  const stops = kinds.map((kind) => listen(kind, hear));
  return () => stops.forEach((stop) => stop());
}

/** Call `watcher(status)` now and on every change. */
export function watchStatus(watcher) {
  watchers.add(watcher);
  watcher(status);
}

/** Connect, or reconnect with a new token. */
export function connect() {
  hello ??= window.SharedWorker ? shareWorker() : standAlone();
  hello();
}

function receive(kind, event) {
  for (const handler of handlers.get(kind) ?? []) handler(event.data, event);
}

function setStatus(now) {
  status = now;
  for (const watcher of watchers) watcher(now);
}

function shareWorker() {
  let port = null;
  const start = () => {
    if (!port) {
      const worker = new SharedWorker(new URL("./shared.js", import.meta.url), { type: "module", name: `clasher ${base.pathname}` });
      worker.onerror = () => { // this browser has no module workers
        hello = standAlone();
        hello();
      };
      port = worker.port;
      port.onmessage = ({ data }) => (data.status ? setStatus(data.status) : receive(data.kind, data.data));
    }
    port.postMessage({ hello: true, token: token() });
  };
  setInterval(() => port?.postMessage({ token: token() }), BEAT);
  addEventListener("pagehide", () => {
    port?.postMessage({ bye: true });
    port = null;
  });
  addEventListener("pageshow", (event) => event.persisted && start());
  return start;
}

function standAlone() {
  let close = null;
  const start = () => {
    close?.();
    close = document.hidden ? null : openStream(new URL("v1/events", base), token(), receive, setStatus);
  };
  document.addEventListener("visibilitychange", start);
  return start;
}
