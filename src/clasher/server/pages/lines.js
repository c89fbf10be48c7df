// Geometry of charts.

/** Make a path through the values, with gaps where they are missing. */
export function trace(at, column, x, y, from, to) {
  let path = "";
  let isDown = false;
  at.forEach((moment, i) => {
    const value = column[i];
    const isNear = (at[i + 1] ?? moment) >= from && (at[i - 1] ?? moment) <= to;
    if (value === null || value === undefined || !isNear) {
      isDown = false;
      return;
    }
    path += `${isDown ? "L" : "M"}${x(moment).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  });
  return path;
}

/** Return the smallest round number that is at least `least`. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 2.5, 5, 10].find((step) => step * power >= least * 0.999) * power;
}

/** Return the index of the nearest moment. */
export function nearest(sorted, wanted) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low > 0 && wanted - sorted[low - 1] < sorted[low] - wanted ? low - 1 : low;
}
