// Server-sent events over fetch, which can send a token; reconnects by itself.

const SILENCE = 40_000; // milliseconds without a heartbeat before reconnecting
const LONGEST = 1 << 20; // characters of one event
const PATIENCE = 15_000; // milliseconds between two attempts at most

/**
 * Read events from `url` until the returned function is called. `onStatus` gets "live",
 * "connecting" or "refused".
 */
export function openStream(url, token, onEvent, onStatus) {
  const closing = new AbortController();
  run(url, token, onEvent, onStatus, closing.signal);
  return () => closing.abort();
}

async function run(url, token, onEvent, onStatus, closing) {
  const seen = { id: "" }; // the server sends the events after this one again
  for (let failures = 0; !closing.aborted; failures += 1) {
    onStatus("connecting");
    try {
      await once(url, token, seen, onEvent, () => {
        failures = 0;
        onStatus("live");
      }, closing);
    } catch (error) {
      if (error.status === 401 || error.status === 403) {
        onStatus("refused");
        return;
      }
    }
    const wait = Math.min(PATIENCE, 500 * 2 ** failures) * (0.5 + Math.random());
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function once(url, token, seen, onEvent, onOpen, closing) {
  const stop = new AbortController();
  const end = () => stop.abort();
  closing.addEventListener("abort", end);
  let watch = setTimeout(end, SILENCE);
  try {
    const headers = { Accept: "text/event-stream" };
    if (token) headers.Authorization = `Bearer ${token}`;
    if (seen.id) headers["Last-Event-ID"] = seen.id;
    const response = await fetch(url, { headers, cache: "no-store", signal: stop.signal });
    if (!response.ok) throw Object.assign(new Error("refused"), { status: response.status });
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parse = parser((fields) => {
      seen.id = fields.id || seen.id;
      onEvent(fields.event, JSON.parse(fields.data));
    });
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(watch);
      watch = setTimeout(end, SILENCE);
      parse(part.value);
    }
  } finally {
    clearTimeout(watch);
    closing.removeEventListener("abort", end);
    stop.abort();
  }
}

/** Return a function that takes pieces of a stream and calls `onFields` for every complete event. */
export function parser(onFields) {
  let rest = "";
  return (piece) => {
    rest += piece.replaceAll("\r", "");
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    if (rest.length > LONGEST) throw new Error("an event is too long");
    for (const block of blocks) {
      const fields = { event: "message", data: "", id: "" };
      for (const line of block.split("\n")) {
        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (name) fields[name] = value;
      }
      if (fields.data) onFields(fields);
    }
  };
}
