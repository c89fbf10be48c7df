// Elements without markup: what comes from the stream is text, wherever it stands.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Properties are attributes, but for `on` (listeners), `vars` (custom properties of its
 * style) and those that are false or missing; children are elements, or text, or lists of both.
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same in a drawing. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Text of the stream: its direction is its own, and does not turn what stands around it. */
export function bdi(text) {
  return h("bdi", {}, text);
}

/** Put these children in place of those that were there. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isThere));
  return element;
}

/** Change a text only where it is another one, so that nothing is announced or drawn in vain. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function fill(element, { on = {}, vars = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (isThere(value)) element.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(vars)) element.style.setProperty(`--${name}`, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.flat(Infinity).filter(isThere));
  return element;
}

function isThere(value) {
  return value !== null && value !== undefined && value !== false;
}
