// Charts on uPlot: lines, stacked columns; each with a cursor for mouse and keyboard.
"use strict";
const charts = (() => {
  const { element, number, css } = report;

  const LETTER = 7;  // pixels of a label's letter, about
  const PAPER = 640;  // pixels of a chart's width on a sheet of A4
  const WHOLE = [1, 2, 5].flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power)).sort((a, b) => a - b);

  function axis(label, options) {
    return {
      label, labelSize: 22, labelFont: "13px system-ui", font: "12px system-ui", size: 32,
      stroke: () => css("text"), grid: { stroke: () => css("grid"), width: 1 },
      ticks: { stroke: () => css("line"), width: 1, size: 5 },
      values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick))),
      ...options,
    };
  }

  // Put a chart into an element; draws again when its width or the theme changes.
  function chart(into, label, options, data) {
    const box = element("div", { class: "chart", role: "img", tabindex: 0, "aria-label": label });
    into.append(box);
    const height = options.height || 300;
    // A label that is longer than its axis stands above or below the chart.
    const room = [Math.max(box.clientWidth, 240) - 90, height - 64];
    (options.axes || []).forEach((one, k) => {
      if (!one.label || LETTER * one.label.length <= room[k]) return;
      box[k ? "before" : "after"](element("div", { class: k ? "muted" : "muted below" }, one.label));
      delete one.label;
    });
    // A curve of one point has no line; it is drawn as a dot.
    const single = (row) => row.filter((value) => value !== null && value !== undefined).length === 1;
    const series = options.series.map((one, k) => (k && !one.points ? { ...one, points: { show: single(data[k]), size: 4 + 2 * one.width, fill: one.stroke } } : one));
    const plot = new uPlot({
      width: Math.max(box.clientWidth, 240), height, legend: { show: false }, ...options, series,
      padding: options.padding || [10, 26, 0, 4],
      cursor: { drag: { x: true, y: false }, points: { show: false }, y: false, ...(options.cursor || {}) },
    }, data, box);
    const readout = element("div", { class: "readout", "aria-live": "polite" });
    into.append(readout);
    plot.hooks.setCursor = [...(plot.hooks.setCursor || []), () => {
      const k = plot.cursor.idx;
      readout.textContent = k === null || k === undefined || !options.says ? "" : options.says(k, plot);
    }];
    let place = 0;
    box.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const last = plot.data[0].length - 1;
      place = Math.min(last, Math.max(0, Number.isFinite(steps[event.key]) ? place + steps[event.key] : steps[event.key] < 0 ? 0 : last));
      plot.setCursor({ left: plot.valToPos(plot.data[0][place], "x"), top: 10 });
    });
    const watcher = new ResizeObserver(() => {
      const width = Math.max(box.clientWidth, 240);
      if (width !== plot.width) plot.setSize({ width, height });
    });
    watcher.observe(box);
    report.listen("theme", () => {
      plot.setSize({ width: report.page.isPaper ? Math.min(plot.width, PAPER) : Math.max(box.clientWidth, 240), height });
      plot.redraw(false, true);
    });
    report.page.cleanups.push(() => { watcher.disconnect(); plot.destroy(); });
    return plot;
  }

  // Columns stacked on each other: layers [{name, colour, values}], at x in the middle of each column.
  function stacked(into, label, { x, layers, xLabel, yLabel, height, says, xRange, xWhole, asSteps }) {
    const sums = [];
    let below = new Float64Array(x.length);
    for (const layer of layers) {
      below = below.map((value, k) => value + (layer.values[k] || 0));
      sums.push(below);
    }
    const bars = uPlot.paths.bars({ size: [1, Infinity], align: 0, gap: x.length > 150 ? 0 : 1 });
    const series = [{}];
    const data = [x];
    for (let k = layers.length - 1; k >= 0; k--) {  // the highest first, the lower ones over it
      series.push({
        label: layers[k].name, fill: layers[k].colour, stroke: layers[k].colour, width: 0,
        paths: asSteps ? uPlot.paths.stepped({ align: -1 }) : bars, points: { show: false },
      });
      data.push(Array.from(sums[k]));
    }
    const top = Math.max(0, ...sums[sums.length - 1]) || 1;
    return chart(into, label, {
      height: height || 260, series, says,
      scales: { x: { time: false, range: xRange ? () => xRange : undefined }, y: { range: () => [0, top * 1.04] } },
      axes: [axis(xLabel, xWhole ? { incrs: WHOLE } : {}), axis(yLabel, { size: 62 })],
    }, data);
  }

  function legend(entries) {
    const list = element("ul", { class: "legend" });
    for (const { name, colour, rule } of entries) {
      const mark = element("i", { class: rule ? "rule" : "" });
      mark.style[rule ? "borderTopColor" : "background"] = colour;
      list.append(element("li", null, mark, name));
    }
    return list;
  }

  // Radio buttons; `chosen(value)` is told.
  let groups = 0;
  function choice(title, options, chosen, first) {
    const name = `choice-${groups++}`;
    const set = element("fieldset", null, element("legend", null, title));
    options.forEach(([value, text], k) => {
      set.append(element("label", null, element("input", {
        type: "radio", name, value, checked: first === undefined ? k === 0 : value === first,
        onchange: () => chosen(value),
      }), ` ${text}`));
    });
    return set;
  }

  // A list to choose a number from, of [number, text]; `chosen(number)` is told.
  function select(title, options, chosen, first) {
    const made = element("select", { onchange: () => chosen(Number(made.value)) },
      ...options.map(([value, text]) => element("option", { value, selected: value === first }, text)));
    return element("label", null, `${title} `, made);
  }

  // Add curve `k` to what a chart draws, with lines of its seeds, or a band between two rows.
  function addCurve({ series, rows, bands }, k, row, { each, band, ...look }) {
    for (const seed of each || []) {
      series.push({ width: 1, stroke: () => report.colour(k) + "99", spanGaps: true });
      rows.push(seed);
    }
    if (band) {
      for (const edge of band) {
        series.push({ width: 0, stroke: "transparent", spanGaps: true, points: { show: false } });
        rows.push(edge);
      }
      bands.push({ series: [rows.length - 1, rows.length], fill: () => report.colour(k) + "33" });
    }
    series.push({ stroke: () => report.colour(k), spanGaps: true, ...look });
    rows.push(row);
  }

  // The range of a vertical axis around what is drawn; shares end at 100 %.
  function around(low, high, isShare) {
    if (low === null || low === undefined) return [0, 1];
    const spread = Math.max(high - low, Math.abs(high) * 0.02) * 0.06 || 1;  // 1: all of it is nought
    return [low >= 0 ? Math.max(0, low - spread) : low - spread, isShare ? Math.min(100.5, high + spread) : high + spread];
  }

  // The colour at a share of the way along some, each [red, green, blue].
  function blend(stops, share) {
    const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(at));
    return stops[k].map((value, j) => Math.round(value + (stops[k + 1][j] - value) * (at - k)));
  }

  // A pen for a canvas of so many pixels, in the dots of the screen.
  function penOf(canvas, width, height) {
    const dense = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    const pen = canvas.getContext("2d");
    pen.scale(dense, dense);
    return pen;
  }

  // Draw again when the width of an element or the theme changes, and now.
  function redrawn(box, draw) {
    const watcher = new ResizeObserver(draw);
    watcher.observe(box);
    report.page.cleanups.push(() => watcher.disconnect());
    report.listen("theme", draw);
    draw();
  }

  // The width of a picture, in pixels: what it has room for, on the screen or on a sheet.
  function width(into, least) {
    return Math.max(least, Math.min(1180, report.page.isPaper ? PAPER : into.clientWidth || 900));
  }

  // An element of a picture.
  function mark(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // About so many round numbers from low to high.
  function niceTicks(low, high, many) {
    const rough = (high - low) / many;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= rough);
    const ticks = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  }

  // A heat map: `paint(k)` is the colour of the k-th of rows x columns cells, null where it is empty.
  // Ticks are `tick(axis, k)` of `ids` rows and columns, which may be more than there are cells.
  function heatMap(pen, { edge, wide, tall, rows, columns, paint, ids, tick, labels, told }) {
    const image = new ImageData(columns, rows);
    for (let k = 0; k < rows * columns; k++) {
      const parts = paint(k);
      if (parts) for (let j = 0; j < 4; j++) image.data[4 * k + j] = j < 3 ? parts[j] : 255;
    }
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [columns, rows];
    sheet.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(sheet, edge, 4, wide, tall);
    pen.font = "12px system-ui";
    pen.textAlign = "center";
    if (told && wide / columns >= 44 && tall / rows >= 20) {
      for (let k = 0; k < rows * columns; k++) {
        const parts = paint(k);
        if (!parts) continue;
        pen.fillStyle = 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2] > 140 ? "#14171b" : "#ffffff";
        pen.fillText(told(k), edge + ((k % columns) + 0.5) * (wide / columns), 8 + (Math.floor(k / columns) + 0.5) * (tall / rows));
      }
    }
    pen.strokeStyle = css("muted");
    pen.strokeRect(edge, 4, wide, tall);
    pen.fillStyle = css("text");
    const step = (many, size) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((one) => (one * size) / many >= 1) || many;
    const letters = Math.max(...Array.from({ length: ids[1] }, (_, k) => String(tick(1, k)).length));
    for (let k = 0; k < ids[1]; k += step(ids[1], wide / (LETTER * letters + 8))) pen.fillText(tick(1, k), edge + ((k + 0.5) / ids[1]) * wide, tall + 18);
    pen.textAlign = "right";
    for (let k = 0; k < ids[0]; k += step(ids[0], tall / 24)) pen.fillText(tick(0, k), edge - 5, 8 + ((k + 0.5) / ids[0]) * tall);
    pen.textAlign = "center";
    pen.fillText(labels[1], edge + wide / 2, tall + 36);
    pen.save();
    pen.translate(13, tall / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(labels[0], 0, 0);
    pen.restore();
    return (x, y) => [Math.floor(((y - 4) / tall) * ids[0]), Math.floor(((x - edge) / wide) * ids[1])];
  }

  // A heat map is read by pointer and by arrow keys: `say(row, column)`.
  function readCells(canvas, [rows, columns], at, say) {
    let cell = [0, 0];
    canvas.addEventListener("mousemove", (event) => say(...at(event.offsetX, event.offsetY)));
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
      if (!(event.key in steps)) return;
      event.preventDefault();
      cell = cell.map((place, k) => (place + steps[event.key][k] + [rows, columns][k]) % [rows, columns][k]);
      say(...cell);
    });
  }

  // A quantity as the label of an axis: "Age at use [s]".
  function titled({ label, unit }) { return unit ? `${label} [${unit}]` : label; }

  return {
    addCurve, around, axis, blend, chart, choice, heatMap, legend, mark, niceTicks, penOf, readCells, redrawn, select, stacked, titled, width,
  };
})();
