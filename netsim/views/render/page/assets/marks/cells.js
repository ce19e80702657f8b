// A heat map of pairs: a cell a pair of nodes, or of blocks of them; read by pointer and by arrow keys.
"use strict";
report.mark("cells", (body, data) => {
  const { element, number, seconds, isDark } = report;
  const { rows, columns, block, value, low } = data;
  const values = new Array(rows * columns).fill(null);
  data.at.forEach((place, k) => { values[place] = data.values[k]; });
  const top = data.top || Math.max(1e-300, ...data.values);
  const named = (axis, k) => (data.ticks ? data.ticks[axis][k] : block > 1 ? `${k * block} to ${Math.min(data.nodes, (k + 1) * block) - 1}` : k);
  const spelled = (one) => (value.unit === "s" ? seconds(one) : `${number(one, 3)} ${value.unit}`.trim());
  const told = spelling({ values: data.values, unit: value.unit });
  const stops = () => (isDark() ? [[34, 40, 48], [62, 120, 178], [206, 232, 255]] : [[238, 244, 250], [107, 174, 214], [8, 48, 107]]);
  const shade = (at) => charts.blend(stops(), at);
  const label = `${value.label}${value.unit ? ` [${value.unit}]` : ""}: a row a ${data.row}, a column a ${data.column}`;
  const keys = element("div", { class: "muted" });
  const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": label });
  canvas.style.maxWidth = "620px";
  const readout = element("div", { class: "readout", "aria-live": "polite" });
  body.append(keys, canvas, readout);
  const edge = data.ticks ? 30 + 7 * Math.max(...data.ticks[0].map((word) => word.length)) : 50;
  let at = () => [-1, -1];
  function scale() {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = `linear-gradient(90deg, ${[0, 0.5, 1].map((at) => `rgb(${shade(at)})`).join(",")})`;
    keys.replaceChildren(`${charts.titled(value)}: ${spelled(low)}`, swatch, spelled(top), ...(data.missing && data.at.length < rows * columns ? [` · empty: ${data.missing}`] : []), ...(block > 1 ? [` · a cell is ${block} × ${block} nodes`] : []));
  }
  function draw() {
    const width = canvas.clientWidth || 480;
    const wide = width - edge - 6;
    const tall = data.ticks ? Math.min(wide, Math.max(90, (rows > 8 ? 14 : 46) * rows, 8 + 7 * data.row.length)) : wide;
    const height = Math.round(tall + edge + (data.ticks ? 60 - edge : 0));
    at = charts.heatMap(charts.penOf(canvas, width, height), {
      edge, wide, tall, rows, columns, ids: [rows, columns], labels: [data.row, data.column],
      paint: (k) => (values[k] === null ? null : shade(Math.min(1, (values[k] - low) / Math.max(top - low, 1e-300)))),
      tick: (axis, k) => (data.ticks ? data.ticks[axis][k] : k * block),
      told: data.ticks ? (k) => told(values[k]) : null,
    });
    scale();
  }
  function say(i, j) {
    if (i < 0 || j < 0 || i >= rows || j >= columns) { readout.textContent = ""; return; }
    const one = values[i * columns + j];
    readout.textContent = `${data.row} ${named(0, i)}, ${data.column} ${named(1, j)}: ${one === null ? data.missing || "–" : spelled(one)}`;
  }
  charts.readCells(canvas, [rows, columns], (x, y) => at(x, y), say);
  charts.redrawn(canvas.parentElement, draw);
});
