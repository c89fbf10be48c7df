// What happens, as it happens: one connection for all tabs of a browser.
//
// Where workers cannot be shared, a tab has a connection of its own while it is to be seen.

import { base } from "./api.js";
import { token } from "./session.js";
import { openStream } from "./stream.js";

const BEAT = 30_000; // milliseconds between two signs of life to the worker
const handlers = new Map(); // kind → set of functions
const watchers = new Set();
let status = "connecting";
let hello = null;

/** Call `handler(data, event)` at every event of a kind; returns how to stop. */
export function listen(kind, handler) {
  if (!handlers.has(kind)) handlers.set(kind, new Set());
  handlers.get(kind).add(handler);
  return () => handlers.get(kind).delete(handler);
}

/** Call `handler()` when events of these kinds come, but not again within so many milliseconds; returns how to stop. */
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

/** Call `watcher(status)` now and at every change. */
export function watchStatus(watcher) {
  watchers.add(watcher);
  watcher(status);
}

/** Begin; again, with a token that was not there before. */
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
      worker.onerror = () => { // no modules in workers here
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
