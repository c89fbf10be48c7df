// The shared worker: one event stream for all tabs of a browser.

import { openStream } from "./stream.js";

const url = new URL("../v1/events", import.meta.url);
const GONE = 180_000; // milliseconds: browsers give hidden tabs one timer a minute
const tabs = new Map(); // port → time of its last message
let close = null;
let token = null;
let status = "connecting";

function tell(message) {
  for (const port of tabs.keys()) port.postMessage(message);
}

function open() {
  close?.();
  close = openStream(url, token, (kind, data) => tell({ kind, data }), (now) => {
    status = now;
    tell({ status });
  });
}

function leave(port) {
  tabs.delete(port);
  port.close();
  if (tabs.size) return;
  close?.();
  close = null;
}

self.onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    if (data.bye) {
      leave(port);
      return;
    }
    tabs.set(port, Date.now());
    const isNew = data.token && data.token !== token;
    token = data.token ?? token;
    if (!close || isNew || (data.hello && status === "refused")) open();
    else if (data.hello) port.postMessage({ status });
  };
};

setInterval(() => {
  for (const [port, heard] of tabs) if (Date.now() - heard > GONE) leave(port);
}, GONE / 3);
