// What can be pressed, filled in or looked at, and has no name that a screen reader could say.
() => {
  const isSeen = (element) => element.checkVisibility() && !element.closest("svg svg, [aria-hidden=true]");
  const isNamed = (element) =>
    element.textContent.trim() || element.getAttribute("aria-label") || element.labels?.length;
  const wanted = "a, button, input, textarea, svg, [role]:not([role=status], [role=none])";
  return [...document.querySelectorAll(wanted)]
    .filter((element) => isSeen(element) && !isNamed(element))
    .map((element) => element.outerHTML);
}
