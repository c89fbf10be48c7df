// The page of the API: all operations of the OpenAPI document, each with a form to try it.

import { base } from "./api.js";
import { h, show } from "./dom.js";
import { askForToken, token } from "./session.js";

const SHOWN = 20_000; // characters of a response

function operation(method, path, about) {
  const parameters = (about.parameters ?? []).map((one) => ({ ...one, input: input(one) }));
  const [type, content] = Object.entries(about.requestBody?.content ?? {})[0] ?? [];
  const example = content?.examples?.example.value ?? {};
  const body = type && h("textarea", { rows: 6, "aria-label": "Body" });
  if (body) body.value = type.includes("form") ? String(new URLSearchParams(example)) : JSON.stringify(example, null, 2);
  const response = h("pre", { class: "response", role: "status" });
  const send = h("button", { type: "button", on: { click: () => request(method, path, parameters, type, body, response) } }, "Send");
  return h("details", { class: "operation", id: about.operationId },
    h("summary", {}, h("code", {}, h("b", {}, method.toUpperCase()), ` ${path}`), ` ${about.summary}`),
    paragraphs(about.description).slice(1),
    h("p", { class: "quiet small" }, about["x-scope"] ? `Scope: ${about["x-scope"]}.` : "No token needed.", ` Statuses: ${Object.keys(about.responses).join(", ")}.`),
    parameters.map((one) => h("label", {}, `${one.name} (${one.in}) `, one.input)),
    body && h("p", { class: "quiet small" }, `Body: ${Object.keys(about.requestBody.content).join(" or ")}`),
    body, h("p", {}, send), response);
}

/** Paragraphs with `code` in backticks. */
function paragraphs(text) {
  return text.split("\n\n").map((one) => h("p", {}, one.split(/`+/).map((part, i) => (i % 2 ? h("code", {}, part) : part))));
}

function input({ name, required, schema }) {
  const hint = schema.enum?.join(", ") ?? schema.type ?? "";
  return h("input", { name, required, placeholder: String(schema.default ?? hint) });
}

async function request(method, path, parameters, type, body, place) {
  const headers = type ? { "Content-Type": type } : {};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const filled = parameters.filter(({ input: { value } }) => value);
  const at = (name) => filled.filter((one) => one.in === name);
  for (const one of at("header")) headers[one.name] = one.input.value;
  for (const one of at("path")) path = path.replace(`{${one.name}}`, encodeURIComponent(one.input.value));
  const url = new URL(path.slice(1), base);
  for (const one of at("query")) url.searchParams.set(one.name, one.input.value);
  show(place, "Waiting for the response …");
  try {
    const response = await fetch(url, { method: method.toUpperCase(), headers, body: body?.value, cache: "no-store" });
    if (response.status === 401 && await askForToken()) return request(method, path, parameters, type, body, place);
    show(place, `${response.status} ${response.statusText}\n\n`, await beginning(response));
  } catch (error) {
    show(place, `No response: ${error.message}`);
  }
  return null;
}

/** The first characters of a response; of an event stream, the first piece. */
async function beginning(response) {
  const isStream = (response.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader.read()) {
    text += piece.value;
    if (isStream || text.length > SHOWN) {
      reader.cancel();
      return `${text.slice(0, SHOWN)} …`;
    }
  }
  const visible = (character) => `\\u${character.charCodeAt(0).toString(16)}`;
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replace(/[\u202a-\u202e\u2066-\u2069]/g, visible); // they reorder text
  } catch {
    return text;
  }
}

function schema([name, about]) {
  return h("details", { class: "operation", id: `schema-${name}` }, h("summary", {}, h("code", {}, name)),
    h("pre", {}, JSON.stringify(about, null, 2)));
}

const described = await (await fetch(new URL("openapi.json", base))).json();
show(document.getElementById("content"),
  h("h1", {}, "API"),
  paragraphs(described.info.description),
  Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => operation(method, path, about))),
  h("h2", {}, "Types"), Object.entries(described.components.schemas).map(schema));
