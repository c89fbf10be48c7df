// Places on a chart: paths through values, round steps, the nearest moment.

/** A path through the values, broken where there are none. */
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

/** The smallest round number that is no less than this. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 2.5, 5, 10].find((step) => step * power >= least * 0.999) * power;
}

/** The place of the moment that is nearest. */
export function nearest(sorted, wanted) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low > 0 && wanted - sorted[low - 1] < sorted[low] - wanted ? low - 1 : low;
}
