// Create DOM elements. Texts from the server never become markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Create an element. Properties are attributes, except `on` (listeners) and `vars` (CSS custom
 * properties); false and missing ones are left out. Children are elements, texts, or lists of both.
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Create an SVG element. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Isolate the direction of a text from the server. */
export function bdi(text) {
  return h("bdi", {}, text);
}

/** Replace the children of an element. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isPresent));
  return element;
}

/** Set a text only if it changed, so that screen readers do not repeat it. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function fill(element, { on = {}, vars = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (isPresent(value)) element.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(vars)) element.style.setProperty(`--${name}`, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.flat(Infinity).filter(isPresent));
  return element;
}

function isPresent(value) {
  return value !== null && value !== undefined && value !== false;
}
