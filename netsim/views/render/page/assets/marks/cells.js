// A heat map of pairs: a cell a pair of nodes, or of blocks of them; read by pointer and by arrow keys.
"use strict";
report.mark("cells", (body, data) => {
  const { element, number, seconds, css, isDark } = report;
  const { side, block, value } = data;
  const values = new Array(side * side).fill(null);
  data.at.forEach((place, k) => { values[place] = data.values[k]; });
  const top = data.top || Math.max(1e-300, ...data.values);
  const spelled = (one) => (value.unit === "s" ? seconds(one) : `${number(one, 3)} ${value.unit}`.trim());
  const stops = () => (isDark() ? [[34, 40, 48], [62, 120, 178], [206, 232, 255]] : [[238, 244, 250], [107, 174, 214], [8, 48, 107]]);
  const shade = (at) => {
    const [set, k] = [stops(), at < 0.5 ? 0 : 1];
    return set[k].map((v, j) => Math.round(v + (set[k + 1][j] - v) * (at * 2 - k)));
  };
  const label = `${value.label}${value.unit ? ` [${value.unit}]` : ""}: a row a ${data.row.toLowerCase()}, a column a ${data.column.toLowerCase()}`;
  const keys = element("div", { class: "muted" });
  const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": label });
  canvas.style.maxWidth = "620px";
  const readout = element("div", { class: "readout", "aria-live": "polite" });
  body.append(keys, canvas, readout);
  const edge = 50;
  let square = 1;
  function scale() {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = `linear-gradient(90deg, ${[0, 0.5, 1].map((at) => `rgb(${shade(at)})`).join(",")})`;
    keys.replaceChildren(`${charts.titled(value)}: 0`, swatch, spelled(top), ...(data.missing ? [` · empty: ${data.missing}`] : []), ...(block > 1 ? [` · a cell is ${block} × ${block} nodes`] : []));
  }
  function draw() {
    const width = canvas.clientWidth || 480;
    const height = width - 8;
    const dense = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    const pen = canvas.getContext("2d");
    pen.scale(dense, dense);
    square = Math.min(width - edge - 6, height - edge);
    const image = new ImageData(side, side);
    values.forEach((one, at) => { if (one !== null) image.data.set([...shade(Math.min(1, one / top)), 255], 4 * at); });
    const sheet = element("canvas");
    sheet.width = sheet.height = side;
    sheet.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(sheet, edge, 4, square, square);
    pen.strokeStyle = css("muted");
    pen.strokeRect(edge, 4, square, square);
    pen.fillStyle = css("text");
    pen.font = "12px system-ui";
    const step = [1, 2, 5, 10, 20, 50, 100].find((one) => side / one <= 12) || 200;
    for (let k = 0; k < side; k += step) {
      const middle = ((k + 0.5) / side) * square;
      pen.textAlign = "center";
      pen.fillText(k * block, edge + middle, square + 18);
      pen.textAlign = "right";
      pen.fillText(k * block, edge - 5, 8 + middle);
    }
    pen.textAlign = "center";
    pen.fillText(data.column, edge + square / 2, square + 36);
    pen.save();
    pen.translate(13, square / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(data.row, 0, 0);
    pen.restore();
    scale();
  }
  function say(i, j) {
    if (i < 0 || j < 0 || i >= side || j >= side) { readout.textContent = ""; return; }
    const named = (k) => (block > 1 ? `${k * block} to ${Math.min(data.nodes, (k + 1) * block) - 1}` : k);
    const one = values[i * side + j];
    readout.textContent = `${data.row.toLowerCase()} ${named(i)}, ${data.column.toLowerCase()} ${named(j)}: ${one === null ? data.missing || "–" : spelled(one)}`;
  }
  canvas.addEventListener("mousemove", (event) => say(Math.floor(((event.offsetY - 4) / square) * side), Math.floor(((event.offsetX - edge) / square) * side)));
  let cell = [0, 0];
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    cell = cell.map((at, k) => (at + steps[event.key][k] + side) % side);
    say(...cell);
  });
  const watcher = new ResizeObserver(draw);
  watcher.observe(canvas.parentElement);
  report.page.cleanups.push(() => watcher.disconnect());
  report.listen("theme", draw);
  draw();
});
