// Text that does not stand out from what is behind it: WCAG's ratio below `least`, layers blended.
(least) => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], below) => [...[r, g, b].map((c, i) => c * a + below[i] * (1 - a)), 1];
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const { backgroundImage, backgroundColor } = getComputedStyle(at);
      const bar = backgroundImage.match(/^linear-gradient\((rgba?\([^)]*\))/); // as if it were full
      if (bar) layers.push(parse(bar[1]));
      layers.push(parse(backgroundColor));
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const isSeen = (element) => element.checkVisibility() && !element.closest(".unseen, .skip, noscript");
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !isSeen(element)) continue;
    const { fill, color } = getComputedStyle(element);
    const ground = behind(element);
    const ink = over(parse(element.closest("svg") ? fill : color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least) faint.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}
