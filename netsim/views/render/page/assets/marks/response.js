// A measure over the swept key: means with their intervals or few seeds, a line a method.
"use strict";
report.mark("response", (body, data) => {
  const { element, number, css, colour } = report;
  const { x, y, at, ticks, lines, is_difference } = data;
  const { mark } = charts;
  const keys = element("div");
  const space = element("div");
  const readout = element("div", { class: "readout", "aria-live": "polite" });
  body.append(keys, space, readout);
  const least = Math.min(...at.filter((value) => value > 0));
  // Where a value lies along the key, before it is stretched to the width.
  const along = (value) => {
    if (data.scale === "log") return Math.log10(value);
    if (data.scale === "symlog") return value <= least ? (0.5 * value) / least : 0.5 + Math.log10(value / least);
    return value;
  };
  const ends = lines.flatMap(({ mean, half, each }) => mean.flatMap((one, k) => (each[k].length ? each[k] : [one - half[k], one + half[k]]))).filter(Number.isFinite);
  if (!ends.length) { body.append(element("p", { class: "muted" }, "No run has this number.")); return; }
  if (is_difference) ends.push(0);
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  const pad = 0.06 * (high - low) || 0.01 * Math.abs(high);
  const positive = !is_difference && lines.every(({ mean }) => mean.every((one) => one >= 0));
  [low, high] = [positive ? Math.max(0, low - pad) : low - pad, high + pad];
  if (high === 0) high = 1;  // all of it is nought
  if (y.unit === "%" && !is_difference) high = Math.min(high, 100.5);  // bars of shares end at 0 and at 100 %
  function draw() {
    const width = Math.max(300, body.clientWidth || 480);
    const [height, left, right, top, bottom] = [280, 64, 16, 8, 48];
    const places = at.map(along);
    const [first, last] = [Math.min(...places), Math.max(...places)];
    const room = 0.07 * (last - first) || 0.5;
    const px = (value) => left + ((along(value) - first + room) / (last - first + 2 * room)) * (width - left - right);
    const py = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
    const svg = mark("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `${y.label} over ${x.label}` });
    charts.niceTicks(low, high, 5).forEach((tick) => svg.append(
      mark("line", { x1: left, x2: width - right, y1: py(tick), y2: py(tick), stroke: css(is_difference && tick === 0 ? "muted" : "grid") }),
      mark("text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end" }, number(tick))));
    let taken = -Infinity;
    at.forEach((value, k) => {
      const half = 3.6 * ticks[k].length;
      if (px(value) - half < taken) return;  // ticks would write over each other
      taken = px(value) + half + 4;
      svg.append(mark("text", { x: px(value), y: height - bottom + 17, "text-anchor": "middle" }, ticks[k]));
    });
    svg.append(mark("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, stroke: css("line") }),
      mark("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, charts.titled(x)));
    lines.forEach((line, k) => {
      const shift = (k - (lines.length - 1) / 2) * Math.min(7, (0.6 * (width - left - right)) / Math.max(1, at.length - 1) / lines.length);
      const order = line.x.map((_, j) => j).sort((a, b) => line.x[a] - line.x[b]);
      const group = mark("g", { stroke: colour(k), fill: colour(k) });
      if (data.joined && order.length > 1) group.append(mark("path", {
        d: order.map((j, i) => `${i ? "L" : "M"}${(px(line.x[j]) + shift).toFixed(1)} ${py(line.mean[j]).toFixed(1)}`).join(""), fill: "none", "stroke-width": 2,
        "stroke-dasharray": ["none", "6 3", "2 3", "8 3 2 3"][(k + (k >> 3)) % 4],
      }));
      order.forEach((j) => {
        const [cx, mean, half] = [px(line.x[j]) + shift, line.mean[j], line.half[j]];
        const cut = (value) => Math.min(high, Math.max(low, value));
        if (half && !line.each[j].length) group.append(mark("line", { x1: cx, x2: cx, y1: py(cut(mean - half)), y2: py(cut(mean + half)), "stroke-width": 1.6 }));
        const dot = mark("circle", { cx, cy: py(mean), r: 4 });
        const told = `${line.points[j]}, ${line.name}: ${number(mean, 3)}${half ? ` ± ${number(half, 2)}` : ""} ${y.unit} · ${line.seeds[j]} seed${line.seeds[j] === 1 ? "" : "s"}`;
        dot.append(mark("title", {}, told));
        dot.addEventListener("mouseenter", () => { readout.textContent = told; });
        group.append(dot);
        line.each[j].forEach((value) => {
          const seed = mark("circle", { cx, cy: py(value), r: 2.5, stroke: css("card"), "stroke-width": 0.8 });
          seed.append(mark("title", {}, `${line.points[j]}, ${line.name}: one seed, ${number(value, 3)} ${y.unit}`));
          group.append(seed);
        });
      });
      svg.append(group);
    });
    space.replaceChildren(element("div", { class: "muted" }, charts.titled(y)), svg);
    keys.replaceChildren(lines.length > 1 && !data.has_legend_above ? charts.legend(lines.map(({ name }, k) => ({ name, colour: colour(k), rule: true }))) : "");
  }
  charts.redrawn(body, draw);
});
