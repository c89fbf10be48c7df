"use strict";
// Tooltips, and a label table to sort and search. Labels are hostile text: they are inserted as
// textContent only.
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const write = {
  ratio: (value) => value.toFixed(3).replace(/^0/, ""),
  rate: (value) => whole.format(value) + "/s",
  size: (value) => {
    const power = value < 1 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
    return Number((value / 1000 ** power).toPrecision(3)) + " " + ["B", "kB", "MB", "GB", "TB"][power];
  },
};

function showTip(event, rows) {
  tip.replaceChildren(...rows.map((row) => {
    const line = document.createElement("p");
    line.append(...row.map((text) => Object.assign(document.createElement("bdi"), { textContent: text })));
    return line;
  }));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, event.clientY - height - 12) + "px";
}

function nearest(values, target) {
  let best = 0;
  values.forEach((value, i) => {
    if (Math.abs(value - target) < Math.abs(values[best] - target)) best = i;
  });
  return best;
}

function followLines(plot, chart) {
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y2", "100%");
  const right = chart.x[chart.x.length - 1];
  return {
    move(event, box) {
      const i = nearest(chart.x, ((event.clientX - box.left) / box.width) * right);
      const place = (chart.x[i] / right) * 100 + "%";
      cursor.setAttribute("x1", place);
      cursor.setAttribute("x2", place);
      plot.append(cursor);
      showTip(event, [
        ["documents", whole.format(chart.x[i])],
        ...chart.lines.map((line) => [line.name, write[chart.kind](line.values[i])]),
      ]);
    },
    leave: () => cursor.remove(),
  };
}

function followDots(plot, chart) {
  const dots = [...plot.querySelectorAll("circle")];
  let at = null;
  return {
    move(event) {
      const away = dots.map((dot) => {
        const box = dot.getBoundingClientRect();
        return Math.hypot(box.left + box.width / 2 - event.clientX, box.top + box.height / 2 - event.clientY);
      });
      const i = nearest(away, 0);
      this.leave();
      at = dots[i];
      at.classList.add("at");
      showTip(event, [
        [chart.names[i]], ["documents", whole.format(chart.x[i])], ["F1", write.ratio(chart.y[i])],
      ]);
    },
    leave() {
      if (at) at.classList.remove("at");
    },
  };
}

for (const figure of document.querySelectorAll("[data-chart]")) {
  const plot = figure.querySelector(".plot");
  const chart = data[figure.dataset.chart];
  if (!chart.x.length) continue;
  const follow = chart.names ? followDots(plot, chart) : followLines(plot, chart);
  const move = (event) => follow.move(event, plot.getBoundingClientRect());
  plot.addEventListener("pointermove", move);
  plot.addEventListener("pointerdown", move);
  const leave = () => {
    follow.leave();
    tip.hidden = true;
  };
  plot.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") leave();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!plot.contains(event.target)) leave();
  }, true);
}

const table = document.getElementById("labels");
if (table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const number = (cell) => Number(cell.textContent.replaceAll(",", ""));
  const text = new Intl.Collator("en", { numeric: true });
  table.querySelectorAll("th").forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const first = column === 0 ? "ascending" : "descending";
      const second = column === 0 ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      const sign = order === "ascending" ? 1 : -1;
      table.querySelectorAll("th").forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const key = (row) => (column === 0 ? row.cells[0].textContent : number(row.cells[column]));
      const compare = column === 0 ? text.compare : (a, b) => a - b;
      const keyed = rows.map((row) => [key(row), row]);
      keyed.sort((a, b) => sign * compare(a[0], b[0]));
      body.append(...keyed.map((pair) => pair[1]));
    });
  });
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  search.parentElement.hidden = rows.length < 15;
  search.addEventListener("input", () => {
    const query = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(query);
      shown += !row.hidden;
    }
    found.textContent = query ? `${shown} of ${rows.length} labels` : "";
  });
}
